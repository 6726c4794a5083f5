"""Reads a service as systemd would load it."""

from __future__ import annotations

from remedy.unit import verify
from remedy.unit.assemble import Assembly, Unloadable
from remedy.unit.document import parse
from remedy.unit.environment import Start, build
from remedy.unit.find import Found, Units
from remedy.unit.specifiers import Subject
from remedy.unit.types import Fault, LoadState, Manager, Place, Service
from remedy.view import View


def load(name: str, view: View, manager: Manager, units: Units | None = None) -> Service:
    """The service as the manager would load it afresh, whatever its files hold.

    ``name`` is a full one (``names.service_name``). ``units`` is shared among the loads of one view, so that its
    directories are listed once.
    """
    units = units or Units(view, manager)
    found = units.find(name)
    if found.path is None:
        return Service(name, "not-found", id=name, user_manager=manager.user)
    if units.is_mask(found.path):
        return Service(name, "masked", found.path, id=found.id, user_manager=manager.user)
    return _Load(name, found, found.path, units).service()


class _Load:
    """One loading: the fragment under the name that was asked for, then the drop-ins under the main name."""

    def __init__(self, name: str, found: Found, fragment: str, units: Units) -> None:
        self.name = name
        self.found = found
        self.fragment = fragment
        self.units = units
        self.assembly = Assembly()

    def service(self) -> Service:
        view, manager = self.units.view, self.units.manager
        try:
            data = view.read(self.fragment)
        except OSError as bad:
            # A link that leads nowhere is a unit that is not there; what can't be read is an error.
            state: LoadState = "not-found" if isinstance(bad, FileNotFoundError) else "error"
            return self._unloaded(state, Fault("unreadable", f"{bad.strerror}", Place(self.fragment, 0)))
        try:
            self.assembly.read(self.fragment, parse(data), Subject(self.name, self.fragment, manager, view))
        except Unloadable as bad:
            return self._unloaded(bad.state, bad.fault)
        subject = Subject(self.found.id, self.fragment, manager, view)
        drop_ins = self.units.drop_ins(self.found)
        for path in drop_ins:
            self._drop_in(path, subject)
        kind = verify.service_type(self.assembly, manager.version)
        why = verify.refusal(self.assembly, kind, manager)
        if why is not None:
            self.assembly.faults.append(verify.as_fault(why, self.assembly, self.fragment))
            return self._service("bad-setting", drop_ins, kind, Start(None, self._user()))
        return self._service("loaded", drop_ins, kind, build(self.assembly, kind, subject))

    def _drop_in(self, path: str, subject: Subject) -> None:
        """A line that would make a fragment unloadable ends the reading of a drop-in, and nothing more."""
        try:
            self.assembly.read(path, parse(self.units.view.read(path)), subject)
        except Unloadable as bad:
            self.assembly.faults.append(
                Fault(bad.fault.kind, f"{bad.fault.text}: the rest of the file is ignored", bad.fault.place)
            )
        except OSError as bad:
            # /dev/null masks the drop-ins of that name in directories that come later.
            if self.units.view.realpath(path) != "/dev/null":
                fault = Fault("unreadable", f"the drop-in is ignored: {bad.strerror}", Place(path, 0))
                self.assembly.faults.append(fault)

    def _unloaded(self, state: LoadState, fault: Fault) -> Service:
        self.assembly.faults.append(fault)
        kind = verify.service_type(self.assembly, self.units.manager.version)
        return self._service(state, (), kind, Start(None, self._user()))

    def _user(self) -> str | None:
        return self.assembly.user.text if self.assembly.user else None

    def _service(self, state: LoadState, drop_ins: tuple[str, ...], kind: str, start: Start) -> Service:
        assembly = self.assembly
        directory = assembly.working_directory.text if assembly.working_directory else None
        optional = assembly.working_directory_optional
        if directory is None and self.units.manager.user:
            directory, optional = self.units.manager.home, True
        return Service(
            name=self.name,
            load_state=state,
            fragment=self.fragment,
            drop_ins=drop_ins,
            settings=tuple(assembly.settings),
            type=kind,
            user=start.user,
            group=assembly.group.text if assembly.group else None,
            working_directory=directory,
            exec_start=tuple(assembly.commands.get("ExecStart", ())),
            environment=start.variables,
            environment_files=tuple(assembly.environment_files),
            faults=tuple(assembly.faults),
            user_manager=self.units.manager.user,
            id=self.found.id,
            working_directory_optional=optional,
        )
