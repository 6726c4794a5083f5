"""Small values that systemd judges: variable names, assignments, enumerations, booleans."""

from __future__ import annotations

from collections.abc import Iterable

from remedy.unit.types import Setting
from remedy.unit.words import is_utf8

BOOLEANS = {
    "1": True, "yes": True, "y": True, "true": True, "t": True, "on": True,
    "0": False, "no": False, "n": False, "false": False, "f": False, "off": False,
}  # fmt: skip
#: sysconf(_SC_ARG_MAX) where the stack limit is the usual 8 MiB.
ARG_MAX = 2 * 1024 * 1024


def is_name(text: str) -> bool:
    """Whether systemd takes the name of a variable: letters, digits and ``_``, no digit first."""
    return text.isascii() and text.isidentifier() and len(text) <= ARG_MAX - 2


def is_assignment(text: str) -> bool:
    """Whether systemd takes an assignment: a good name, a value that is UTF-8 and fits."""
    name, sign, value = text.partition("=")
    return bool(sign) and is_name(name) and is_utf8(value) and len(text) <= ARG_MAX - 3


def last_of(settings: Iterable[Setting], section: str, name: str, allowed: Iterable[str]) -> str | None:
    """The last value of an enumeration that is one; bad ones are passed over, as systemd does with a warning."""
    known = frozenset(allowed)
    found = None
    for setting in settings:
        if setting.name == name and setting.section == section and setting.value in known:
            found = setting.value
    return found


def flag(settings: Iterable[Setting], section: str, name: str, default: bool = False) -> bool:
    """The last value of a boolean that is one."""
    found = default
    for setting in settings:
        if setting.name == name and setting.section == section:
            found = BOOLEANS.get(setting.value.lower(), found)
    return found
