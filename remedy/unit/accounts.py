"""The login variables of User=: get_user_creds() of systemd's src/basic/user-util.c, reading passwd(5)."""

from __future__ import annotations

from remedy.unit.paths import is_valid
from remedy.unit.words import is_utf8
from remedy.value import dataclass
from remedy.view import View

_NO_LOGIN = frozenset(
    f"{directory}/{name}" for directory in ("/bin", "/sbin", "/usr/bin", "/usr/sbin") for name in ("nologin",)
) | {"/bin/false", "/usr/bin/false", "/bin/true", "/usr/bin/true"}
_UID_LIMIT = 0xFFFFFFFF


@dataclass(frozen=True)
class Login:
    """What systemd knows of a user: ``home`` and ``shell`` are None where they tell nothing (/, nologin)."""

    name: str
    home: str | None
    shell: str | None


def login_of(view: View, user: str, root_shell: str, *, look_up: bool = False) -> Login | None:
    """The user by name or number; None where passwd does not have it.

    root and nobody are known without passwd, which is asked for them only if ``look_up`` is set.
    """
    known = None
    if user in ("root", "0"):
        known = Login("root", "/root", root_shell)
    elif user in ("nobody", "65534"):
        known = Login("nobody", None, None)
    return known if known is not None and not look_up else _in_passwd(view, user) or known


def _in_passwd(view: View, user: str) -> Login | None:
    try:
        text = view.read("/etc/passwd").decode("utf-8", "surrogateescape")
    except OSError:
        return None
    uid = parse_uid(user)
    for line in text.split("\n"):
        fields = line.split(":")
        if len(fields) < 7 or (fields[0] != user if uid is None else parse_uid(fields[2]) != uid):
            continue
        return Login(fields[0], _path(fields[5], frozenset("/")), _path(fields[6], _NO_LOGIN))
    return None


def may_know_more(view: View) -> bool:
    """Whether nsswitch.conf(5) names sources of users that can't be read here: LDAP, SSSD, …"""
    try:
        text = view.read("/etc/nsswitch.conf").decode("utf-8", "replace")
    except OSError:
        return False
    for line in text.split("\n"):
        name, colon, sources = line.partition("#")[0].partition(":")
        if colon and name.strip() == "passwd":
            return bool(set(sources.split()) - {"files", "compat", "systemd", "db"})
    return False


def is_valid_name(name: str) -> bool:
    """Whether User= and Group= take the name (valid_user_group_name(), relaxed, numbers allowed)."""
    if parse_uid(name) is not None:
        return True
    if not name or name[0] == " " or name[-1] == " " or name in (".", "..") or not is_utf8(name):
        return False
    if any(char < " " or char in ":/\x7f" for char in name):
        return False
    return not set(name.removeprefix("-")) <= set("0123456789")


def is_strict_name(name: str) -> bool:
    """Whether DynamicUser= can take the unit's name for the user's."""
    first = name[:1]
    if not name.isascii() or not (first.isalpha() or first == "_") or len(name) > 31:
        return False
    return all(char.isalnum() or char in "_-" for char in name)


def parse_uid(text: str) -> int | None:
    """A uid as parse_uid() takes it: decimal, without sign or leading zeros, no reserved value; None otherwise."""
    if not text.isascii() or not text.isdecimal() or (text != "0" and text[0] == "0"):
        return None
    uid = int(text) if len(text) <= 10 else _UID_LIMIT
    return None if uid >= _UID_LIMIT or uid == 0xFFFF else uid


def _path(path: str, nothing: frozenset[str]) -> str | None:
    if not path.startswith("/") or not is_valid(path) or path in nothing:
        return None
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
