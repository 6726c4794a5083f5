"""What is kept of a log, however long it grows."""

from __future__ import annotations

from itertools import pairwise

from remedy.facts.types import LogLine
from remedy.gate.kept import Kept


def test_all_of_a_short_log_in_order() -> None:
    kept = Kept()
    for number in range(50):
        kept.add(LogLine(f"line {number}"))
    assert [line.text for line in kept.lines()] == [f"line {number}" for number in range(50)]


def test_the_first_and_the_last_of_a_long_one() -> None:
    kept = Kept(first=5000, last=10_000)
    for number in range(1000):
        kept.add(LogLine(f"line {number}"))
    numbers = [int(line.text[5:]) for line in kept.lines()]
    assert numbers[0] == 0 and numbers[-1] == 999
    assert sum(len(line.text) + 400 for line in kept.lines()) <= 15_000
    # One gap, between the first and the last.
    assert sum(after != before + 1 for before, after in pairwise(numbers)) == 1


def test_a_line_without_end_is_cut() -> None:
    kept = Kept()
    kept.add(LogLine("x" * 100_000, realtime=7, pid=3, invocation="ab", from_manager=True))
    (line,) = kept.lines()
    assert len(line.text) == 4096
    assert (line.realtime, line.pid, line.invocation, line.from_manager) == (7, 3, "ab", True)
