"""Whether journald may have dropped lines of a start: then it says nothing that a line is missing.

journald drops what goes beyond a number of messages in an interval (journald.conf(5), RateLimitIntervalSec=;
systemd.exec(5), LogRateLimitIntervalSec=), and tells so only with the next line that it takes: a service that has come
up and is quiet since is never told of. So the lines are counted as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from remedy.facts.types import LogLine
from remedy.gate.expect import seconds
from remedy.hints import Final

#: SD_MESSAGE_JOURNAL_DROPPED (sd-messages.h).
DROPPED: Final = "a596d6fe7bfa4994828e72309e95d61e"
#: journald.conf(5): compile-time defaults of the interval in seconds, and of the number.
_DEFAULTS: Final = (30.0, 10_000)
_FOLDERS: Final = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")


class RateLimit:
    """Counts the lines of a start against the limit: ``interval`` in seconds, ``burst`` in messages; 0 for none."""

    def __init__(self, interval: float, burst: int) -> None:
        self._interval = interval * 1e6
        # Our interval need not begin with journald's, which then has at least half of its messages in one of ours. It
        # takes more where the disk has room (journald-rate-limit.c, burst_modulate), never less.
        self._enough = (burst + 1) // 2 if interval else 0
        self._begin = self._count = 0
        self._why: str | None = None

    def take(self, line: LogLine) -> None:
        """Count a line, or believe journald's own word."""
        if line.identifier == "systemd-journald":
            self._why = f"journald: {line.text}"
        elif not line.from_manager and self._enough:
            if line.realtime - self._begin > self._interval:
                self._begin, self._count = line.realtime, 0
            self._count += 1
            if self._count >= self._enough and self._why is None:
                self._why = f"journald may have dropped some of its lines (LogRateLimitBurst=, {self._count} came)"

    @property
    def why(self) -> str | None:
        """Why a line may be missing; None where nothing speaks for it."""
        return self._why


def limit(interval: float, burst: int) -> RateLimit:
    """The limit for a unit with these settings of its own, where 0 means journald's."""
    if interval and burst:
        return RateLimit(interval, burst)
    own = _settings()
    return RateLimit(interval or own[0], burst or own[1])


def _settings() -> tuple[float, int]:
    interval, burst = _DEFAULTS
    for path in _files():
        for line in _lines(path):
            name, _, value = (part.strip() for part in line.partition("="))
            if name == "RateLimitIntervalSec":
                span = seconds(value)
                interval = _DEFAULTS[0] if span is None else span
            elif name == "RateLimitBurst":
                burst = int(value) if value.isdigit() else _DEFAULTS[1]
    return interval, burst if burst else 0


def _files() -> list[str]:
    """journald's settings, the weakest first (journald.conf(5), "Configuration directories and precedence")."""
    main = next((f"{one}/journald.conf" for one in _FOLDERS if os.path.isfile(f"{one}/journald.conf")), None)
    drop_ins: dict[str, str] = {}
    for folder in (f"{one}/journald.conf.d" for one in _FOLDERS):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.endswith(".conf"):
                drop_ins.setdefault(name, f"{folder}/{name}")
    return [*([main] if main else []), *(drop_ins[name] for name in sorted(drop_ins))]


def _lines(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from file
    except OSError:
        return
