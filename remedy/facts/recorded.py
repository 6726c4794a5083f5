"""Reads that remember what they saw, and reads that answer from such a memory: what a snapshot is made of.

``RecordingView`` and ``RecordingRunner`` stand between a diagnosis and the machine; ``ReplayView`` and
``ReplayRunner`` take the machine's place, so that the same code comes to the same verdict elsewhere.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Callable, Mapping, Sequence

from remedy.facts.accounts import Account
from remedy.facts.condense import Redact, condensed_output, condensed_range, condensed_read
from remedy.facts.names import range_of
from remedy.facts.run import Done, Result, Runner, Running
from remedy.hints import TypeVar
from remedy.value import dataclass, field
from remedy.view import READ_LIMIT, Stat, View

T = TypeVar("T")

#: A program's argv, and the user it ran as ("" for ourselves).
Call = tuple[tuple[str, ...], str]


@dataclass(frozen=True)
class Failure:
    """The number and words of an OSError."""

    number: int
    words: str

    def error(self, path: str) -> OSError:
        """The error again; OSError picks the subclass of its number (FileNotFoundError, PermissionError, …)."""
        return OSError(self.number, self.words, path)


_NEVER_ASKED = Failure(errno.ENOENT, "not in the snapshot")


@dataclass(frozen=True)
class Recording:
    """What was seen, by path and by call. ``about`` says what it was seen for (unit, options)."""

    about: dict[str, str] = field(default_factory=dict)
    stats: dict[str, Stat | None] = field(default_factory=dict)
    lstats: dict[str, Stat | None] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...] | Failure] = field(default_factory=dict)
    links: dict[str, str | Failure] = field(default_factory=dict)
    real: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes | Failure] = field(default_factory=dict)
    ranges: dict[tuple[str, int, int], bytes] = field(default_factory=dict)
    runs: dict[Call, Result] = field(default_factory=dict)


def _noted(call: Callable[[], T], notes: dict[str, T | Failure], path: str) -> T:
    try:
        found = call()
    except OSError as error:
        notes.setdefault(path, Failure(error.errno or errno.EIO, error.strerror or str(error)))
        raise
    notes[path] = found
    return found


@dataclass(frozen=True)
class RecordingView:
    """A view that notes every answer of another one, with secrets removed and bulk left out of the note."""

    base: View
    recording: Recording
    redact: Redact

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """As ``View.read``."""
        notes = self.recording.contents
        data = _noted(lambda: self.base.read(path, limit), notes, path)
        notes[path] = condensed_read(path, data, self.redact)
        return data

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        """As ``Files.read_range``."""
        data = range_of(self.base, path, offset, size)
        self.recording.ranges[path, offset, size] = condensed_range(path, data)
        return data

    def list(self, path: str) -> tuple[str, ...]:
        """As ``View.list``."""
        return _noted(lambda: self.base.list(path), self.recording.lists, path)

    def stat(self, path: str) -> Stat | None:
        """As ``View.stat``."""
        found = self.recording.stats[path] = self.base.stat(path)
        return found

    def lstat(self, path: str) -> Stat | None:
        """As ``View.lstat``."""
        found = self.recording.lstats[path] = self.base.lstat(path)
        return found

    def readlink(self, path: str) -> str:
        """As ``View.readlink``."""
        return _noted(lambda: self.base.readlink(path), self.recording.links, path)

    def realpath(self, path: str) -> str:
        """As ``View.realpath``."""
        found = self.recording.real[path] = self.base.realpath(path)
        return found


def _answer(notes: Mapping[str, T | Failure], path: str) -> T:
    found = notes.get(path, _NEVER_ASKED)
    if isinstance(found, Failure):
        raise found.error(path)
    return found


@dataclass(frozen=True)
class ReplayView:
    """A view that answers from a recording; what was never asked is not there."""

    recording: Recording

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """As ``View.read``."""
        found = _answer(self.recording.contents, path)
        if len(found) > limit:
            raise OSError(errno.EFBIG, f"longer than {limit} bytes", path)
        return found

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        """As ``Files.read_range``."""
        return self.recording.ranges.get((path, offset, size), b"")

    def list(self, path: str) -> tuple[str, ...]:
        """As ``View.list``."""
        return _answer(self.recording.lists, path)

    def stat(self, path: str) -> Stat | None:
        """As ``View.stat``."""
        return self.recording.stats.get(path)

    def lstat(self, path: str) -> Stat | None:
        """As ``View.lstat``."""
        return self.recording.lstats.get(path)

    def readlink(self, path: str) -> str:
        """As ``View.readlink``."""
        return _answer(self.recording.links, path)

    def realpath(self, path: str) -> str:
        """As ``View.realpath``."""
        return self.recording.real.get(path, posixpath.normpath(path))


def _call(argv: Sequence[str], user: Account | None) -> Call:
    return tuple(argv), user.name if user else ""


@dataclass(frozen=True)
class _Noting:
    """A running program whose result is noted once it is known."""

    running: Running
    call: Call
    recorder: RecordingRunner

    def result(self) -> Result:
        """As ``Running.result``."""
        result = self.running.result()
        self.recorder.recording.runs[self.call] = condensed_output(self.call[0], result, self.recorder.redact)
        return result


@dataclass(frozen=True)
class RecordingRunner:
    """A runner that notes every result of another one, with secrets removed."""

    base: Runner
    recording: Recording
    redact: Redact

    def start(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        user: Account | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | None = None,
    ) -> Running:
        """As ``Runner.start``."""
        running = self.base.start(argv, timeout=timeout, user=user, env=env, input=input)
        return _Noting(running, _call(argv, user), self)


@dataclass(frozen=True)
class ReplayRunner:
    """A runner that answers from a recording, and runs nothing."""

    recording: Recording

    def start(
        self,
        argv: Sequence[str],
        *,
        timeout: float,  # noqa: ARG002
        user: Account | None = None,
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        input: bytes | None = None,  # noqa: ARG002
    ) -> Running:
        """As ``Runner.start``."""
        return Done(self.recording.runs.get(_call(argv, user), Result(None, why="not in the snapshot")))
