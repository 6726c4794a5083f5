from __future__ import annotations

from collections.abc import Mapping

import pytest

from remedy.facts.run import NoRunner, Result
from remedy.facts.starts import last_good_start
from tests.facts.answers import Answers
from tests.facts.test_journal import about, entry

SECOND = 1_000_000
READY = ("The server is fired up and ready to roll!",)


class Journal(Answers):
    """journalctl of one unit: ``starts`` answers for the manager's lines, ``ready`` by invocation."""

    def __init__(self, starts: bytes, ready: Mapping[str, bytes]) -> None:
        super().__init__({})
        self._starts = starts
        self._ready = ready

    def answer(self, argv: tuple[str, ...]) -> Result:
        field, _, invocation = argv[-1].partition("=")
        return Result(0, self._starts if field == "MESSAGE_ID" else self._ready.get(invocation, b""))


def test_from_the_start_job_to_the_ready_line() -> None:
    starts = about(b"Started.", b"11", 100 * SECOND) + about(b"Started.", b"22", 5000 * SECOND)
    journal = Journal(starts, {"11": entry(b"ready to roll!", b"11", 520 * SECOND)})
    # The newest start, 22, failed.
    assert last_good_start(journal, "a.service", READY, settle=2.0) == 420.0
    assert "--grep=The server is fired up and ready to roll!" in journal.asked[1]
    assert "--since=@5000" in journal.asked[1]


def test_a_service_that_tells_its_manager() -> None:
    starts = about(b"Starting", b"11", 100 * SECOND) + about(b"Started.", b"11", 160 * SECOND)
    assert last_good_start(Journal(starts, {}), "a.service", (), settle=2.0) == 60.0


def test_no_good_start() -> None:
    starts = about(b"Started.", b"11", 100 * SECOND)
    assert last_good_start(Journal(starts, {}), "a.service", READY, settle=2.0) is None
    assert last_good_start(Journal(b"", {}), "a.service", READY, settle=2.0) is None
    assert last_good_start(NoRunner("only read"), "a.service", READY, settle=2.0) is None


@pytest.mark.parametrize(
    ("after", "good"),
    # vLLM says that its start-up is complete and then finds its port taken; a service that ran for a day was up.
    [(0.0, False), (0.3, False), (2.5, True), (86400.0, True)],
)
def test_a_start_that_failed_at_once_after_its_ready_line_was_none(after: float, good: bool) -> None:
    failure = about(b"a.service: Failed with result 'exit-code'.", b"22", int((5030 + after) * SECOND))
    starts = about(b"Started.", b"11", 100 * SECOND) + about(b"Started.", b"22", 5000 * SECOND) + failure
    ready = {
        "11": entry(b"fired up and ready to roll!", b"11", 520 * SECOND),
        "22": entry(b"fired up and ready to roll!", b"22", 5030 * SECOND),
    }
    assert last_good_start(Journal(starts, ready), "a.service", READY, settle=2.0) == (30.0 if good else 420.0)
