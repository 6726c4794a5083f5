"""The journal of one unit, followed from a known place: no line after it is missed, none before it is taken."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

from remedy.facts.types import LogLine

# A line longer than this is cut: a server that dumps its arguments must not fill the memory.
_LONGEST = 16 * 1024
_ENVIRONMENT = {**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0"}


class JournalFollower:
    """Follows the lines of a unit, and the manager's lines about it, from the moment it is made.

    ``invocation`` starts at the beginning of that invocation instead, for a start already under way.
    ``why`` says why there is no journal, None where there is one.
    """

    def __init__(self, unit: str, *, user: bool = False, invocation: str | None = None) -> None:
        self.why: str | None = None
        self._tail = b""
        base = ["journalctl", "--quiet", *(["--user"] if user else [])]
        unit_field, manager_field = ("_SYSTEMD_USER_UNIT", "USER_UNIT") if user else ("_SYSTEMD_UNIT", "UNIT")
        if invocation:
            start = ["--lines=all"]
            match = [f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}"]
        else:
            start = [_start_of_following(base)]
            match = [f"{unit_field}={unit}", "+", f"{manager_field}={unit}", "_PID=1" if not user else ""]
        command = [*base, "--follow", "--output=json", "--all", *start, *filter(None, match)]
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        except OSError as error:
            self._process, self.why = None, f"journalctl can't be run: {error.strerror}"
            return
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)

    def fileno(self) -> int | None:
        """The descriptor that becomes readable when a line arrives; None where there is no journal."""
        if self._process is None or self._process.stdout is None:
            return None
        return self._process.stdout.fileno()

    def lines(self) -> Iterator[LogLine]:
        """All whole lines that have arrived. Sets ``why`` when journalctl ended."""
        fd = self.fileno()
        while fd is not None:
            try:
                data = os.read(fd, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self._end()
                return
            *whole, self._tail = (self._tail + data).split(b"\n")
            for raw in whole:
                line = read_line(raw)
                if line is not None:
                    yield line

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            self.why = f"journalctl ended with status {process.wait()}"

    def close(self) -> None:
        """Stop following."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None


def _start_of_following(base: list[str]) -> str:
    """The option that makes journalctl begin after the newest entry that is there now."""
    try:
        done = subprocess.run(
            [*base, "--lines=1", "--output=export"],
            capture_output=True,
            timeout=5,
            stdin=subprocess.DEVNULL,
            env=_ENVIRONMENT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "--lines=0"
    for line in done.stdout.splitlines():
        if line.startswith(b"__CURSOR="):
            return "--after-cursor=" + line[9:].decode("ascii", "replace")
    return "--lines=all"


def read_line(raw: bytes) -> LogLine | None:
    """One line of ``journalctl -o json``: None where it is none, or has no message."""
    try:
        entry = json.loads(raw)
    except ValueError:
        return None
    message = entry.get("MESSAGE")
    if isinstance(message, list):
        # journalctl prints a message that is no UTF-8, or holds control characters, as an array of its bytes.
        message = bytes(byte for byte in message if isinstance(byte, int)).decode("utf-8", "replace")
    if not isinstance(message, str):
        return None
    manager = entry.get("_PID") == "1" or "UNIT" in entry or "USER_UNIT" in entry
    return LogLine(
        text=message[:_LONGEST],
        realtime=_number(entry.get("__REALTIME_TIMESTAMP")),
        identifier=str(entry.get("SYSLOG_IDENTIFIER", "")),
        pid=_number(entry.get("_PID")),
        invocation=str(entry.get("INVOCATION_ID", "") if manager else entry.get("_SYSTEMD_INVOCATION_ID", "")),
        from_manager=manager,
    )


def _number(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isdigit() else 0
