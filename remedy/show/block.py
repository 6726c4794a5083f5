"""A few lines at the lower end of a terminal that are rewritten in their place (ECMA-48: CUU, ED)."""

from __future__ import annotations

import os
from collections.abc import Sequence

from remedy.hints import Final, TextIO
from remedy.show.text import shorten

#: Everything from the cursor's line on goes (ECMA-48: EL, CUF, ED); not by ED in the first column, since tmux keeps a
#: screen that is cleared from its first cell on in its history.
_CLEAR: Final = "\r\x1b[K\x1b[C\x1b[J\r"
#: Lines are cut at the margin, or wrapped (DECAWM).
_NO_WRAP: Final = "\x1b[?7l"
_WRAP: Final = "\x1b[?7h"


class Block:
    """The lines that pass. What stays is written above them. The cursor waits at the first of them, so that all from
    there on is theirs, however a terminal wraps anew what it shows when it becomes wider or narrower."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown: list[str] = []

    def show(self, lines: Sequence[str]) -> None:
        """Put these lines in place of the ones before."""
        columns = _columns(self._stream)
        cut = [shorten(line, columns - 1) for line in lines]
        if cut != self._shown:
            up = f"\x1b[{len(cut) - 1}A" if len(cut) > 1 else ""
            # Terminals tell of a new width late: a line that is too long by now must not take a second row.
            self._put(_CLEAR + _NO_WRAP + "\n".join(cut) + _WRAP + "\r" + up if cut else _CLEAR)
            self._shown = cut

    def above(self, text: str) -> None:
        """Write text that stays; the lines that pass are gone until they are shown again."""
        self._put(f"{_CLEAR if self._shown else ''}{text}\n")
        self._shown = []

    def clear(self) -> None:
        """Take the lines away."""
        self.show([])

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
