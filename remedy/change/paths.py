"""Folders reached without ever following, as root, a link that someone else could have laid.

From ``/`` down, a symlink is followed only in a folder that root alone can change. From the first folder that
belongs to another user on, everything is done with that user's rights: whatever it has laid there can only lead where
it could go itself (openat(2), O_NOFOLLOW; path_resolution(7)).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from remedy.errors import Refused
from remedy.facts.accounts import members
from remedy.facts.files import Files
from remedy.value import dataclass

#: As many symlinks in one lookup as the kernel follows.
_MAX_LINKS = 40
_OPEN = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Folder:
    """An open folder; ``owner`` is the uid whose rights are in force inside it (0: root)."""

    fd: int
    owner: int


@contextmanager
def folder_of(path: str, make: bool = False) -> Iterator[tuple[Folder, str]]:
    """Open the folder that holds ``path`` (absolute), and give the last name of the path.

    While the context lasts the process has the rights of the folder's owner. With ``make``, missing folders are made
    (mode 0755). Raises OSError, and Refused where nobody's rights would be right.
    """
    parent, name = os.path.split(os.path.normpath(path))
    if not parent.startswith("/") or not name:
        raise Refused(f"not an absolute path: {path!r}")
    with _Identity() as identity:
        fd = _walk(parent, identity, make)
        try:
            yield Folder(fd, identity.uid), name
        finally:
            os.close(fd)


class _Identity:
    """The process's effective user; back to its own at the end. The real user stays root, so that the other user
    can neither signal nor trace the process (credentials(7))."""

    def __init__(self) -> None:
        self.uid = 0
        self._own = (os.geteuid(), os.getegid(), os.getgroups())

    def __enter__(self) -> _Identity:
        return self

    def become(self, uid: int, gid: int) -> None:
        """Take on a user's rights, and nothing beyond them."""
        self.uid = uid
        if os.geteuid() != 0:
            return
        groups = [gid]
        try:
            import pwd

            entry = pwd.getpwuid(uid)
            gid, groups = entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
        except KeyError:
            pass
        os.setgroups(groups)
        os.setegid(gid)
        os.seteuid(uid)

    def __exit__(self, *_error: object) -> None:
        uid, gid, groups = self._own
        if os.geteuid() != uid:
            os.seteuid(uid)
            os.setegid(gid)
            os.setgroups(groups)


@contextmanager
def as_root() -> Iterator[None]:
    """Root's rights again, inside a folder that was reached with another user's."""
    uid, gid, groups = os.geteuid(), os.getegid(), os.getgroups()
    if uid == os.getuid():
        yield
        return
    os.seteuid(os.getuid())
    try:
        yield
    finally:
        os.setgroups(groups)
        os.setegid(gid)
        os.seteuid(uid)


def _walk(parent: str, identity: _Identity, make: bool) -> int:
    names = [name for name in reversed(parent.split("/")) if name]
    fd, links, shared = os.open("/", _OPEN | os.O_PATH), 0, False
    try:
        while names:
            name = names.pop()
            target = _link_at(fd, name)
            if target is not None:
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), parent)
                if shared:
                    raise Refused(f"{parent}: {name} is a symlink in a folder that everybody can write to")
                names += [part for part in reversed(target.split("/")) if part and part != "."]
                if target.startswith("/"):
                    fd = _swap(fd, os.open("/", _OPEN | os.O_PATH))
                continue
            if make:
                _make_at(fd, name)
            fd = _swap(fd, os.open(name, _OPEN | os.O_PATH, dir_fd=fd))
            if identity.uid == 0:
                shared = _trust(fd, parent, identity)
        return _swap(fd, os.open(".", _OPEN | os.O_RDONLY, dir_fd=fd))
    except BaseException:
        os.close(fd)
        raise


def _trust(fd: int, path: str, identity: _Identity) -> bool:
    """Whose folder this is decides whose rights hold from here on. True for a sticky one that all can write to."""
    found = os.fstat(fd)
    if found.st_uid not in (0, os.getuid()):
        identity.become(found.st_uid, found.st_gid)
        return False
    writable = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and _has_others(found.st_gid))
    if writable and not found.st_mode & stat.S_ISVTX:
        raise Refused(
            f"{path}: a folder on the way belongs to root but others can change it (mode {found.st_mode & 0o7777:04o})",
            hint="take the write permission of group and others away from it, or give it to one user",
        )
    return bool(writable)


def _has_others(gid: int) -> bool:
    """Whether a group has anyone but root in it (Debian's /usr/local belongs to the empty group ``staff``)."""
    return any(name != "root" for name in members(Files(), gid))


def _link_at(fd: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=fd)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _make_at(fd: int, name: str) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=fd)
    except FileExistsError:
        return
    os.fsync(here := os.open(".", _OPEN | os.O_RDONLY, dir_fd=fd))
    os.close(here)


def _swap(old: int, new: int) -> int:
    os.close(old)
    return new


def lstat_at(folder: Folder, name: str) -> os.stat_result | None:
    """lstat(2) of a name in a folder; None where there is nothing."""
    try:
        return os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
