"""The journal of a unit's last invocations, with the manager's own lines about the unit, oldest first.

The export format is read, not JSON: it keeps every byte (journalctl's JSON turns colours into lists of numbers and
drops long lines), and parses faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from remedy.facts.run import Result, Runner, Running, run
from remedy.facts.types import LogLine, Missing

LINES = 2000
#: Where one start alone logged more than ``LINES``, what it logged before them is asked for, up to so many lines.
EARLIER_LINES = 18000
INVOCATIONS = 3
_TIMEOUT = 5.0
_LONGEST = 16 * 1024
_FIELDS = (
    "MESSAGE",
    "SYSLOG_IDENTIFIER",
    "_PID",
    "_SYSTEMD_INVOCATION_ID",
    "INVOCATION_ID",
    "USER_INVOCATION_ID",
    "_SYSTEMD_UNIT",
    "UNIT",
    "USER_UNIT",
)


def start_journal(runner: Runner, unit: str, user: bool = False) -> Running:
    """journalctl for the last lines of a unit, and of the manager on it."""
    return runner.start((*_command(LINES), "--user-unit" if user else "--unit", unit), timeout=_TIMEOUT)


def read_journal(runner: Runner, answer: Result) -> tuple[tuple[LogLine, ...], Missing | None]:
    """The lines of the last invocations from journalctl's answer; why there are none, or not all."""
    missing = _missing(answer)
    lines = parse_export(answer.stdout)
    if len(lines) >= LINES and lines[0].invocation and lines[0].invocation == lines[-1].invocation:
        lines = _earlier(runner, lines[0].invocation, answer.stdout) + lines
    return last_invocations(lines), missing


def _earlier(runner: Runner, invocation: str, known: bytes) -> tuple[LogLine, ...]:
    """What an invocation logged before the entries that are known.

    Asked for backwards: journalctl(1) counts ``--lines`` from the end only so where it begins at a cursor.
    """
    first = next(_entries(known)).get(b"__CURSOR", b"")
    before = ("--reverse", f"--cursor={first.decode(errors='replace')}")
    match = (f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}")
    told = run(runner, (*_command(EARLIER_LINES), *before, *match), timeout=_TIMEOUT).stdout
    entries = [tuple(_lines(entry)) for entry in _entries(told) if entry.get(b"__CURSOR") != first]
    return tuple(line for entry in reversed(entries) for line in entry)


def last_invocations(lines: tuple[LogLine, ...], count: int = INVOCATIONS) -> tuple[LogLine, ...]:
    """The lines from the first one of the last ``count`` invocations on.

    The manager's lines without an invocation that come directly before are kept: warnings at daemon-reload.
    """
    seen: dict[str, None] = {}
    start = len(lines)
    for position in range(len(lines) - 1, -1, -1):
        invocation = lines[position].invocation
        if invocation and invocation not in seen:
            if len(seen) == count:
                break
            seen[invocation] = None
        start = position
    return lines[start:]


def parse_export(data: bytes) -> tuple[LogLine, ...]:
    """The entries of systemd's Journal Export Format; a message of several lines becomes as many."""
    return tuple(line for entry in _entries(data) for line in _lines(entry))


def rewritten(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The same export with every message changed, for snapshots: secrets are removed so."""
    parts: list[bytes] = []
    for entry in _entries(data):
        for name, value in entry.items():
            new = change(value) if name == b"MESSAGE" else value
            if b"\n" in new:
                parts.append(name + b"\n" + len(new).to_bytes(8, "little") + new + b"\n")
            else:
                parts.append(name + b"=" + new + b"\n")
        parts.append(b"\n")
    return b"".join(parts)


def _command(lines: int) -> tuple[str, ...]:
    fields = ",".join(_FIELDS)
    return "journalctl", "--no-pager", "--output=export", f"--output-fields={fields}", f"--lines={lines}"


def _entries(data: bytes) -> Iterator[dict[bytes, bytes]]:
    position, size = 0, len(data)
    while position < size:
        end = data.find(b"\n\n", position)
        try:
            # All of the fields are text, as nearly always: one in the other form has no equals sign.
            entry = dict([field.split(b"=", 1) for field in data[position:end].split(b"\n")])
            following = end + 2
        except ValueError:
            end = -1
        if end < 0:
            entry, following = _entry(data, position)
        position = following
        if entry:
            yield entry


def _entry(data: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """The entry there, field by field, and where the next one begins."""
    entry: dict[bytes, bytes] = {}
    while position < len(data):
        end = data.find(b"\n", position)
        if end < 0:
            # The output was cut off in the middle of a field.
            return {}, len(data)
        name, equals, value = data[position:end].partition(b"=")
        position = end + 1
        if equals:
            entry[name] = value
        elif name:
            length = int.from_bytes(data[position : position + 8], "little")
            entry[name] = data[position + 8 : position + 8 + length]
            position += 8 + length + 1
        elif entry:
            break
    return entry, position


def _lines(entry: Mapping[bytes, bytes]) -> Iterator[LogLine]:
    get = entry.get
    about = get(b"UNIT") or get(b"USER_UNIT")
    invocation = get(b"INVOCATION_ID") or get(b"USER_INVOCATION_ID") if about else None
    invocation = invocation or (b"" if about else get(b"_SYSTEMD_INVOCATION_ID", b""))
    stamp = get(b"__REALTIME_TIMESTAMP", b"")
    realtime = int(stamp) if stamp.isdigit() else 0
    identifier, pid, invoked = _writer(get(b"SYSLOG_IDENTIFIER", b""), get(b"_PID", b""), invocation)
    for part in get(b"MESSAGE", b"").split(b"\n"):
        text = part[:_LONGEST].decode("utf-8", "replace").strip("\r")
        yield LogLine(text, realtime, identifier, pid, invoked, about is not None)


@lru_cache(maxsize=256)
def _writer(identifier: bytes, pid: bytes, invocation: bytes) -> tuple[str, int, str]:
    """The same for thousands of lines in a row."""
    return identifier.decode(errors="replace"), int(pid) if pid.isdigit() else 0, invocation.decode(errors="replace")


def _missing(answer: Result) -> Missing | None:
    hint = "add the user to the group systemd-journal (usermod -aG systemd-journal USER), or run as root"
    said = answer.stderr.decode(errors="replace")
    if "insufficient permissions" in said or "currently not seeing messages" in said:
        return Missing("journal", f"this user may not read all of the journal: {hint}")
    if "No journal files were found" in said:
        return Missing("journal", "this machine keeps no journal")
    return None if answer.why is None else Missing("journal", f"journalctl: {answer.why}")
