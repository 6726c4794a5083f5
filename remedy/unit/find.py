"""Which files a unit is made of: fragment, aliases, drop-ins.

systemd.unit(5), "Unit File Load Path" and "Description" (drop-ins); unit_file_build_name_map() and
unit_file_find_fragment() of src/shared/unit-file.c, unit_file_find_dirs() of src/shared/dropin.c.
"""

from __future__ import annotations

import posixpath

from remedy.unit import names
from remedy.unit.paths import search_path
from remedy.unit.types import Manager
from remedy.value import dataclass
from remedy.view import View

_FOLLOW_MAX = 8
#: A device node in the place of a unit file masks it; usually this one.
NULL = "/dev/null"


@dataclass(frozen=True)
class Found:
    """Where a unit was found; ``path`` None: nowhere. ``id`` is its main name, ``aliases`` are those of its other
    names that have directories of drop-ins.
    """

    path: str | None
    id: str
    aliases: tuple[str, ...] = ()


class Units:
    """The unit files of one view, as one manager sees them. Directories are listed once: share it among loads."""

    def __init__(self, view: View, manager: Manager) -> None:
        self.view = view
        self.manager = manager
        self.directories = search_path(view, manager)
        known = [*self.directories, *map(view.realpath, self.directories)]
        self._inside = tuple(directory.rstrip("/") + "/" for directory in dict.fromkeys(known))
        self._listings: dict[str, frozenset[str]] = {}
        self._targets: dict[str, str | None] = {}
        self._conf: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, list[str]] | None = None

    def find(self, name: str) -> Found:
        """The fragment of a unit, or of its template where it is an instance of one."""
        instance = names.instance_of(name)
        path = self._follow(name)
        if path is None and instance:
            path = self._follow(names.template_of(name))
        if path is None:
            return Found(None, name)
        main = posixpath.basename(path)
        if names.kind_of(main) == "template" and instance:
            main = names.with_instance(main, instance) or name
        if names.kind_of(main) is None or not path.startswith(self._inside):
            main = name
        known = {name, *self._names_of(name, instance, path), *self._names_of(main, instance, path)}
        # systemd goes by the order of a hash; the name that was asked for first is as good a guess as any.
        return Found(path, main, tuple(sorted(known - {main}, key=lambda alias: (alias != name, alias))))

    def drop_ins(self, found: Found) -> tuple[str, ...]:
        """The drop-in files in the order in which they are read; the last one wins."""
        chosen: dict[str, str] = {}
        suffix = found.id.rpartition(".")[2]
        for name in (found.id, *found.aliases):
            wanted = names.dropin_names(name)
            for directory in self.directories:
                self._collect(directory, wanted, chosen)
        for directory in self.directories:
            self._collect(directory, [suffix], chosen)
        return tuple(chosen[name] for name in sorted(chosen, key=_bytes))

    def is_mask(self, path: str) -> bool:
        """Whether the file masks its unit: it is empty, or a device (usually a link to /dev/null)."""
        if self.view.realpath(path) == NULL:
            return True
        found = self.view.stat(path)
        return found is not None and found.kind == "file" and found.size == 0

    def _collect(self, directory: str, wanted: list[str], chosen: dict[str, str]) -> None:
        listing = self._listing(directory)
        for name in wanted:
            if f"{name}.d" in listing:
                for path in self._conf_files(f"{directory}/{name}.d"):
                    chosen.setdefault(posixpath.basename(path), path)

    def _conf_files(self, directory: str) -> tuple[str, ...]:
        if directory not in self._conf:
            real = self.view.realpath(directory)
            try:
                entries = self.view.list(real)
            except OSError:
                entries = ()
            kept = (entry for entry in entries if entry.endswith(".conf") and not entry.startswith("."))
            self._conf[directory] = tuple(f"{real}/{entry}" for entry in kept)
        return self._conf[directory]

    def _follow(self, name: str) -> str | None:
        """The path of a name's fragment, through aliases; None where there is none or they loop."""
        current = name
        for _ in range(_FOLLOW_MAX):
            target = self._target(current)
            if target is None and current != name and names.kind_of(current) == "instance":
                target = self._target(names.template_of(current))
            if target is None or target.startswith("/"):
                return target
            current = target
        return None

    def _target(self, name: str) -> str | None:
        """What the first directory that has the name says: a path, or the name that it is an alias of."""
        if name not in self._targets:
            places = (f"{directory}/{name}" for directory in self.directories if name in self._listing(directory))
            self._targets[name] = next(filter(None, map(self._entry, places)), None)
        return self._targets[name]

    def _entry(self, path: str) -> str | None:
        status = self.view.lstat(path)
        if status is None or status.kind in ("directory", "other"):
            return None
        if status.kind == "file":
            return path
        directory, name = posixpath.split(path)
        try:
            link = posixpath.join(directory, self.view.readlink(path))
        except OSError:
            return None
        parent, target = posixpath.split(posixpath.normpath(link))
        goal = posixpath.join(self.view.realpath(parent), target)
        if not goal.startswith(self._inside):
            # A unit file that lies elsewhere, or a mask: before 251 the link's end was the fragment.
            return path if self.manager.version >= 251 else goal
        return target if _may_alias(name, target) else None

    def _names_of(self, name: str, instance: str, fragment: str) -> list[str]:
        """The names that lead to the same fragment as ``name``, instances filled in."""
        found: list[str] = []
        for alias in self._alias_map().get(name, ()):
            if names.kind_of(alias) != "template":
                found.append(alias)
            elif filled := names.with_instance(alias, instance):
                other = self._follow(filled)
                if other is None or posixpath.basename(other) == posixpath.basename(fragment):
                    found.append(filled)
        return found

    def _alias_map(self) -> dict[str, list[str]]:
        """Main name to the names that lead to it, as far as they have drop-ins: looking at every link is slow."""
        if self._aliases is None:
            self._aliases = {}
            every = set().union(*map(self._listing, self.directories))
            owners = {entry[:-2] for entry in every if entry.endswith(".service.d")}
            owners |= {names.template_of(owner) for owner in owners if "@" in owner}
            if not any("-." in owner or "-@" in owner for owner in owners):
                # No prefix has any: a plain name has its own or none.
                every = {entry for entry in every if "@" in entry or entry in owners}
            for name in sorted(entry for entry in every if entry.endswith(".service")):
                if names.kind_of(name) and not owners.isdisjoint(names.dropin_names(name)):
                    self._add_alias(name)
        return self._aliases

    def _add_alias(self, name: str) -> None:
        path = self._follow(name)
        if path is None or self.is_mask(path) or self._aliases is None:
            return
        main = posixpath.basename(path)
        if names.kind_of(main) == "template" and names.kind_of(name) == "instance":
            # The link of an instance to a template is an alias of that one instance.
            main = names.with_instance(main, names.instance_of(name)) or main
        self._aliases.setdefault(main, []).append(name)

    def _listing(self, directory: str) -> frozenset[str]:
        if directory not in self._listings:
            try:
                self._listings[directory] = frozenset(self.view.list(directory))
            except OSError:
                self._listings[directory] = frozenset()
        return self._listings[directory]


def _may_alias(name: str, target: str) -> bool:
    """Whether a symlink may make ``name`` an alias: same type, same kind, and for instances the same instance."""
    kind, other = names.kind_of(name), names.kind_of(target)
    if kind is None or other is None or name == target or name.rpartition(".")[2] != target.rpartition(".")[2]:
        return False
    if kind == "instance" and other == "template":
        return True
    return kind == other and names.instance_of(name) == names.instance_of(target)


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
