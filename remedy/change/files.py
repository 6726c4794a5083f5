"""Files replaced as a whole and put back to the byte: contents, mode, owner, times, extended attributes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shlex
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from remedy.change.paths import Folder, folder_of, lstat_at
from remedy.change.types import FileBefore
from remedy.errors import Refused, RemedyError
from remedy.unit.types import FileEdit

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: ioctl_iflags(2): FS_IOC_GETFLAGS on 64-bit, FS_IMMUTABLE_FL | FS_APPEND_FL.
_GETFLAGS, _FROZEN = 0x80086601, 0x10 | 0x20
#: Attributes that the kernel computes from the contents: they can't be copied.
_COMPUTED = frozenset({"security.ima", "security.evm"})
#: Free bytes and inodes that must remain beside the new contents.
_SPARE_BYTES, _SPARE_INODES = 1 << 20, 16


def sync_folder(path: Path) -> None:
    """fsync(2) a folder, so that the names in it are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_system(fd: int) -> None:
    """syncfs(2) the file system of an open file, for what others wrote there. Raises OSError."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).syncfs(fd) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def sync_systems(paths: Iterable[str]) -> None:
    """The same for each file system that one of these folders, of root's, lies on."""
    seen: set[int] = set()
    for path in filter(os.path.isdir, paths):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            device = os.fstat(fd).st_dev
            if device not in seen:
                sync_system(fd)
            seen.add(device)
        finally:
            os.close(fd)


def write_new(path: Path, data: bytes) -> None:
    """Create a file that root alone can read, with its bytes on the disk. The folder is the caller's to sync."""
    fd = os.open(path, _CREATE, 0o600)
    try:
        _write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


def put(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put a whole file of root's in a path's place, on the disk with its folder: a crash leaves the old one or the new
    one. Raises OSError."""
    new = path.with_name(f".{path.name}.remedy")
    new.unlink(missing_ok=True)
    write_new(new, data)
    new.chmod(mode)
    new.rename(path)
    sync_folder(path.parent)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read_at(folder: Folder, name: str) -> bytes | None:
    """The bytes of a regular file; None where there is none. Raises Refused for anything else."""
    try:
        fd = os.open(name, _READ, dir_fd=folder.fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused(f"{name} has become a symlink") from error
        raise
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Refused(f"{name} is no regular file")
        return file.read()


def _tag(transaction: str, name: str, kind: str) -> str:
    """A hidden neighbour's name: the same after a crash, different for every transaction."""
    short = hashlib.sha256(transaction.encode()).hexdigest()[:12]
    return f".{name[:200]}.remedy-{short}.{kind}"


def look(edit: FileEdit, backups: Path, number: int) -> FileBefore:
    """Copy a file aside before it is changed. Refused where it is not as the plan saw it, or can't be changed."""
    new_parents = _missing_parents(edit.path)
    anchor = os.path.join(os.path.dirname(new_parents[0]), "x") if new_parents else edit.path
    with folder_of(anchor) as (folder, name):
        room = os.fstatvfs(folder.fd)
        data = None if new_parents else _read_at(folder, name)
        if data != edit.before:
            raise Refused(
                f"{edit.path} has changed since the plan was made", hint="nothing was touched; run remedy fix again"
            )
        _check_room(edit, room)
        if data is None:
            return FileBefore(edit.path, None, new_parents=new_parents)
        found, attributes = _metadata(folder, name, edit.path)
        if folder.owner not in (0, found.st_uid):
            raise Refused(f"{edit.path}: the folder belongs to uid {folder.owner}, the file to uid {found.st_uid}")
    backup = f"{number}"
    if not (backups / backup).exists():
        write_new(backups / backup, data)
        sync_folder(backups)
    mode = stat.S_IMODE(found.st_mode)
    return FileBefore(
        *(edit.path, backup, mode, found.st_uid, found.st_gid, found.st_atime_ns, found.st_mtime_ns, attributes)
    )


def _missing_parents(path: str) -> tuple[str, ...]:
    missing: list[str] = []
    parent = os.path.dirname(path)
    while not os.path.isdir(parent):
        missing.insert(0, parent)
        parent = os.path.dirname(parent)
    return tuple(missing)


def _check_room(edit: FileEdit, room: os.statvfs_result) -> None:
    if room.f_flag & os.ST_RDONLY:
        raise Refused(f"{edit.path}: the file system is mounted read-only")
    if room.f_bavail * room.f_frsize < len(edit.after) + _SPARE_BYTES:
        raise Refused(f"{edit.path}: no space is left on its file system")
    if room.f_files and room.f_favail < _SPARE_INODES:
        raise Refused(f"{edit.path}: no inodes are left on its file system")


def _metadata(folder: Folder, name: str, path: str) -> tuple[os.stat_result, tuple[tuple[str, bytes], ...]]:
    fd = os.open(name, _READ, dir_fd=folder.fd)
    try:
        if _flags(fd) & _FROZEN:
            hint = f"chattr -i -a {shlex.quote(path)}"
            raise Refused(f"{path} is immutable or append-only (lsattr shows it)", hint=hint)
        names = [one for one in os.listxattr(fd) if one not in _COMPUTED]
        return os.fstat(fd), tuple((one, os.getxattr(fd, one)) for one in sorted(names))
    finally:
        os.close(fd)


def _flags(fd: int) -> int:
    import fcntl

    try:
        return int(struct.unpack("l", fcntl.ioctl(fd, _GETFLAGS, struct.pack("l", 0)))[0])
    except OSError:
        return 0


def replace(edit: FileEdit, before: FileBefore, transaction: str) -> None:
    """Put the new bytes in place, in one step that a crash can't halve. The old file is kept as a hidden neighbour:
    the way back needs no space on the disk. Refused where someone else changed the file meanwhile."""
    with folder_of(edit.path, make=True) as (folder, name):
        new, kept = _tag(transaction, name, "new"), _tag(transaction, name, "was")
        current = _read_at(folder, name)
        if current == edit.after:
            return
        if current != edit.before:
            raise Refused(f"{edit.path} was changed by someone else just now; their version stays")
        _unlink(folder, new)
        if before.backup is None:
            _create(folder, new, edit.after, FileBefore(edit.path, None, mode=edit.mode))
        else:
            _create(folder, new, edit.after, before)
            if lstat_at(folder, kept) is None:
                os.link(name, kept, src_dir_fd=folder.fd, dst_dir_fd=folder.fd, follow_symlinks=False)
        os.rename(new, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        os.fsync(folder.fd)


def _create(folder: Folder, name: str, data: bytes, like: FileBefore, times: bool = False) -> None:
    fd = os.open(name, _CREATE, 0o600, dir_fd=folder.fd)
    try:
        _write_all(fd, data)
        own = os.fstat(fd)
        if (own.st_uid, own.st_gid) != (like.uid, like.gid):
            os.fchown(fd, like.uid, like.gid)
        os.fchmod(fd, like.mode)
        for attribute, value in like.xattrs:
            os.setxattr(fd, attribute, value)
        if times:
            os.utime(fd, ns=(like.atime_ns, like.mtime_ns))
        os.fsync(fd)
    finally:
        os.close(fd)


def restore(edit: FileEdit, before: FileBefore, backups: Path, transaction: str) -> tuple[str, ...]:
    """Put a file back; may be done twice. What someone else changed since is left alone and reported."""
    if before.new_parents and not os.path.isdir(os.path.dirname(edit.path)):
        _remove_parents(before)
        return ()
    with folder_of(edit.path) as (folder, name):
        new, kept = _tag(transaction, name, "new"), _tag(transaction, name, "was")
        current = _read_at(folder, name)
        _unlink(folder, new)
        if current not in (edit.before, edit.after):
            _unlink(folder, kept)
            return (_conflict(edit, before, backups),)
        if before.backup is None:
            _unlink(folder, name)
        elif lstat_at(folder, kept) is not None:
            os.rename(kept, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
            # rename(2) does nothing where both names are one file: a crash came before the new one took its place.
            _unlink(folder, kept)
        elif current != edit.before or _differs(folder, name, before):
            _create(folder, new, edit.before or b"", before, times=True)
            os.rename(new, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        os.fsync(folder.fd)
    _remove_parents(before)
    return ()


def _differs(folder: Folder, name: str, before: FileBefore) -> bool:
    found, attributes = _metadata(folder, name, before.path)
    now = (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns, attributes)
    return now != (before.mode, before.uid, before.gid, before.mtime_ns, before.xattrs)


def conflict(edit: FileEdit, before: FileBefore, backups: Path) -> tuple[str, ...]:
    """What to do where someone else has changed the file since; empty where it can be put back."""
    if before.new_parents and not os.path.isdir(os.path.dirname(edit.path)):
        return ()
    with folder_of(edit.path) as (folder, name):
        current = _read_at(folder, name)
    return () if current in (edit.before, edit.after) else (_conflict(edit, before, backups),)


def _conflict(edit: FileEdit, before: FileBefore, backups: Path) -> str:
    path = shlex.quote(edit.path)
    if before.backup is None:
        return f"{edit.path} was changed by someone else since; if it is not wanted: rm {path}"
    return (
        f"{edit.path} was changed by someone else since and is left alone; the version from before: "
        f"cp {shlex.quote(str(backups / before.backup))} {path} && chmod {before.mode:o} {path} && "
        f"chown {before.uid}:{before.gid} {path} && systemctl daemon-reload"
    )


def _remove_parents(before: FileBefore) -> None:
    for parent in reversed(before.new_parents):
        # Not empty: someone else has put something there since, and it stays.
        with contextlib.suppress(OSError), folder_of(parent) as (folder, name):
            os.rmdir(name, dir_fd=folder.fd)
            os.fsync(folder.fd)


def _unlink(folder: Folder, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder.fd)


def forget(edit: FileEdit, transaction: str) -> None:
    """Remove the hidden neighbours once the change is kept."""
    with folder_of(edit.path) as (folder, name):
        for kind in ("new", "was"):
            _unlink(folder, _tag(transaction, name, kind))
        os.fsync(folder.fd)


def replaced(edit: FileEdit) -> bool:
    """Whether the new bytes are in place."""
    try:
        with folder_of(edit.path) as (folder, name):
            return _read_at(folder, name) == edit.after
    except (OSError, RemedyError):
        return False
