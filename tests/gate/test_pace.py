"""Reports at a pace that people can read."""

from __future__ import annotations

from remedy.gate.pace import Pace
from remedy.gate.types import Progress


def test_one_report_a_second_of_each_phase_and_the_last_one_wins() -> None:
    told: list[Progress] = []
    pace = Pace(told.append, 630.0)
    for number in range(1000):
        pace.tell(Progress("log", number / 100, str(number)), number / 100)
    assert [progress.line for progress in told] == [str(number) for number in range(0, 1000, 100)]
    assert told[0].expected == 630.0
    pace.end()
    assert told[-1].line == "999"


def test_a_new_phase_is_told_at_once_and_no_earlier_one_after_it() -> None:
    told: list[Progress] = []
    pace = Pace(told.append, None)
    for at, phase in ((0.0, "graph-capture"), (0.1, "graph-capture"), (0.2, "ready-line"), (0.3, "health")):
        pace.tell(Progress(phase, at), at)
    pace.flush(2.0)
    assert [(one.phase, one.elapsed) for one in told] == [("graph-capture", 0.0), ("ready-line", 0.2), ("health", 0.3)]


def test_phases_that_take_turns_are_no_flood() -> None:
    told: list[Progress] = []
    pace = Pace(told.append, None)
    for number in range(1000):
        pace.tell(Progress("weights" if number % 2 else "kernels", 0.0), number / 100)
    assert len(told) <= 22
