"""Whatever the value, the unit's shape and its line ends: it holds afterwards, and no other line has changed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedy.overlay import Overlaid
from remedy.unit.edit import set_environment
from remedy.unit.edit_envfile import with_file_line, with_file_value, without_file_value
from remedy.unit.edit_quoting import assignment_word
from remedy.unit.envfile import parse as parse_file
from remedy.unit.launch import launch
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.words import split
from tests.memory import MemoryView

UNIT = "/etc/systemd/system/s.service"
VALUES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\ufffe\uffff"), max_size=12),
    st.text(st.sampled_from("a%\\\"' $\n\r\t#;=:/\x7fé"), max_size=8),
)
WORDS = ["A=1", '"B=x y"', "C='z'", "T=old", '"T=o l d"', "T='o'", "D=%%", 'E="q"']
LINES = st.lists(
    st.one_of(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(lambda words: "Environment=" + " ".join(words)),
        st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(
            lambda w: "Environment = " + " \\\n# c\n  ".join(w)
        ),
        st.sampled_from(
            ["# note", "", "User=root", "Environment=", "ExecStart=/bin/x", " Nice=1", "[Unit]", "[Service]"]
        ),
    ),
    max_size=8,
)


def usable(value: str) -> bool:
    """systemd takes no noncharacters."""
    return not any(0xFDD0 <= ord(c) <= 0xFDEF or ord(c) & 0xFFFE == 0xFFFE for c in value)


@settings(max_examples=50, deadline=None)
@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), VALUES.filter(usable))
def test_set_environment(lines: list[str], end: str, ended: bool, value: str) -> None:
    text = "\n".join(["[Service]", *lines, "[Service]", "ExecStart=/bin/x"]).replace("\n", end) + (end if ended else "")
    view = MemoryView({UNIT: text})
    manager = manager_from(view, 252)
    service = load("s.service", view, manager)
    if service.load_state != "loaded":
        return
    edits, refused = set_environment(service, view, manager, {"T": value})
    assert not refused
    overlaid = Overlaid(view, {edit.path: edit.after for edit in edits})
    after = load("s.service", overlaid, manager)
    assert launch(after, overlaid).variables()["T"] == value
    assert set_environment(after, overlaid, manager, {"T": value}) == ((), ())
    for edit in edits:
        assert edit.path == UNIT
        kept = [line for line in text.split(end) if "T=" not in line]
        now = iter(edit.after.decode().split(end))
        assert all(line in now for line in kept), "another line was changed"
    gone, refused = set_environment(after, overlaid, manager, {"T": None})
    assert not refused
    cleared = Overlaid(overlaid, {edit.path: edit.after for edit in gone})
    assert "T" not in load("s.service", cleared, manager).variables()


@given(VALUES, st.sampled_from(["bare", "value", "whole"]), st.sampled_from("\"'"), st.booleans())
def test_assignment_word(value: str, style: str, quote: str, command: bool) -> None:
    word = assignment_word("T", value, style, quote, command=command)  # type: ignore[arg-type]
    read = split(word, escapes=True)
    assert len(read) == 1
    assert read[0][0].replace("%%", "%").replace("$$" if command else "$", "$") == f"T={value}"


FILES = st.lists(
    st.sampled_from(["A=1", "T=old", 'T="o l d"', "T='o'", "# T=x", "export T=1", "B='two\nlines'", "", "C=x\\\ny"]),
    max_size=6,
)


@pytest.mark.parametrize("version", [247, 257])
@given(FILES, st.sampled_from(["\n", "\r\n"]), st.booleans(), VALUES)
def test_environment_file(version: int, lines: list[str], end: str, ended: bool, value: str) -> None:
    text = end.join(lines) + (end if ended else "")
    data = text.encode()
    before = {one.name: one.value for one in parse_file(text, version) if one.name != "T"}
    after = with_file_value(data, "T", value, version) or with_file_line(data, "T", value, version)
    read = {one.name: one.value for one in parse_file(after.decode(), version)}
    assert read.pop("T") == value
    assert read == before
    gone = without_file_value(after, "T", version)
    assert gone is not None
    assert {one.name: one.value for one in parse_file(gone.decode(), version)} == before
