"""Where a unit's own sandbox lets it write: systemd.exec(5), "Sandboxing", and the folders that systemd gives it.

Which of several settings decides on a path is what systemd's src/core/namespace.c makes of them: the one that names
the longest path, and of two that name the same one the stricter.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from remedy.facts.accounts import Account
from remedy.hints import Final, Literal
from remedy.unit.specifiers import BadSpecifier, Subject
from remedy.unit.types import Manager, Service
from remedy.unit.values import BOOLEANS, flag
from remedy.unit.words import split
from remedy.value import dataclass
from remedy.view import View

#: ``own``: systemd makes it and gives it to the service's user; ``private``: new at each start, anyone may write;
#: ``empty``: new at each start, and root's; ``bind``: another folder stands there. Stricter ones first.
Kind = Literal["hidden", "bind", "private", "read-only", "own", "writable", "empty"]
_ORDER: Final[tuple[Kind, ...]] = ("hidden", "bind", "private", "read-only", "own", "writable", "empty")

#: Where RuntimeDirectory= and its kin lie, for the system's manager.
_GIVEN: Final = {
    "RuntimeDirectory": "/run",
    "StateDirectory": "/var/lib",
    "CacheDirectory": "/var/cache",
    "LogsDirectory": "/var/log",
}
_SYSTEM: Final = ("/usr", "/boot", "/efi")
_HOMES: Final = ("/home", "/root", "/run/user")
# ProtectSystem=strict leaves these to PrivateDevices= and its kin.
_KERNEL: Final = ("/proc", "/sys", "/dev")
_OWNERS_MODE: Final = 0o755


@dataclass(frozen=True)
class Rule:
    """What holds at a path and below. ``source`` is what is bound there, ``mode`` that of an ``empty`` folder."""

    path: str
    kind: Kind
    setting: str
    source: str = ""
    mode: int = _OWNERS_MODE


@dataclass(frozen=True)
class Sandbox:
    """The rules of a unit. All paths are asked for as they stand after symlinks."""

    rules: tuple[Rule, ...] = ()

    def rule(self, path: str) -> Rule | None:
        """The rule for a path; None where the unit says nothing of it."""
        around = [rule for rule in self.rules if f"{path}/".startswith(f"{rule.path.rstrip('/')}/")]
        return min(around, key=lambda rule: (-len(rule.path), _ORDER.index(rule.kind)), default=None)

    def refusal(self, path: str, account: Account | None) -> str | None:
        """Why a user can't write at a path, beginning with the path; None where the sandbox does not forbid it."""
        rule = self.rule(path)
        if rule is None:
            return None
        if rule.kind == "empty":
            may = account is None or account.uid == 0 or rule.mode & 0o2
            return None if may else f"{path} is in an empty folder of root's ({rule.setting})"
        words = {"hidden": "hidden from the service", "read-only": "read-only for the service"}
        return f"{path} is {words[rule.kind]} ({rule.setting})" if rule.kind in words else None

    def gives(self, path: str) -> Rule | None:
        """The rule by which what the service finds at a path is its own, whatever stands there now."""
        rule = self.rule(path)
        return rule if rule and rule.kind in ("own", "private", "empty") else None

    def outside(self, path: str) -> str:
        """The path of the same file outside of the sandbox."""
        rule = self.rule(path)
        return path if rule is None or rule.kind != "bind" else rule.source + path[len(rule.path) :]


#: The unit says nothing, or its settings are not known.
NO_SANDBOX: Final = Sandbox()


def sandbox_of(service: Service, view: View) -> Sandbox:
    """The sandbox of a system service.

    A user manager's is left out, since it may lack the rights to set one up; so is one with a root of its own.
    """
    if service.user_manager or service.value("Service", "RootDirectory") or service.value("Service", "RootImage"):
        return NO_SANDBOX
    every = (*_protected(service), *_listed(service, view), *_mounted(service, view), *_given(service, view))
    return Sandbox(tuple(Rule(view.realpath(r.path), r.kind, r.setting, r.source, r.mode) for r in every))


def _word(service: Service, name: str) -> str:
    setting = service.value("Service", name)
    return setting.value.strip().lower() if setting else ""


def _protected(service: Service) -> Iterator[Rule]:
    """ProtectSystem=, ProtectHome= and PrivateTmp=, which DynamicUser= implies at the least."""
    dynamic = "DynamicUser=yes" if flag(service.settings, "Service", "DynamicUser") else ""
    system, home = _word(service, "ProtectSystem"), _word(service, "ProtectHome")
    if system == "strict" or dynamic:
        said = "ProtectSystem=strict" if system == "strict" else dynamic
        yield Rule("/", "read-only", said)
        # The homes are ProtectHome='s.
        yield from (Rule(path, "writable", said) for path in (*_KERNEL, *_HOMES))
    elif system == "full" or BOOLEANS.get(system):
        folders = (*_SYSTEM, "/etc") if system == "full" else _SYSTEM
        yield from (Rule(path, "read-only", f"ProtectSystem={system}") for path in folders)
    if BOOLEANS.get(home):
        yield from (Rule(path, "hidden", f"ProtectHome={home}") for path in _HOMES)
    elif home in ("read-only", "tmpfs") or dynamic:
        said = f"ProtectHome={home}" if home in ("read-only", "tmpfs") else dynamic
        yield from (Rule(path, "read-only", said) for path in _HOMES)
    private = _word(service, "PrivateTmp")
    if dynamic or BOOLEANS.get(private) or private == "disconnected":
        yield from (Rule(path, "private", "PrivateTmp=") for path in ("/tmp", "/var/tmp"))


def _listed(service: Service, view: View) -> Iterator[Rule]:
    """ReadWritePaths= and its kin; a ``-`` or ``+`` before a path is no part of it."""
    kinds: dict[str, Kind] = {"ReadWritePaths": "writable", "ReadOnlyPaths": "read-only", "InaccessiblePaths": "hidden"}
    for name, kind in kinds.items():
        for word in _words(service, view, name):
            path = posixpath.normpath(word.lstrip("-+"))
            yield Rule(path, kind, f"{name}={path}")


def _mounted(service: Service, view: View) -> Iterator[Rule]:
    """BindPaths=, BindReadOnlyPaths= and TemporaryFileSystem=."""
    kinds: dict[str, Kind] = {"BindPaths": "bind", "BindReadOnlyPaths": "read-only"}
    for name, kind in kinds.items():
        for word in _words(service, view, name):
            source, _, rest = word.lstrip("-").partition(":")
            path = rest.partition(":")[0] or source
            yield Rule(posixpath.normpath(path), kind, f"{name}={word}", source=posixpath.normpath(source))
    for word in _words(service, view, "TemporaryFileSystem"):
        path, _, options = word.partition(":")
        mode = re.search(r"\bmode=([0-7]+)", options)
        read_only: Kind = "read-only" if "ro" in options.split(",") else "empty"
        said = f"TemporaryFileSystem={word}"
        yield Rule(posixpath.normpath(path), read_only, said, mode=int(mode[1], 8) if mode else _OWNERS_MODE)


def _given(service: Service, view: View) -> Iterator[Rule]:
    """RuntimeDirectory=, StateDirectory=, CacheDirectory= and LogsDirectory=, with the links to them."""
    for name, base in _GIVEN.items():
        for word in _words(service, view, name):
            for path in filter(None, word.split(":")[:2]):
                yield Rule(posixpath.normpath(f"{base}/{path}"), "own", f"{name}={word}")


def _words(service: Service, view: View, name: str) -> Iterator[str]:
    """The words of a setting that names folders; one whose specifier has no value is left out, as systemd does."""
    # A system manager's own folders (%S, %C, …) are the same on every machine; the others speak of the unit.
    subject = Subject(service.name, service.fragment or "", Manager(255), view)
    for setting in service.values("Service", name):
        try:
            words = split(setting.value, escapes=False)
        except ValueError:
            continue
        for word, _ in words:
            try:
                yield subject.expand(word)
            except BadSpecifier:
                continue
