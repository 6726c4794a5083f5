"""The journal of one unit, followed from a known place: no line after it is missed, none before it is taken.

The files are read in place (sd-journal(3)), because journald tells its readers of new entries only every 250 ms
(journal-file.c, post_change_timer), while the entries themselves are there at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from remedy.facts.types import LogLine
from remedy.gate.ratelimit import DROPPED
from remedy.hints import Any

# A line longer than this is cut: as journald does (journald.conf(5), LineMax=). What a server says can stand at the end
# of all that a progress bar wrote before it.
_LONGEST = 48 * 1024
_FOLDERS = ("/var/log/journal", "/run/log/journal")
_OUTPUT = "/run/systemd/journal/stdout"


class JournalFollower:
    """Follows the lines of a unit, and the manager's lines about it, from the moment it is made.

    ``invocation`` starts at the beginning of that invocation instead, for a start already under way.
    ``why`` says why there are no lines, None where nothing speaks against them. Never raises: a watch goes on without.
    """

    def __init__(self, unit: str, *, user: bool = False, invocation: str | None = None) -> None:
        self.why = unreadable()
        self._reader: Any = None
        try:
            self._open(unit, user, invocation)
        except (ImportError, OSError) as error:
            self._reader = None
            self.why = f"{type(error).__name__}: {error}"

    def _open(self, unit: str, user: bool, invocation: str | None) -> None:
        try:
            from systemd import journal
        except ImportError:
            from remedy.gate import libsystemd as journal

        converters = {"__REALTIME_TIMESTAMP": int, "_PID": int, "MESSAGE_ID": bytes.decode}
        self._reader = journal.Reader(journal.LOCAL_ONLY, converters=converters)
        self._reader.data_threshold = 2 * _LONGEST
        own, about = ("_SYSTEMD_USER_UNIT", "USER_UNIT") if user else ("_SYSTEMD_UNIT", "UNIT")
        manager = {} if user else {"_PID": "1"}
        if invocation:
            own, about, unit = "_SYSTEMD_INVOCATION_ID", f"{'USER_' if user else ''}INVOCATION_ID", invocation
        self._reader.add_match(**{own: unit})
        self._reader.add_disjunction()
        self._reader.add_match(**{about: unit}, **manager)
        self._reader.add_disjunction()
        self._reader.add_match(MESSAGE_ID=DROPPED, **{f"OBJECT{own}": unit})
        if invocation:
            self._reader.seek_head()
        else:
            # The tail is a place behind the last entry: the step back makes the next one the first that is new.
            self._reader.seek_tail()
            self._reader.get_previous()
        # From here on new files (rotation, the first line of a boot) are taken in as well.
        self._reader.process()

    @property
    def open(self) -> bool:
        """Whether there is a descriptor to wait for."""
        return self._reader is not None

    def fileno(self) -> int:
        """The descriptor that becomes readable when journald tells of new entries."""
        return int(self._reader.fileno())

    def woken(self) -> None:
        """Take in what the descriptor has told: new entries, rotated, removed and added files."""
        self._reader.process()

    def lines(self) -> Iterator[LogLine]:
        """All lines that have arrived since the last call."""
        while self._reader is not None and (entry := self._reader.get_next()):
            yield from read_entry(entry)

    def close(self) -> None:
        """Stop following."""
        if self._reader is not None:
            self._reader.close()


def unreadable() -> str | None:
    """Why the system's journal can't be read by this user, or takes no lines; None where nothing speaks against it."""
    files = [
        f"{folder}/{machine}/system.journal"
        for folder in _FOLDERS
        if os.path.isdir(folder) and os.access(folder, os.R_OK | os.X_OK)
        for machine in os.listdir(folder)
    ]
    if any(os.access(file, os.R_OK) for file in files):
        return _deaf()
    if any(os.path.exists(file) for file in files):
        return "the journal may be read only by root and the group systemd-journal"
    return "there is no journal in /var/log/journal or /run/log/journal"


def _deaf() -> str | None:
    """Whether nobody takes what services print: systemd connects their output to this socket (systemd-journald(8))."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.setblocking(False)
        try:
            line.connect(_OUTPUT)
        except (FileNotFoundError, ConnectionRefusedError):
            return "systemd-journald does not run"
        except OSError:
            pass
    return None


def read_entry(entry: Mapping[str, Any]) -> Iterator[LogLine]:
    """The lines of one entry; an entry of several lines becomes as many, one without a message none."""
    message = entry.get("MESSAGE", "")
    if isinstance(message, bytes):
        message = message.decode("utf-8", "replace")
    about = "UNIT" in entry or "USER_UNIT" in entry
    key = ("INVOCATION_ID" if "INVOCATION_ID" in entry else "USER_INVOCATION_ID") if about else "_SYSTEMD_INVOCATION_ID"
    if entry.get("MESSAGE_ID") == DROPPED:
        about, key = True, "OBJECT_SYSTEMD_INVOCATION_ID"
    for text in str(message).split("\n"):
        yield LogLine(
            text=text[:_LONGEST].rstrip("\r"),
            realtime=entry.get("__REALTIME_TIMESTAMP", 0),
            identifier=str(entry.get("SYSLOG_IDENTIFIER", "")),
            pid=entry.get("_PID", 0),
            invocation=str(entry.get(key, "")),
            from_manager=about,
        )
