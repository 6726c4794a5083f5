"""What is reported of a start, at a pace that people can read and pipes can bear, however much is logged."""

from __future__ import annotations

from collections.abc import Callable

from remedy.gate.types import Progress
from remedy.hints import Final
from remedy.value import replace

#: Seconds between two reports of one phase.
_APART: Final = 1.0

Report = Callable[[Progress], None]


class Pace:
    """Hands on the first report of each phase at once; of those that follow sooner than a second later, the last.

    A start thus makes no more than one report a second and phase. Each bears what the last good start took.
    """

    def __init__(self, report: Report, expected: float | None) -> None:
        self._report = report
        self._expected = expected
        self._told: dict[str, float] = {}
        self._held: dict[str, Progress] = {}

    def tell(self, progress: Progress, now: float) -> None:
        """Report now, or keep it until it is due. ``now`` on the monotonic clock."""
        if progress.phase != "log":
            # What is kept of an earlier phase would come after this one.
            self._held = {phase: held for phase, held in self._held.items() if phase == "log"}
        self._held[progress.phase] = progress
        self.flush(now)

    def flush(self, now: float) -> None:
        """Report what is due."""
        due = [phase for phase in self._held if now - self._told.get(phase, now - _APART) >= _APART]
        for phase in due:
            self._told[phase] = now
            self._report(replace(self._held.pop(phase), expected=self._expected))

    def end(self) -> None:
        """Report all that is kept."""
        for progress in self._held.values():
            self._report(replace(progress, expected=self._expected))
        self._held.clear()
