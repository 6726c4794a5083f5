"""The service as it would be after the edits chosen so far."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from remedy.overlay import Overlaid
from remedy.unit.document import Document, parse
from remedy.unit.edit_place import Writable, keeps_environment_file, keeps_unit_file, other_readers, unit_folder
from remedy.unit.launch import launch
from remedy.unit.load import load
from remedy.unit.types import EditRefused, EditStyle, FileEdit, Launch, Manager, Place, Service
from remedy.value import dataclass, field, replace
from remedy.view import View


@dataclass(frozen=True)
class Way:
    """One way to write a value: the new bytes of each file, and why there; or why it is none.

    ``subject`` names what is written, ``reason`` goes on from "PATH: …". ``command`` where it is the ExecStart=
    line that changes.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    subject: str = ""
    reason: str = ""
    refused: EditRefused | None = None
    command: bool = False


@dataclass(frozen=True)
class Written:
    """A file's bytes before the first edit and after the last one, and each edit's subject and reason."""

    before: bytes | None
    after: bytes
    reasons: tuple[tuple[str, str], ...]

    def why(self) -> list[str]:
        """The reasons, each once with all of its subjects."""
        grouped: dict[str, list[str]] = {}
        for subject, reason in self.reasons:
            grouped.setdefault(reason, []).append(subject)
        return [f"{', '.join(dict.fromkeys(subjects))}: {reason}" for reason, subjects in grouped.items()]


@dataclass(frozen=True)
class Situation:
    """``view`` is the machine as it is, ``written`` what has been chosen, ``service`` and ``launch`` its outcome."""

    base: View
    manager: Manager
    service: Service
    launch: Launch
    style: EditStyle | None
    writable: Writable | None
    written: Mapping[str, Written] = field(default_factory=dict)
    kin: str | None = None

    @property
    def view(self) -> View:
        """The machine as it would be."""
        return (
            Overlaid(self.base, {path: one.after for path, one in self.written.items()}) if self.written else self.base
        )

    @property
    def in_place(self) -> bool:
        """Whether the files themselves may be edited."""
        return self.style != "drop-in"

    @property
    def files(self) -> tuple[str, ...]:
        """Fragment and drop-ins in the order in which they are read."""
        fragment = (self.service.fragment,) if self.service.fragment else ()
        return (*fragment, *self.service.drop_ins)

    def data(self, path: str) -> bytes:
        """A file's bytes as they would be; empty where it can't be read."""
        try:
            return self.view.read(path)
        except OSError:
            return b""

    def document(self, path: str) -> Document:
        """A unit file as it would be."""
        return parse(self.data(path))

    def kept(self, path: str) -> str | None:
        """Why a file may not be changed in place; None where it may."""
        if path in self.files:
            return keeps_unit_file(self.service, self.view, path, self.manager, self.writable)
        return keeps_environment_file(self.view, path, self.manager, self.writable)

    def place_of(self, name: str) -> Place | None:
        """Where the process's value of a variable is decided."""
        found = self.launch.environment.get(name)
        return found.source if found else None

    def after(self, way: Way) -> Situation:
        """The same with one more change."""
        written = dict(self.written)
        for path, data in way.files.items():
            real = self.view.realpath(path)
            old = written.get(real)
            before = old.before if old else self._now(real)
            reasons = (*(old.reasons if old else ()), *(((way.subject, way.reason),) if way.reason else ()))
            written[real] = Written(before, data, reasons)
        changed = replace(self, written=written)
        service = load(self.service.name, changed.view, self.manager)
        return replace(changed, service=service, launch=launch(service, changed.view))

    def _now(self, path: str) -> bytes | None:
        try:
            return self.base.read(path)
        except OSError:
            return None

    def breaks(self, before: Situation, way: Way) -> bool:
        """Whether the unit would be worse to load than before, or run another command."""
        if self.service.load_state != "loaded" or self.service.environment is None:
            return True
        if len(self.service.faults) > len(before.service.faults):
            return True
        if way.command:
            return _process(self.launch) != _process(before.launch)
        return [c.argv for c in self.service.exec_start] != [c.argv for c in before.service.exec_start]

    def disturbs(self, before: Situation, name: str) -> bool:
        """Whether another variable of the unit came out differently than before."""
        was, now = before.service.variables(), self.service.variables()
        return any(was.get(other) != now.get(other) for other in was.keys() | now.keys() if other != name)

    def edits(self) -> tuple[FileEdit, ...]:
        """What has been chosen, without files that came out as they were."""
        return tuple(
            FileEdit(path, one.before, one.after, "; ".join((*one.why(), *self._others(path))))
            for path, one in self.written.items()
            if one.before != one.after
        )

    def _others(self, path: str) -> list[str]:
        """What else an edit of a file reaches."""
        name = posixpath.basename(path)
        if "@." in name and path == self.service.fragment:
            return [f"all instances of {name} read this file"]
        if path in self.files or path.startswith(f"{unit_folder(self.manager)}/"):
            return []
        others = other_readers(self.base, path, self.manager, self.files)
        return [f"{', '.join(others)} {'reads' if len(others) == 1 else 'read'} this file too"] if others else []


def _process(launch: Launch) -> tuple[object, ...]:
    """What tells one process from another, whatever the values of its variables."""
    return launch.interpreter, launch.module, launch.container, launch.unknown, len(launch.argv)
