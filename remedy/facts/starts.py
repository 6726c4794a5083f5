"""How long the last good start of a unit took, from the journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import monotonic

from remedy.facts.journal import parse_export
from remedy.facts.run import Runner, run
from remedy.facts.types import LogLine

#: sd-messages.h: SD_MESSAGE_UNIT_STARTING, SD_MESSAGE_UNIT_STARTED, SD_MESSAGE_UNIT_FAILURE_RESULT. They are indexed,
#: so that months of a service's own lines need not be read to find its starts.
_STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
_STARTED = "39f53479d3a045ac8e11786248231fbf"
_FAILED = "d9b373ed55a64feb8242e02dbe79a49c"
_SAYS_FAILED = ": Failed with result '"
_LINES = 18
_TRIES = 3
#: Seconds that all questions together may take.
_PATIENCE = 3.0
#: Seconds from the start on in which a ready line is looked for: a busy service's later lines need not be read.
_WINDOWS = (1800, 3 * 3600)
_MICROSECONDS = 1_000_000


def last_good_start(
    runner: Runner, unit: str, ready: Sequence[str], *, settle: float, user: bool = False
) -> float | None:
    """Seconds from the start job to the first ready line; None where no such start is found in good time.

    ``ready`` are regular expressions and ``settle`` the seconds after the ready line in which a failure makes the start
    a bad one (``Expectation``'s). Where the manager itself waited for the service (Type=notify), its own two lines
    count.
    """
    deadline = monotonic() + _PATIENCE
    field = "USER_UNIT" if user else "UNIT"
    scope = ("--user",) if user else ()
    match = (f"{field}={unit}", *(f"MESSAGE_ID={message}" for message in (_FAILED, _STARTING, _STARTED)))
    asked = run(runner, (*_journalctl(*scope), f"--lines={_LINES}", *match), timeout=_PATIENCE)
    lines = parse_export(asked.stdout)
    failed = {line.invocation: line.realtime for line in lines if _SAYS_FAILED in line.text}
    starts = list(_starts(line for line in lines if _SAYS_FAILED not in line.text))
    for begin, end, invocation in starts[:_TRIES]:
        if monotonic() > deadline:
            break
        seen = _first_ready(runner, scope, invocation, begin, ready, deadline) if ready else None
        if seen is None and end - begin > _MICROSECONDS:
            seen = end
        if seen is not None and not seen <= failed.get(invocation, 0) < seen + settle * _MICROSECONDS:
            return (seen - begin) / _MICROSECONDS
    return None


def _starts(lines: Iterable[LogLine]) -> Iterator[tuple[int, int, str]]:
    """First and last time of the manager's lines on each start, and its invocation; the newest start first."""
    times: dict[str, list[int]] = {}
    for line in lines:
        if line.invocation:
            times.setdefault(line.invocation, []).append(line.realtime)
    yield from ((min(found), max(found), invocation) for invocation, found in reversed(times.items()))


def _first_ready(
    runner: Runner, scope: tuple[str, ...], invocation: str, begin: int, ready: Sequence[str], deadline: float
) -> int | None:
    since = begin // _MICROSECONDS
    for window in _WINDOWS:
        limits = (f"--since=@{since}", f"--until=@{since + window}", f"--grep={'|'.join(ready)}")
        match = f"_SYSTEMD_INVOCATION_ID={invocation}"
        found = run(runner, (*_journalctl(*scope), *limits, match), timeout=max(0.1, deadline - monotonic()))
        # Where the time limit cut the answer off, the first match has come all the same.
        seen = next((line.realtime for line in parse_export(found.stdout) if line.realtime >= begin), None)
        if seen is not None or monotonic() > deadline:
            return seen
    return None


def _journalctl(*scope: str) -> tuple[str, ...]:
    return "journalctl", *scope, "--no-pager", "--quiet", "--output=export"
