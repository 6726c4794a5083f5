"""The read-only view of a file system that the pure rooms are handed.

The live machine, a tree under ``--root DIR``, a recorded snapshot and "the machine as it would be after
these edits" (``overlay``) are four implementations of one protocol, so that the code that reads them is the same.
"""

from __future__ import annotations

import posixpath

from remedy.hints import Literal, Protocol
from remedy.value import dataclass

Kind = Literal["file", "directory", "symlink", "other"]

READ_LIMIT = 8 * 1024 * 1024


@dataclass(frozen=True)
class Stat:
    """What lstat(2)/stat(2) say of a path: sizes in bytes, times in nanoseconds since the epoch."""

    kind: Kind
    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int

    @property
    def executable(self) -> bool:
        """A regular file with any execute bit."""
        return self.kind == "file" and bool(self.mode & 0o111)


class View(Protocol):
    """Read-only access to a file system. Paths are absolute, as the machine that is looked at sees them."""

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The bytes of a regular file, symlinks followed inside the view.

        Raises OSError (FileNotFoundError, PermissionError, IsADirectoryError, or OSError with EINVAL for a FIFO,
        socket or device, which is never opened, and with EFBIG for a file longer than ``limit`` bytes).
        """
        ...

    def list(self, path: str) -> tuple[str, ...]:
        """The sorted names in a directory. Raises OSError."""
        ...

    def stat(self, path: str) -> Stat | None:
        """What stands at the end of all symlinks; None where nothing does, or it may not be seen."""
        ...

    def lstat(self, path: str) -> Stat | None:
        """What stands at the path itself."""
        ...

    def readlink(self, path: str) -> str:
        """The target of a symlink as written. Raises OSError."""
        ...

    def realpath(self, path: str) -> str:
        """The path with every symlink resolved inside the view; a missing tail stays as it is."""
        ...


def is_file(view: View, path: str) -> bool:
    """Whether a regular file stands at the end of ``path``."""
    found = view.stat(path)
    return found is not None and found.kind == "file"


def is_directory(view: View, path: str) -> bool:
    """Whether a directory stands at the end of ``path``."""
    found = view.stat(path)
    return found is not None and found.kind == "directory"


def is_executable(view: View, path: str) -> bool:
    """Whether a regular file with an execute bit stands at the end of ``path``."""
    found = view.stat(path)
    return found is not None and found.executable


def which(view: View, name: str, path: str | None, default: str = "/bin:/usr/bin") -> str | None:
    """The first executable ``name`` on a PATH value, as execvp(3) and which(1) look; None where there is none.

    Empty entries mean the working directory, which a service has no business to run programs from: skipped.
    """
    if "/" in name:
        return name if is_executable(view, name) else None
    for entry in (default if path is None else path).split(":"):
        if entry.startswith("/"):
            candidate = posixpath.join(entry, name)
            if is_executable(view, candidate):
                return candidate
    return None
