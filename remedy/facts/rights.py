"""What a user may do with a file by owner, groups and mode: path_resolution(7), inode(7). ACLs are not looked at."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.facts.accounts import Account
from remedy.view import Stat, View


def may_write(found: Stat, account: Account) -> bool:
    """Whether a user may make files in a folder."""
    return allowed(found, account, 0o3)


def allowed(found: Stat, account: Account, bits: int) -> bool:
    """Whether a user has all of these rights (4 read, 2 write, 1 execute or enter); root has."""
    if account.uid == 0:
        return True
    if found.uid == account.uid:
        shift = 6
    elif found.gid in account.groups:
        shift = 3
    else:
        shift = 0
    return (found.mode >> shift) & bits == bits


def barred(view: View, path: str, account: Account) -> str | None:
    """The folder on the way to a path that a user can't enter, and why; None where the way is free."""
    for parent in _parents(path):
        above = view.stat(parent)
        if above is not None and not allowed(above, account, 0o1):
            return f"{parent} can't be entered by {account.name} (owner {above.uid}, mode {above.mode:04o})"
    return None


def _parents(path: str) -> Iterator[str]:
    while path != "/":
        path = posixpath.dirname(path)
        yield path
