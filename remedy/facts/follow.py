"""Who else decides where a path leads: what root reads must not be chosen by someone who may not read it."""

from __future__ import annotations

import os
import posixpath
import stat as st
from collections.abc import Callable

from remedy.value import dataclass
from remedy.view import Stat

#: Someone who can't be named: a folder that others may write.
ANYONE = -1
_MAX_STEPS = 400
_OTHER_READ = 0o004
_OTHER_SEARCH = 0o001


@dataclass(frozen=True)
class Lead:
    """Who leads, and to where the path goes if no link of theirs is on it."""

    uid: int
    straight: str


def lead_of(path: str, lstat: Callable[[str], Stat | None], readlink: Callable[[str], str]) -> Lead | None:
    """The first one but root who can change where a path leads; None where only root can.

    Every folder and symlink that the lookup passes counts, and the file itself. In a sticky folder only the owner of
    an entry can exchange it.
    """
    pending = path.split("/")[::-1]
    done = ""
    for _ in range(_MAX_STEPS):
        if not pending:
            return None
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{part}"
        found = lstat(here)
        if found is None:
            return None
        if found.uid != 0:
            return _lead(found.uid, here, pending)
        if found.kind == "symlink":
            target = readlink(here)
            pending += target.split("/")[::-1]
            done = "" if target.startswith("/") else done
            continue
        if found.kind == "directory" and _shared(found):
            return _lead(ANYONE, here, pending)
        done = here
    return Lead(ANYONE, "")


def may_read(opened: int, lead: Lead, root: str) -> bool:
    """Whether one who led us to an open file may have it read: it lies where the path says, or they could read it.

    ``root`` is the folder from which on the way to the file counts. Asked of the descriptor, so that no exchange of
    names comes between. Nobody can lay another's file straight into a folder of theirs: fs.protected_hardlinks.
    """
    real = os.readlink(f"/proc/self/fd/{opened}")
    found = os.fstat(opened)
    if real == root + lead.straight or found.st_uid == lead.uid:
        return True
    if not found.st_mode & _OTHER_READ:
        return False
    folder = posixpath.dirname(real)
    while len(folder) > max(len(root), 1):
        if not os.stat(folder).st_mode & _OTHER_SEARCH:
            return False
        folder = posixpath.dirname(folder)
    return True


def _lead(uid: int, here: str, pending: list[str]) -> Lead:
    return Lead(uid, posixpath.normpath("/".join((here, *reversed(pending)))))


def _shared(folder: Stat) -> bool:
    """Others than root may make and exchange entries. Group root has no other members on any system."""
    if folder.mode & st.S_ISVTX:
        return False
    return bool(folder.mode & 0o002) or bool(folder.mode & 0o020 and folder.gid != 0)
