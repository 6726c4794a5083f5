"""Users and groups: passwd(5) and group(5), read through the view."""

from __future__ import annotations

from collections.abc import Iterator

from remedy.hints import TYPE_CHECKING
from remedy.value import dataclass, replace
from remedy.view import View

if TYPE_CHECKING:
    from remedy.unit.types import Service


@dataclass(frozen=True)
class Account:
    """A user as a process of theirs has it: ``groups`` are all gids, the primary one first."""

    name: str
    uid: int
    gid: int
    home: str
    groups: tuple[int, ...]


#: The uid and gid of a user who is not there yet: nobody else's.
NEW_ID = -1
ROOT = Account("root", 0, 0, "/root", (0,))


def account_of(view: View, user: str | None) -> Account | None:
    """The account of a name or numeric uid (``User=`` takes both), root for None; None where it is unknown.

    Only /etc/passwd is read: users of other NSS services (LDAP, systemd-userdb) are unknown here.
    """
    wanted = "root" if user is None else user
    for fields in _records(view, "/etc/passwd", 7):
        if wanted == fields[0] or (wanted.isdecimal() and wanted == fields[2]):
            uid, gid = int(fields[2]), int(fields[3])
            return Account(fields[0], uid, gid, fields[5] or "/", groups_of(view, fields[0], gid))
    return ROOT if wanted in ("root", "0") else None


def account_of_service(view: View, service: Service) -> Account | None:
    """The user of a service with the groups that its Group= and SupplementaryGroups= give: systemd.exec(5).

    A user manager's service runs as the manager's own user, whom its environment names. None for an unknown user.
    """
    account = _dynamic(view, service)
    if account is None:
        account = account_of(view, service.user or (_named(service) if service.user_manager else None))
    if account is None:
        return None
    named = [service.group] if service.group else []
    more = [name for setting in service.values("Service", "SupplementaryGroups") for name in setting.value.split()]
    gids = [gid for gid in (group_id(view, name) for name in (*named, *more)) if gid is not None]
    gid = gids[0] if named and gids else account.gid
    return replace(account, gid=gid, groups=tuple(dict.fromkeys((gid, *account.groups, *gids))))


def _named(service: Service) -> str | None:
    return service.variables().get("USER")


def _dynamic(view: View, service: Service) -> Account | None:
    """The user that DynamicUser= makes at each start: a new number, no group of others, ``/`` for a home.

    A user of that name who is there already is taken instead.
    """
    from remedy.unit.names import prefix_of
    from remedy.unit.values import flag

    if service.user_manager or not flag(service.settings, "Service", "DynamicUser"):
        return None
    name = service.user or _named(service) or prefix_of(service.name)
    return account_of(view, name) or Account(name, NEW_ID, NEW_ID, "/", (NEW_ID,))


def groups_of(view: View, name: str, gid: int) -> tuple[int, ...]:
    """The gids of a user: the primary one, then those whose member list in /etc/group names the user."""
    more = (int(fields[2]) for fields in _records(view, "/etc/group", 4) if name in fields[3].split(","))
    return tuple(dict.fromkeys((gid, *more)))


def group_id(view: View, name: str) -> int | None:
    """The gid of a group name or numeric gid; None where it is unknown."""
    if name.isdecimal():
        return int(name)
    return next((int(fields[2]) for fields in _records(view, "/etc/group", 4) if fields[0] == name), None)


def members(view: View, gid: int) -> frozenset[str]:
    """The users that have a gid as their primary group or are listed as its members."""
    primary = {fields[0] for fields in _records(view, "/etc/passwd", 7) if fields[3] == str(gid)}
    listed = [fields[3] for fields in _records(view, "/etc/group", 4) if fields[2] == str(gid)]
    return frozenset(primary.union(*(names.split(",") for names in listed))) - {""}


def _records(view: View, path: str, count: int) -> Iterator[list[str]]:
    """The well-formed lines of a colon-separated account file."""
    try:
        text = view.read(path).decode(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) == count and fields[2].isdecimal() and (count == 4 or fields[3].isdecimal()):
            yield fields
