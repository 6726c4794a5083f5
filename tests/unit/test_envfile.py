"""The grammar of an EnvironmentFile=."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedy.unit.envfile import parse


def pairs(text: str, version: int = 252) -> list[tuple[str, str]]:
    return [(found.name, found.value) for found in parse(text, version)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1\nB=2", [("A", "1"), ("B", "2")]),
        ("A=\n", [("A", "")]),
        ("A= a b  \n", [("A", "a b")]),
        (" A = x\n", [("A", "x")]),
        ('A="x y" \n', [("A", "x y")]),
        ("A='x'\"y\"z w \n", [("A", "xyz w")]),
        ('A=x"y"\n', [("A", 'x"y"')]),
        ('A="x\ny"\nB=1\n', [("A", "x\ny"), ("B", "1")]),
        ("A='x\\n'\n", [("A", "x\\n")]),
        (r'A="a\"b\\c\$d\`e\q"', [("A", 'a"b\\c$d`e\\q')]),
        ('A="a\\\nb"\n', [("A", "ab")]),
        ("A=a\\\nb\n", [("A", "ab")]),
        ("A=a \\\n b\n", [("A", "a  b")]),
        ("A=a\\ \n", [("A", "a ")]),
        ("A=\\a\\\\\n", [("A", "a\\")]),
        ("A=\\", [("A", "")]),
        ("A=x # y\n", [("A", "x # y")]),
        ("# A=1\n; B=1\nC=1\n", [("C", "1")]),
        ("noassign\nA=1\n", [("A", "1")]),
        ("==x\n=y\n", [("=", "x")]),
        ("export A=1\n", [("export A", "1")]),
        ("A==x\n", [("A", "=x")]),
        ('A=1\r\nB="2"\r\n', [("A", "1"), ("B", "2")]),
        ("A='open\nB=1", [("A", "open\nB=1")]),
        ('A="open\\', [("A", "open")]),
        ("\ufeffA=1\n", [("\ufeffA", "1")]),
    ],
)
def test_grammar(text: str, found: list[tuple[str, str]]) -> None:
    assert pairs(text) == found


def test_a_backslash_ends_a_comment_only_before_254() -> None:
    text = "# c \\\nA=1\nB=2\n"
    assert pairs(text, 253) == [("B", "2")]
    assert pairs(text, 254) == [("A", "1"), ("B", "2")]
    assert pairs("# \\x\nA=1\n", 253) == pairs("# \\x\nA=1\n", 254) == [("A", "1")]


def test_lines_and_spans() -> None:
    text = "# c\nA=\"x\ny\"  \n  B=2\\\n3 # z\n\nC='4'"
    found = list(parse(text, 252))
    assert [(one.name, one.line) for one in found] == [("A", 2), ("B", 4), ("C", 7)]
    assert [text[one.start : one.end].rstrip() for one in found] == ['A="x\ny"', "B=2\\\n3 # z", "C='4'"]


@given(st.text(st.sampled_from("A=\"'\\\n\r #;é$ \t"), max_size=60))
def test_any_text_ends_in_order(text: str) -> None:
    for version in (252, 257):
        found = list(parse(text, version))
        assert all(one.start < one.end <= len(text) for one in found)
        assert all(first.end <= second.start for first, second in pairwise(found))


def test_a_long_file_takes_no_time() -> None:
    text = "".join(f'A{number}="x\\\n{number}" tail\\\n more\n' for number in range(20000))
    assert len(list(parse(text, 257))) == 20000
