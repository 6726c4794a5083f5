from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedy.show.text import fill, plain, rows, wrap

TEXTS = st.lists(st.sampled_from(["a", "word", "/usr/local/cuda-13.0/bin", " ", "  ", "\t", "\n", "é\xa0", "-x"])).map(
    "".join
)


@given(TEXTS, st.integers(1, 30), st.integers(0, 8), st.integers(0, 12))
def test_fill_is_as_textwrap(text: str, columns: int, first: int, rest: int) -> None:
    assert fill(text, columns, " " * first, " " * rest) == textwrap.fill(
        text,
        columns,
        initial_indent=" " * first,
        subsequent_indent=" " * rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def test_wrap_and_rows() -> None:
    assert wrap("one two three", 2, 9) == "  one two\n  three"
    assert wrap("one two", 0, 5, hanging=2) == "one\n  two"
    assert rows([("a", "one two"), ("bbb", "x")], 11) == "  a    one\n       two\n  bbb  x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as it is", "as it is"),
        ("a\tb", "a\tb"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("a\nb\x9b", "a\\x0ab\\x9b"),
        ("\u202egnp.exe", "\\x202egnp.exe"),
        ("é ☃ 日本", "é ☃ 日本"),
    ],
)
def test_plain(text: str, shown: str) -> None:
    assert plain(text) == shown
