"""Whether root could write a file where it lies, told without writing."""

from __future__ import annotations

import os
import posixpath
import struct

# linux/fs.h: FS_IOC_GETFLAGS (as on 64-bit machines), FS_IMMUTABLE_FL and FS_APPEND_FL; ioctl_iflags(2).
_GET_FLAGS = 0x80086601
_FROZEN = 0x10 | 0x20


def writable(path: str) -> bool:
    """False where the file system is mounted read-only, or the file or its folder is immutable (chattr(1))."""
    here = path
    while not os.path.lexists(here) and here != "/":
        here = posixpath.dirname(here)
    try:
        if os.statvfs(here).f_flag & os.ST_RDONLY:
            return False
    except OSError:
        return True
    folder = here if os.path.isdir(here) else posixpath.dirname(here)
    return not (_frozen(here) or _frozen(folder))


def _frozen(path: str) -> bool:
    """Whether chattr's ``i`` or ``a`` is set; a file system that knows no such flags has none set."""
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        answer = fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return bool(struct.unpack("=I", answer[:4])[0] & _FROZEN)
