"""A few lines at the lower end of a terminal that are rewritten in their place (ECMA-48: CUU, ED)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from unicodedata import combining, east_asian_width

from remedy.hints import TextIO


class Block:
    """The lines that pass. What stays is written above them. They are cut to the terminal's width of the moment; where
    that has become less since, the rows that the old ones take by now are taken away."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown: list[str] = []

    def show(self, lines: Sequence[str]) -> None:
        """Put these lines in place of the ones before."""
        columns = _columns(self._stream)
        cut = [shorten(line, columns - 1) for line in lines]
        if cut != self._shown:
            self._put(self._erased(columns) + "\n".join(cut))
            self._shown = cut

    def above(self, text: str) -> None:
        """Write text that stays; the lines that pass are gone until they are shown again."""
        self._put(f"{self._erased(_columns(self._stream))}{text}\n")
        self._shown = []

    def clear(self) -> None:
        """Take the lines away."""
        self.show([])

    def _erased(self, columns: int) -> str:
        if not self._shown:
            return ""
        rows = sum(max(1, -(-cells(line) // columns)) for line in self._shown)
        return "\r" + "\x1b[A" * (rows - 1) + "\x1b[J"

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def cells(text: str) -> int:
    """Columns that a text takes in a terminal: two for a wide character (UAX #11), none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def shorten(text: str, columns: int) -> str:
    """The text cut to so many columns, with an ellipsis where something is missing."""
    if cells(text) <= columns:
        return text
    kept, left = [], columns - 1
    for one in text:
        left -= cells(one)
        if left < 0:
            break
        kept.append(one)
    return "".join(kept) + ("…" if columns > 0 else "")
