from __future__ import annotations

from collections.abc import Mapping, Sequence

from remedy.facts.accounts import Account
from remedy.facts.run import Done, NoRunner, Result, Running
from remedy.facts.starts import last_good_start
from tests.facts.test_journal import about, entry

SECOND = 1_000_000
READY = ("The server is fired up and ready to roll!",)


class Journal:
    """journalctl of one unit: ``starts`` answers for the manager's lines, ``ready`` by invocation."""

    def __init__(self, starts: bytes, ready: Mapping[str, bytes]) -> None:
        self._starts = starts
        self._ready = ready
        self.asked: list[tuple[str, ...]] = []

    def start(
        self,
        argv: Sequence[str],
        *,
        timeout: float,  # noqa: ARG002
        user: Account | None = None,  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        input: bytes | None = None,  # noqa: ARG002
    ) -> Running:
        self.asked.append(tuple(argv))
        field, _, invocation = argv[-1].partition("=")
        known = self._starts if field == "MESSAGE_ID" else self._ready.get(invocation, b"")
        return Done(Result(0, known))


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
