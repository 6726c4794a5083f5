"""What of an installation has to be undone: computed from dpkg's state before and after, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from remedy.change.types import Package, PackagesBefore
from remedy.value import dataclass

#: dpkg-query(1): one package a line.
FORMAT = r"${Package}:${Architecture}\t${Version}\t${db:Status-Abbrev}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")


@dataclass(frozen=True)
class Installed:
    """One package as dpkg has it: each clause of ``needs`` is a set of names of which one is enough."""

    package: Package
    needs: tuple[frozenset[str], ...] = ()
    provides: frozenset[str] = frozenset()

    @property
    def broken(self) -> bool:
        """Half-installed, unpacked but not configured, or with triggers that wait (dpkg(1), PACKAGE STATES)."""
        return self.package.status[1:2] not in ("i", "c", "n") or len(self.package.status.strip()) > 2


@dataclass(frozen=True)
class Undo:
    """Packages to purge, those to remove whose settings were there before, those to bring back to an older version, and
    those that stay, each with why."""

    purge: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    kept: tuple[tuple[str, str], ...] = ()


def parse(text: str, automatic: Iterable[str] = ()) -> dict[str, Installed]:
    """dpkg-query's answer in FORMAT, without packages that are only known by name; ``automatic`` are apt's marks."""
    marks = frozenset(automatic)
    found: dict[str, Installed] = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 5 or fields[2][1:2] == "n":
            continue
        name, version, status, depends, provides = fields
        plain = name.split(":")[0]
        package = Package(name, version, status.strip(), plain in marks or name in marks)
        clauses = (frozenset(_names(clause)) for clause in depends.split(","))
        needs = tuple(clause for clause in clauses if clause)
        found[name] = Installed(package, needs, frozenset(_names(provides.replace(",", "|"))))
    return found


def _names(clause: str) -> list[str]:
    return [match[0] for one in clause.split("|") if (match := _NAME.match(one.strip()))]


def base(name: str) -> str:
    """A package's name without its architecture."""
    return name.split(":")[0]


def undo(before: PackagesBefore, now: Mapping[str, Installed], requested: Iterable[str]) -> Undo:
    """What brings the touched packages back to what they were.

    A new package stays where an installed package that is not new needs it, or where someone has marked it as
    manually installed since. ``requested`` are those that remedy itself named to apt.
    """
    old = {package.name: package for package in before.packages if package.status[1:2] == "i"}
    settings = {package.name for package in before.packages} - old.keys()
    own = {base(name.split("=")[0]) for name in requested}
    touched = {name for name in now if base(name) in {base(one) for one in before.touched}}
    fresh = {name for name in touched if name not in old and not _only_settings(name, settings, now)}
    kept: dict[str, str] = {}
    for name in sorted(fresh):
        if base(name) not in own and not now[name].package.automatic and now[name].package.status == "ii":
            kept[name] = "it was marked as manually installed since"
    versions = {
        name: package.version
        for name, package in old.items()
        if name not in now or now[name].package.version != package.version
    }
    purge = fresh - kept.keys()
    while True:
        # What goes back to an older version lived without the new packages.
        leaving = purge | versions.keys()
        needed = {name: who for name in purge if (who := _needed_by(name, leaving, now))}
        if not needed:
            break
        kept |= {name: f"{base(who)} needs it" for name, who in needed.items()}
        purge -= needed.keys()
    remove, purge = purge & settings, purge - settings
    kept_rows = tuple(sorted(kept.items()))
    return Undo(tuple(sorted(purge)), tuple(sorted(remove)), tuple(sorted(versions.items())), kept_rows)


def _only_settings(name: str, settings: set[str], now: Mapping[str, Installed]) -> bool:
    """Whether nothing but settings is there, as before (dpkg(1): config-files)."""
    return name in settings and now[name].package.status[1:2] == "c"


def _needed_by(name: str, leaving: set[str], now: Mapping[str, Installed]) -> str | None:
    offers = {base(name)} | now[name].provides
    staying = {other for other in now if other not in leaving and now[other].package.status[1:2] == "i"}
    for other in sorted(staying):
        for clause in now[other].needs:
            if clause & offers and not any(clause & ({base(one)} | now[one].provides) for one in staying):
                return other
    return None


def differences(before: PackagesBefore, now: Mapping[str, Installed], kept: Iterable[str] = ()) -> tuple[str, ...]:
    """What of the touched packages is still not as it was, each with the command that mends it."""
    old = {package.name: package for package in before.packages}
    names = {base(one) for one in before.touched} - {base(one) for one in kept}
    left: list[str] = []
    for name, installed in sorted(now.items()):
        if base(name) not in names or name in old:
            continue
        left.append(f"package {base(name)} is still there ({installed.package.status}): apt-get purge {base(name)}")
    for name, package in sorted(old.items()):
        version = now[name].package.version if name in now else None
        if version != package.version:
            command = f"apt-get install --allow-downgrades {base(name)}={package.version}"
            left.append(f"package {base(name)} was {package.version}, is {version or 'not installed'}: {command}")
        elif now[name].package.status != package.status:
            left.append(
                f"package {base(name)} was {package.status}, is {now[name].package.status}: dpkg --configure -a"
            )
    return tuple(left)
