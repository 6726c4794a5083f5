from __future__ import annotations

import re

import pytest

from remedy.pattern import pattern


def test_it_is_as_the_standard_library_s() -> None:
    digits = pattern(r"(?P<number>\d+)", re.ASCII)
    assert (digits.pattern, digits.flags, digits.groups) == (r"(?P<number>\d+)", re.ASCII, 1)
    found = digits.search("ab 12")
    assert found is not None and found["number"] == "12"
    assert digits.match("ab 12") is None
    assert digits.sub("x", "1 22") == "x x"
    assert [match.start() for match in digits.finditer("1 22")] == [0, 2]


def test_bytes() -> None:
    assert pattern(rb"^a(.)$", re.MULTILINE).findall(b"ab\nac") == [b"b", b"c"]


def test_it_is_compiled_at_the_first_use() -> None:
    bad = pattern("(")
    with pytest.raises(re.error):
        bad.search("")
