"""Whether a program may be run with our rights: nobody else must be able to change what would run."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.facts.accounts import account_of, members
from remedy.facts.files import Files
from remedy.view import Stat

_GROUP_WRITE = 0o020
_OTHER_WRITE = 0o002
_STICKY = 0o1000
_MAX_INTERPRETERS = 4


def distrusted(view: Files, program: str, euid: int) -> str | None:
    """Why an absolute program path must not run with the rights of ``euid``; None where it may.

    Only root and ``euid`` itself may be able to write the file, any folder or symlink on the way to it, or the
    interpreter that its first line names.
    """
    for _ in range(_MAX_INTERPRETERS):
        for path in _way(view, program):
            found = view.lstat(path)
            if found is None:
                return f"{path} can't be seen"
            why = _writer(view, path, found, euid)
            if why:
                return why
        interpreter = _interpreter(view, program)
        # One that is not there runs nothing.
        if interpreter is None or view.lstat(interpreter) is None:
            return None
        program = interpreter
    return f"{program}: too many interpreters"


def _way(view: Files, program: str) -> Iterator[str]:
    """Every path that a lookup passes: folders and symlinks as written, and those they lead to."""
    seen: set[str] = set()
    pending = [program]
    while pending:
        path = pending.pop()
        while path not in seen:
            seen.add(path)
            yield path
            found = view.lstat(path)
            if found is not None and found.kind == "symlink":
                target = posixpath.join(posixpath.dirname(path), view.readlink(path))
                pending += [target, view.realpath(path)]
            path = posixpath.dirname(path)


def _writer(view: Files, path: str, found: Stat, euid: int) -> str | None:
    if found.uid not in (0, euid):
        return f"{path} belongs to uid {found.uid}"
    if found.kind == "symlink" or (found.kind == "directory" and found.mode & _STICKY):
        # A symlink has no mode of its own; in a sticky folder only owners rename and delete.
        return None
    if found.mode & _OTHER_WRITE:
        return f"{path} is writable by everyone"
    if found.mode & _GROUP_WRITE and found.gid != 0:
        others = sorted(name for name in members(view, found.gid) if _uid(view, name) not in (0, euid))
        if others:
            return f"{path} is writable by {', '.join(others[:3])}"
    return None


def _uid(view: Files, name: str) -> int:
    found = account_of(view, name)
    return found.uid if found else -1


def _interpreter(view: Files, program: str) -> str | None:
    """What a script's ``#!`` line runs; None for anything else. ``env`` looks up on our own fixed PATH."""
    try:
        first, _, _ = view.read_range(program, 0, 256).partition(b"\n")
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    return words[0].decode(errors="replace") if words else None
