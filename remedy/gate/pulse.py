"""Whether a start still lives: it logs, works, reads or writes, or else it hangs, and on what."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from remedy.gate import processes
from remedy.gate.types import Expectation
from remedy.gate.waiting import waits_for
from remedy.hints import Final

#: Seconds between two looks, and without a sign of life before a start counts as hung.
SAMPLE: Final = 15.0
SHORTEST_HANG: Final = 600.0
# Clock ticks of processor time, and bytes moved, in one sample that are no sign of life: a waiting Python ticks now
# and then, and those who wait for a lock file look at it again and again.
_IDLE_TICKS: Final = 3
_IDLE_BYTES: Final = 65536


class Pulse:
    """The signs of life of one start. ``patience`` is how long it may give none, in seconds: far longer than before,
    and half of what someone chose to give it (peers that come late, a download elsewhere).

    A mechanism for hangs only: who works without coming to an end is ended by the deadline.
    """

    def __init__(self, now: float, expect: Expectation) -> None:
        chosen = 0.0 if expect.soft else expect.timeout / 2
        self.patience = max(SHORTEST_HANG, 2 * (expect.expected or 0.0), chosen)
        self._last = self._sampled = now
        self._work = self._moved = -1
        self._pollers: frozenset[int] = frozenset()

    def alive(self, now: float) -> None:
        """A line was logged, or a question was answered."""
        self._last = now

    def awaits_token(self, members: Sequence[int]) -> None:
        """A token has been asked for. Schedulers look for work without a pause: from here on processor time is a sign
        of life only in processes that came later, the compilers; the others show it by what they read and write."""
        self._pollers = self._pollers or frozenset(members)

    def hung(self, now: float, members: Callable[[], Sequence[int]]) -> str | None:
        """Since when there was no sign of life, and what is waited for; None while there is one."""
        if now - max(self._last, self._sampled) < min(SAMPLE, self.patience / 4):
            return None
        self._sampled = now
        ours = members()
        work = processes.worked([one for one in ours if one not in self._pollers])
        moved = processes.moved(ours)
        if not ours or abs(work - self._work) > _IDLE_TICKS or abs(moved - self._moved) > _IDLE_BYTES:
            self._last = now
        self._work, self._moved = work, moved
        if now - self._last < self.patience:
            return None
        signs = "no new process" if self._pollers else "no processor time"
        words = f"no log line, {signs} and nothing read or written for {now - self._last:.0f} s"
        place = waits_for(ours)
        return f"{words}; {place}" if place else words
