"""The lines of a start that are kept for the diagnosis: bounded, however much is logged."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from remedy.facts.types import LogLine

#: Characters of the first lines, where the root cause stands, and of the last. Python takes up to four bytes for each.
_FIRST, _LAST = 1_000_000, 2_000_000
# What a line costs beside its characters.
_OVERHEAD = 400
_LONGEST = 4096


class Kept:
    """The first lines and the last lines; what lies between is dropped when there is too much of it."""

    def __init__(self, first: int = _FIRST, last: int = _LAST) -> None:
        self._first: list[LogLine] = []
        self._last: deque[LogLine] = deque()
        self._first_left = first
        self._last_left = last

    def add(self, line: LogLine) -> None:
        """Keep a line, cut to a length that still holds a compiler's whole command."""
        if len(line.text) > _LONGEST:
            line = LogLine(
                line.text[:_LONGEST], line.realtime, line.identifier, line.pid, line.invocation, line.from_manager
            )
        cost = _cost(line)
        if not self._last and cost <= self._first_left:
            self._first.append(line)
            self._first_left -= cost
            return
        self._last.append(line)
        self._last_left -= cost
        while self._last_left < 0:
            self._last_left += _cost(self._last.popleft())

    def newest(self) -> Iterator[LogLine]:
        """All that was kept, the newest first."""
        yield from reversed(self._last)
        yield from reversed(self._first)

    def lines(self) -> tuple[LogLine, ...]:
        """All that was kept, in order."""
        return (*self._first, *self._last)


def _cost(line: LogLine) -> int:
    return len(line.text) + _OVERHEAD
