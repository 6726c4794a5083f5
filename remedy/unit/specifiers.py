"""Specifiers (%i, %h, …): systemd.unit(5), "Specifiers"; src/core/unit-printf.c and src/shared/specifier.c."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from remedy.pattern import pattern
from remedy.unit import names
from remedy.unit.paths import runtime_directory
from remedy.unit.types import Manager
from remedy.value import dataclass
from remedy.view import View

_SPECIFIER = pattern(r"%([0-9A-Za-z%])")
#: The version that each of these came with; all others are older than 247.
_SINCE = {"A": 249, "M": 249, "d": 251, "q": 251, "y": 251, "Y": 251, "D": 256}
_OS_RELEASE = {
    "o": "ID", "w": "VERSION_ID", "B": "BUILD_ID", "W": "VARIANT_ID", "M": "IMAGE_ID", "A": "IMAGE_VERSION",
}  # fmt: skip


class BadSpecifier(ValueError):
    """A specifier that does not exist, or that has no value here."""


@dataclass(frozen=True)
class Subject:
    """What specifiers speak of: the unit's name, its fragment, and the manager that loads it."""

    unit: str
    fragment: str
    manager: Manager
    view: View

    def expand(self, text: str) -> str:
        """The text with specifiers replaced; ``%%`` is ``%``. Raises BadSpecifier, which ignores the whole word."""
        if "%" not in text:
            return text
        return _SPECIFIER.sub(lambda match: self._value(match.group(1)), text)

    def _value(self, letter: str) -> str:
        if letter == "%":
            return "%"
        find = _UNIT.get(letter) or _MANAGER.get(letter)
        manager = self.manager
        if letter in _OS_RELEASE and manager.version >= _SINCE.get(letter, 0):
            if manager.os_release is None:
                raise BadSpecifier(f"%{letter} has no value: there is no os-release file")
            return manager.os_release.get(_OS_RELEASE[letter], "")
        if find is None or manager.version < _SINCE.get(letter, 0):
            raise BadSpecifier(f"systemd {manager.version} knows no specifier %{letter}")
        value = find(self)
        if value is None:
            raise BadSpecifier(f"%{letter} has no value for {self.unit}")
        return value


def _last_component(subject: Subject) -> str:
    return names.prefix_of(subject.unit).rpartition("-")[2]


def _path(subject: Subject) -> str | None:
    instance = names.instance_of(subject.unit)
    return names.unescape_path(instance or names.prefix_of(subject.unit))


def _base(xdg: str, below_home: str, system: str) -> Callable[[Subject], str]:
    def find(subject: Subject) -> str:
        manager = subject.manager
        if not manager.user:
            return system
        return manager.environment.get(xdg) or f"{manager.home}/{below_home}"

    return find


def state_directory(manager: Manager) -> str:
    """%S: the state of user managers moved from ~/.config to ~/.local/state with 254."""
    if not manager.user:
        return "/var/lib"
    if manager.version < 254:
        return manager.environment.get("XDG_CONFIG_HOME") or f"{manager.home}/.config"
    return manager.environment.get("XDG_STATE_HOME") or f"{manager.home}/.local/state"


def logs_directory(manager: Manager) -> str:
    """%L."""
    return f"{state_directory(manager)}/log" if manager.user else "/var/log"


def _temporary(fallback: str) -> Callable[[Subject], str]:
    def find(subject: Subject) -> str:
        env = subject.manager.process_environment
        return next((env[name] for name in ("TMPDIR", "TEMP", "TMP") if env.get(name, "").startswith("/")), fallback)

    return find


def _boot_id(subject: Subject) -> str | None:
    return subject.manager.boot_id or None


def _short_hostname(subject: Subject) -> str:
    return subject.manager.hostname.partition(".")[0]


_UNIT: dict[str, Callable[[Subject], str | None]] = {
    "n": lambda subject: subject.unit,
    "N": lambda subject: subject.unit.rpartition(".")[0],
    "p": lambda subject: names.prefix_of(subject.unit),
    "P": lambda subject: names.unescape(names.prefix_of(subject.unit)),
    "i": lambda subject: names.instance_of(subject.unit),
    "I": lambda subject: names.unescape(names.instance_of(subject.unit)),
    "j": _last_component,
    "J": lambda subject: names.unescape(_last_component(subject)),
    "f": _path,
    "y": lambda subject: subject.view.realpath(subject.fragment),
    "Y": lambda subject: posixpath.dirname(subject.view.realpath(subject.fragment)),
    # Deprecated since 2018. Slice= is not yet known where they are replaced, so only the root is left of the path.
    "c": lambda subject: f"/{subject.unit}",
    "r": lambda _: "",
    "R": lambda _: "",
}
_MANAGER: dict[str, Callable[[Subject], str | None]] = {
    "a": lambda subject: subject.manager.architecture,
    "b": _boot_id,
    "C": _base("XDG_CACHE_HOME", ".cache", "/var/cache"),
    "d": lambda subject: f"{runtime_directory(subject.manager)}/credentials/{subject.unit}",
    "D": _base("XDG_DATA_HOME", ".local/share", "/usr/share"),
    "E": _base("XDG_CONFIG_HOME", ".config", "/etc"),
    "g": lambda subject: subject.manager.group_name,
    "G": lambda subject: str(subject.manager.gid),
    "h": lambda subject: subject.manager.home,
    "H": lambda subject: subject.manager.hostname,
    "l": _short_hostname,
    "L": lambda subject: logs_directory(subject.manager),
    "m": lambda subject: subject.manager.machine_id or None,
    "q": lambda subject: subject.manager.pretty_hostname or _short_hostname(subject),
    "s": lambda subject: subject.manager.shell,
    "S": lambda subject: state_directory(subject.manager),
    "t": lambda subject: runtime_directory(subject.manager),
    "T": _temporary("/tmp"),
    "u": lambda subject: subject.manager.user_name,
    "U": lambda subject: str(subject.manager.uid),
    "v": lambda subject: subject.manager.kernel_release or None,
    "V": _temporary("/var/tmp"),
}
