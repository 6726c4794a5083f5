from __future__ import annotations

from collections.abc import Mapping

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
    assert last_good_start(journal, "a.service", READY) == 420.0
    assert "--grep=The server is fired up and ready to roll!" in journal.asked[1]
    assert "--since=@5000" in journal.asked[1]


def test_a_service_that_tells_its_manager() -> None:
    starts = about(b"Starting", b"11", 100 * SECOND) + about(b"Started.", b"11", 160 * SECOND)
    assert last_good_start(Journal(starts, {}), "a.service", ()) == 60.0


def test_no_good_start() -> None:
    starts = about(b"Started.", b"11", 100 * SECOND)
    assert last_good_start(Journal(starts, {}), "a.service", READY) is None
    assert last_good_start(Journal(b"", {}), "a.service", READY) is None
    assert last_good_start(NoRunner("only read"), "a.service", READY) is None
