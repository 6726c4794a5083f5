"""The one door to the file system: a read-only view of this machine, or of a tree under ``--root DIR``."""

from __future__ import annotations

import errno
import os
import posixpath
import stat as st
from collections.abc import Callable

from remedy.facts.follow import Lead, lead_of, may_read
from remedy.view import READ_LIMIT, Kind, Stat

#: As many symlinks in one lookup as the kernel follows: path_resolution(7).
MAX_LINKS = 40
_CHUNK = 1 << 16
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Files:
    """A directory of this machine as a ``View``; ``root`` is what the paths of the view start at.

    Symlinks stay inside ``root``. FIFOs, sockets and devices are never opened. As root, what another user's folder or
    link leads to is read only where that user could read it too. What stat, lstat and list said is remembered for the
    life of the instance: take a new one to see changes.
    """

    def __init__(self, root: str = "/") -> None:
        self._root = "" if root == "/" else os.path.abspath(root)
        self._stats: dict[str, Stat | None] = {}
        self._lstats: dict[str, Stat | None] = {}
        self._lists: dict[str, tuple[str, ...]] = {}
        self._links: dict[str, str | None] = {}
        self._trusted: dict[str, bool] = {}
        self._privileged = os.geteuid() == 0

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The bytes of a regular file; OSError as ``View.read`` says."""
        return self._read(path, 0, limit + 1, limit)

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        """At most ``size`` bytes of a regular file from ``offset``; OSError as ``View.read`` says."""
        return self._read(path, offset, size, None)

    def list(self, path: str) -> tuple[str, ...]:
        """The sorted names in a directory. Raises OSError."""
        found = self._lists.get(path)
        if found is None:
            handle = os.open(self._host(path), _FLAGS | os.O_DIRECTORY)
            try:
                self._check(handle, path)
                found = self._lists[path] = tuple(sorted(os.listdir(handle)))
            finally:
                os.close(handle)
        return found

    def stat(self, path: str) -> Stat | None:
        """What stands at the end of all symlinks; None where nothing does, or it may not be seen."""
        if path not in self._stats:
            self._stats[path] = _stat(os.stat if not self._root else os.lstat, self._host_or_none(path))
        return self._stats[path]

    def lstat(self, path: str) -> Stat | None:
        """What stands at the path itself."""
        if path not in self._lstats:
            self._lstats[path] = _stat(os.lstat, self._entry_or_none(path))
        return self._lstats[path]

    def readlink(self, path: str) -> str:
        """The target of a symlink as written. Raises OSError."""
        return os.readlink(self._entry(path))

    def realpath(self, path: str) -> str:
        """The path with every symlink resolved inside the view; a missing tail stays, as does a loop."""
        try:
            return self._resolve(path)
        except OSError:
            return posixpath.normpath(path)

    def _read(self, path: str, offset: int, size: int, limit: int | None) -> bytes:
        host = self._host(path)
        _must_be_regular(os.stat(host, follow_symlinks=not self._root).st_mode, path)
        # The file may have been exchanged since: O_NONBLOCK keeps a FIFO from blocking until fstat has told.
        handle = os.open(host, _FLAGS | (os.O_NOFOLLOW if self._root else 0))
        try:
            opened = os.fstat(handle)
            _must_be_regular(opened.st_mode, path)
            self._check(handle, path)
            if limit is not None and opened.st_size > limit:
                raise _too_long(path, limit)
            if offset:
                os.lseek(handle, offset, os.SEEK_SET)
            # Files of /proc and /sys have no true size: read until the end. A buffer that is much too large costs
            # more than the read of a small file.
            chunk = opened.st_size + 1 if opened.st_size else _CHUNK
            parts: list[bytes] = []
            while size > 0 and (part := os.read(handle, min(size, chunk))):
                parts.append(part)
                size -= len(part)
            if limit is not None and size <= 0:
                raise _too_long(path, limit)
            return parts[0] if len(parts) == 1 else b"".join(parts)
        finally:
            os.close(handle)

    def _check(self, handle: int, path: str) -> None:
        """Raise PermissionError where, as root, we were led to what the one who led us there may not read."""
        if not self._privileged:
            return
        lead = self._lead(path)
        if lead is not None and not may_read(handle, lead, self._root):
            raise PermissionError(errno.EACCES, f"uid {lead.uid} leads to what it may not read", path)

    def _lead(self, path: str) -> Lead | None:
        """Most files lie beside others, in folders that only root can change: then the last step alone counts."""
        folder = posixpath.dirname(path)
        if folder not in self._trusted:
            self._trusted[folder] = lead_of(folder, self.lstat, self.readlink) is None
        if self._trusted[folder]:
            last = self.lstat(path)
            if last is not None and last.uid == 0 and last.kind != "symlink":
                return None
        return lead_of(path, self.lstat, self.readlink)

    def _host(self, path: str) -> str:
        """Where a path of the view lies on this machine; raises OSError where a symlink loops."""
        if "\0" in path:
            raise OSError(errno.EINVAL, "a NUL byte in the path", path)
        return self._root + self._resolve(path) if self._root else path

    def _host_or_none(self, path: str) -> str | None:
        try:
            return self._host(path)
        except OSError:
            return None

    def _entry(self, path: str) -> str:
        """As ``_host``, but the last component is not followed."""
        parent, name = posixpath.split(posixpath.normpath(path))
        return posixpath.join(self._host(parent), name)

    def _entry_or_none(self, path: str) -> str | None:
        try:
            return self._entry(path)
        except OSError:
            return None

    def _link(self, path: str) -> str | None:
        """The target of the symlink at a path whose parents are no symlinks; None where it is none."""
        if path not in self._links:
            try:
                self._links[path] = os.readlink(self._root + path)
            except OSError:
                self._links[path] = None
        return self._links[path]

    def _resolve(self, path: str) -> str:
        pending = path.split("/")[::-1]
        done = ""
        links = 0
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            target = self._link(here)
            if target is None:
                done = here
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                done = ""
            pending += target.split("/")[::-1]
        return done or "/"


def _must_be_regular(mode: int, path: str) -> None:
    if st.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not st.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


def _too_long(path: str, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"longer than {limit} bytes", path)


def _stat(call: Callable[[str], os.stat_result], host: str | None) -> Stat | None:
    if host is None:
        return None
    try:
        found = call(host)
    except OSError:
        return None
    mode = found.st_mode
    return Stat(_kind(mode), st.S_IMODE(mode), found.st_uid, found.st_gid, found.st_size, found.st_mtime_ns)


def _kind(mode: int) -> Kind:
    if st.S_ISREG(mode):
        return "file"
    if st.S_ISDIR(mode):
        return "directory"
    return "symlink" if st.S_ISLNK(mode) else "other"
