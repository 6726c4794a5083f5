"""Words, quotes and escapes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedy.unit.words import BadSyntax, is_utf8, next_word, split, split_colons


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  ", []),
        ("a b", [("a", 0), ("b", 2)]),
        ("  a\t\r\nb ", [("a", 2), ("b", 6)]),
        ("'a b' \"c d\"", [("a b", 0), ("c d", 6)]),
        ("a'b c'd", [("ab cd", 0)]),
        ("''", [("", 0)]),
        ('"it\'s"', [("it's", 0)]),
        (r"a\x41\101\s\t", [("aAA \t", 0)]),
        (r"\u00e9 \xc3\xa9 \303\251", [("é", 0), ("é", 7), ("é", 16)]),
        (r"\U0001F600", [("\U0001f600", 0)]),
        (r"\xff", [("\udcff", 0)]),
        (r"\ud800", [("\udced\udca0\udc80", 0)]),
        (r"\"a\"", [('"a"', 0)]),
        ("a#b ;c", [("a#b", 0), (";c", 4)]),
    ],
)
def test_split_with_escapes(text: str, words: list[tuple[str, int]]) -> None:
    assert split(text, escapes=True) == words


@pytest.mark.parametrize("text", ["'a", 'a "b', r"\q", "a\\", r"\x4", r"\x00", r"\000", r"\400", r"\UFFFFFFFF", r"\8"])
def test_bad_syntax(text: str) -> None:
    with pytest.raises(BadSyntax):
        split(text, escapes=True)


@pytest.mark.parametrize(
    ("text", "words"), [(r"\q", [r"\q"]), ("a\\", ["a\\"]), (r"\x4 b", [r"\x4", "b"]), (r"'\q'", [r"\q"])]
)
def test_relaxed_keeps_unknown_escapes(text: str, words: list[str]) -> None:
    found = []
    position = 0
    while (step := next_word(text, position, escapes=True, relaxed=True))[0] is not None:
        found.append(step[0])
        position = step[2]
    assert found == words


def test_relaxed_still_wants_quotes_closed() -> None:
    with pytest.raises(BadSyntax):
        next_word("'a\\", 0, escapes=True, relaxed=True)


def test_without_escapes_a_backslash_takes_the_next_character() -> None:
    assert split(r"a\ b \x", escapes=False) == [("a b", 0), ("x", 5)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a:b", ["a", "b"]), ("a", ["a"]), (":a:", ["", "a", ""]), (r"a\:b", ["a:b"]), (r"\a:b", ["a", "b"])],
)
def test_split_colons(text: str, parts: list[str]) -> None:
    assert split_colons(text) == parts


@pytest.mark.parametrize(
    ("text", "valid"),
    [("é\U0001f600", True), ("\udcff", False), ("\ufffe", False), ("\ufdd0", False), ("\U0001ffff", False), ("", True)],
)
def test_is_utf8(text: str, valid: bool) -> None:
    assert is_utf8(text) is valid


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), max_size=5))
def test_quoted_words_come_back(words: list[str]) -> None:
    text = " ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words)
    assert [word for word, _ in split(text, escapes=True)] == words


@given(st.text(max_size=80))
def test_any_text_ends(text: str) -> None:
    try:
        words = split(text, escapes=True)
    except BadSyntax:
        return
    assert all(0 <= start < len(text) for _, start in words)
