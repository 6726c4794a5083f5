"""Stale cache entries moved aside within their folder, and back; deleted once the service is healthy.

A rename, whatever the size. The folders belong to the service's user, so all is done with that user's rights
(remedy.change.paths): a folder or link swapped in the middle can only mislead the user to the user's own files.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat

from remedy.change.files import sync_system
from remedy.change.paths import Folder, as_root, folder_of, lstat_at
from remedy.change.types import CacheBefore
from remedy.errors import Refused, RemedyError

_DEEPEST = 100


def look(path: str, transaction: str, number: int) -> CacheBefore:
    """Note what stands at a path, and choose the hidden name beside it. Refused for what can't be moved."""
    aside = f".remedy-{transaction[:150]}-{number}"
    try:
        with folder_of(path) as (folder, name):
            found = lstat_at(folder, name)
            if found is None:
                return CacheBefore(path, False, aside)
            if os.fstatvfs(folder.fd).f_flag & os.ST_RDONLY:
                raise Refused(f"{path}: the file system is mounted read-only")
            # Of folders only: overlayfs gives files the device of the layer that they lie in.
            if stat.S_ISDIR(found.st_mode) and found.st_dev != os.fstat(folder.fd).st_dev:
                raise Refused(
                    f"{path} is a mount point: it can't be moved aside", hint=f"umount {shlex.quote(path)}, or empty it"
                )
            if not _may_rename(folder, found):
                raise Refused(f"{path}: uid {folder.owner} owns the cache but may not move this entry")
            return CacheBefore(path, True, aside, found.st_dev, found.st_ino)
    except FileNotFoundError:
        return CacheBefore(path, False, aside)


def _may_rename(folder: Folder, entry: os.stat_result) -> bool:
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder.fd, effective_ids=True):
        return False
    here = os.fstat(folder.fd)
    return not here.st_mode & stat.S_ISVTX or folder.owner in (0, entry.st_uid, here.st_uid)


def move(before: CacheBefore) -> None:
    """Move the entry aside; nothing where that was done already. Refused where another entry has taken its place."""
    if not before.existed:
        return
    with folder_of(before.path) as (folder, name):
        if lstat_at(folder, before.aside) is not None:
            return
        found = lstat_at(folder, name)
        if found is None or (found.st_dev, found.st_ino) != (before.device, before.inode):
            raise Refused(f"{before.path} was replaced by someone else just now; it is left alone")
        os.rename(name, before.aside, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        os.fsync(folder.fd)


def moved(before: CacheBefore) -> bool:
    """Whether the entry is aside, or there was none."""
    if not before.existed:
        return True
    try:
        with folder_of(before.path) as (folder, _):
            return lstat_at(folder, before.aside) is not None
    except (OSError, RemedyError):
        return False


def restore(before: CacheBefore) -> tuple[str, ...]:
    """Move the entry back; what was built in its place meanwhile is deleted. May be done twice."""
    try:
        with folder_of(before.path) as (folder, name):
            rebuilt = before.aside + "-new"
            now = lstat_at(folder, name)
            aside = before.aside if lstat_at(folder, before.aside) is not None else None
            is_old = now is not None and (now.st_dev, now.st_ino) == (before.device, before.inode)
            if now is not None and not is_old and (aside or not before.existed):
                remove(folder, rebuilt)
                os.rename(name, rebuilt, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
            if aside is not None and not is_old:
                os.rename(aside, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
            os.fsync(folder.fd)
            remove(folder, rebuilt)
            os.fsync(folder.fd)
            return _missing(before, folder, name)
    except FileNotFoundError:
        return () if not before.existed else (f"{before.path} is gone: its folder was removed by someone else",)


def _missing(before: CacheBefore, folder: Folder, name: str) -> tuple[str, ...]:
    if before.existed and lstat_at(folder, name) is None:
        return (f"{before.path} is gone: it was removed by someone else; it is built again at the next start",)
    return ()


def forget(before: CacheBefore) -> tuple[str, ...]:
    """Delete what was moved aside; what can't be deleted is reported with the command for it."""
    beside = os.path.join(os.path.dirname(before.path), before.aside)
    try:
        with folder_of(before.path) as (folder, _):
            if lstat_at(folder, before.aside) is None:
                return ()
            # The old entry goes when the new one, which the service has built in its place, can no longer be lost.
            sync_system(folder.fd)
            remove(folder, before.aside)
            os.fsync(folder.fd)
    except FileNotFoundError:
        pass
    except OSError as error:
        return (f"{beside} could not be deleted ({error.strerror}): rm -r {shlex.quote(beside)}",)
    return ()


def remove(folder: Folder, name: str) -> None:
    """Delete a file or a tree with the folder's owner's rights, and as root what root's own service built there."""
    if lstat_at(folder, name) is None:
        return
    device = os.fstat(folder.fd).st_dev
    try:
        _remove_tree(folder.fd, name, device)
    except PermissionError:
        with as_root():
            _remove_tree(folder.fd, name, device)


def _remove_tree(parent: int, name: str, device: int, depth: int = 0) -> None:
    """Never through a symlink, never onto another file system, never deeper than a cache can be."""
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        os.unlink(name, dir_fd=parent)
        return
    if found.st_dev != device or depth > _DEEPEST:
        raise OSError(errno.EXDEV, "a mount point or too many folders in it", name)
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        for one in os.listdir(fd):
            _remove_tree(fd, one, device, depth + 1)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent)
