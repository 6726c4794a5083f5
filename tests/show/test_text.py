from __future__ import annotations

import io
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedy.show.text import colours, fill, plain, rows, width, wrap

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


class Screen(io.StringIO):
    """A stream that is a terminal, or isn't."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("columns", "shown"), [("", 80), ("60", 60), ("20", 40), ("200", 100), ("wide", 80), ("0", 80), ("-5", 80)]
)
def test_the_width_of_a_pipe(columns: str, shown: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width(Screen(False)) == shown


@pytest.mark.parametrize(
    ("terminal", "environment", "welcome"),
    [
        (True, "TERM=xterm", True),
        (True, "TERM=dumb", False),
        (True, "", False),
        (True, "TERM=xterm NO_COLOR=1", False),
        (True, "TERM=xterm NO_COLOR=", True),
        (False, "TERM=xterm", False),
        (False, "TERM=xterm FORCE_COLOR=1", True),
        (True, "TERM=xterm FORCE_COLOR=1 NO_COLOR=1", False),
    ],
)
def test_where_colour_is_welcome(
    terminal: bool, environment: str, welcome: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for assignment in environment.split():
        monkeypatch.setenv(*assignment.split("=", 1))
    assert colours(Screen(terminal)) == welcome
