from __future__ import annotations

import io
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedy.show.text import cells, colours, fill, plain, rows, shorten, width, wrap

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
    ("text", "columns"),
    [("", 0), ("ab", 2), ("é", 1), ("e\u0301", 1), ("模型", 4), ("ﾃｽﾄ", 3), ("テスト", 6), ("a\u200db", 2), ("…", 1)],
)
def test_cells(text: str, columns: int) -> None:
    assert cells(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "cut"),
    [("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("模型加载", 5, "模型…"), ("ab", 1, "…")],
)
def test_shortened(text: str, columns: int, cut: str) -> None:
    assert shorten(text, columns) == cut and cells(cut) <= columns


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("モデル が ない", 10, ["モデル が", "ない"]),
        ("エラー: モデルがありません", 12, ["エラー: モデ", "ルがありませ", "ん"]),
        ("読めません。見つかりません。", 10, ["読めませ", "ん。見つか", "りません。"]),
        ("見つからない「模型」です", 14, ["見つからない", "「模型」です"]),
        ("x /models/日本語モデル x", 10, ["x", "/models/日本語モデル", "x"]),
        ("torch2の版はCUDA13.0です", 9, ["torch2の", "版は", "CUDA13.0", "です"]),
        ("e\u0301\u0301a e\u0301a", 5, ["e\u0301\u0301a e\u0301a"]),
    ],
)
def test_wide_characters_take_two_columns(text: str, columns: int, lines: list[str]) -> None:
    assert fill(text, columns).split("\n") == lines


def test_wide_labels_stand_in_their_column() -> None:
    assert rows([("模型", "one two"), ("b", "x")], 12) == "  模型  one\n        two\n  b     x"


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
