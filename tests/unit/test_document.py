"""The line document: nothing is lost, and every logical offset knows its physical place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedy.unit.document import Document, is_comment, parse

UNIT_TEXT = st.lists(
    st.sampled_from(
        ["[Service]", "A=b", " Environment = X=1", "\\", "#c\\", ";", "\n", "\r\n", "\r", "\0", "\\\n", " ", "é", "[x"]
    ),
    max_size=30,
).map("".join)


def kinds(document: Document) -> list[tuple[str, int, int, str | None, str, str]]:
    return [
        (entry.kind, entry.first, entry.last, entry.section, entry.name, entry.value)
        for entry in document.entries
        if entry.kind != "blank"
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[Service]\nA=b\n", [("section", 1, 1, "Service", "", ""), ("assignment", 2, 2, "Service", "A", "b")]),
        (b"\xef\xbb\xbf[S]\r\nA = b \r\n", [("section", 1, 1, "S", "", ""), ("assignment", 2, 2, "S", "A", "b")]),
        (b"A=b\\\n# n\\\n;m\nc\nB=", [("assignment", 1, 4, None, "A", "b c"), ("assignment", 5, 5, None, "B", "")]),
        (b"A=b\\\\\nB=c\\", [("assignment", 1, 1, None, "A", "b\\\\"), ("assignment", 2, 2, None, "B", "c")]),
        (b"A=b\\\n", [("assignment", 1, 1, None, "A", "b")]),
        (b"A=b\\\n#x", [("assignment", 1, 1, None, "A", "b")]),
        (
            b"  # A=b\n=c\nd\n[e\n",
            [
                ("no-assignment", 2, 2, None, "", ""),
                ("no-assignment", 3, 3, None, "", ""),
                ("bad-section", 4, 4, None, "", ""),
            ],
        ),
        (
            b"A=1\0B=2\n\rC=3\n\nD=4",
            [
                ("assignment", n, n, None, c, v)
                for n, c, v in [(1, "A", "1"), (2, "B", "2"), (3, "C", "3"), (5, "D", "4")]
            ],
        ),
        (b"A=\xff\xfe", [("assignment", 1, 1, None, "A", "\udcff\udcfe")]),
    ],
)
def test_entries(data: bytes, expected: list[tuple[str, int, int, str | None, str, str]]) -> None:
    assert kinds(parse(data)) == expected


@given(st.binary(max_size=200))
def test_any_bytes_come_back(data: bytes) -> None:
    assert parse(data).encode() == data


@settings(max_examples=200)
@given(UNIT_TEXT)
def test_every_offset_has_its_place(text: str) -> None:
    document = parse(text.encode())
    assert document.encode() == text.encode()
    for entry in document.entries:
        for offset, character in enumerate(entry.text):
            line, column = entry.locate(offset)
            assert entry.first <= line <= entry.last
            physical = document.lines[line - 1].text
            assert not is_comment(physical)
            joined = physical[column] == "\\" and character == " " and column == len(physical) - 1
            assert physical[column] == character or joined
