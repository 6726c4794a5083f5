"""The read-only view of a file system that the pure rooms are handed.

The live machine, a tree under ``--root DIR``, a recorded snapshot and "the machine as it would be after
these edits" are four implementations of one protocol, so that the code that reads them is the same.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

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


@dataclass(frozen=True)
class Overlaid:
    """A view with some files' bytes replaced: the machine as it would be after planned edits.

    ``files`` maps absolute paths to new bytes, or to None for a file that is removed. New parent
    directories come to exist by themselves. Files named in ``executables`` get their execute bits.
    """

    base: View
    files: Mapping[str, bytes | None]
    executables: frozenset[str] = frozenset()

    def _planned(self, path: str) -> tuple[bool, bytes | None]:
        if path in self.files:
            return True, self.files[path]
        real = self.base.realpath(path)
        return (True, self.files[real]) if real in self.files else (False, None)

    def _is_new_parent(self, path: str) -> bool:
        prefix = path.rstrip("/") + "/"
        return any(data is not None and name.startswith(prefix) for name, data in self.files.items())

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        planned, data = self._planned(path)
        if not planned:
            return self.base.read(path, limit)
        if data is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        return data

    def list(self, path: str) -> tuple[str, ...]:
        prefix = path.rstrip("/") + "/"
        added = {name[len(prefix) :].split("/", 1)[0] for name in self.files if name.startswith(prefix)}
        gone = {name[len(prefix) :] for name, data in self.files.items() if data is None and name.startswith(prefix)}
        try:
            names = set(self.base.list(path))
        except FileNotFoundError:
            if not self._is_new_parent(path):
                raise
            names = set()
        return tuple(sorted((names | added) - gone))

    def stat(self, path: str) -> Stat | None:
        planned, data = self._planned(path)
        if not planned:
            found = self.base.stat(path)
            if found is None and self._is_new_parent(path):
                return Stat("directory", 0o755, 0, 0, 0, 0)
            return found
        if data is None:
            return None
        old = self.base.stat(path)
        new_mode = 0o755 if path in self.executables else 0o644
        return Stat("file", old.mode if old else new_mode, old.uid if old else 0, old.gid if old else 0, len(data), 0)

    def lstat(self, path: str) -> Stat | None:
        if path in self.files:
            return self.stat(path)
        found = self.base.lstat(path)
        return found if found is not None else self.stat(path)

    def readlink(self, path: str) -> str:
        return self.base.readlink(path)

    def realpath(self, path: str) -> str:
        return path if path in self.files else self.base.realpath(path)
