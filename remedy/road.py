"""The one road through the rooms: from a unit's name to what is wrong with it, and to what would mend it."""

from __future__ import annotations

from remedy.errors import Refused, UsageError
from remedy.hints import TYPE_CHECKING
from remedy.value import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from remedy.causes.types import Diagnosis
    from remedy.facts.ask import Asked
    from remedy.facts.run import Runner, Running
    from remedy.facts.types import LogLine, Missing, Snapshot
    from remedy.jit.types import Context, Resolution
    from remedy.unit.types import Launch, Manager, Service
    from remedy.view import View


@dataclass(frozen=True)
class Look:
    """One look at one service: every value that the rooms handed on."""

    manager: Manager
    view: View
    service: Service
    launch: Launch
    snapshot: Snapshot
    context: Context
    resolutions: tuple[Resolution, ...]
    diagnosis: Diagnosis


@dataclass(frozen=True)
class Machine:
    """What is looked at: a file system, a way to ask programs, and the manager that would start the unit."""

    view: View
    runner: Runner
    manager: Manager


def this_machine(*, user: bool = False) -> Machine:
    """The machine that remedy runs on."""
    from remedy.facts.files import Files
    from remedy.facts.run import Programs

    view = Files()
    return seen_through(view, Programs(), user=user)


def seen_through(view: View, runner: Runner, *, user: bool = False, owner: str | None = None) -> Machine:
    """A running machine as a view and a runner show it: this one, recorded or replayed. ``owner`` is whose user manager
    it is, ourselves for None."""
    from remedy.facts.manager import live_manager

    return Machine(view, runner, live_manager(view, runner, user=user, owner=owner))


def tree(root: str, *, systemd: int | None = None) -> Machine:
    """A file system under a folder; nothing in it is run. Raises UsageError where there is no such folder."""
    import os

    from remedy.facts.files import Files
    from remedy.facts.run import NoRunner
    from remedy.unit.manager import manager_from

    if not os.path.isdir(root):
        raise UsageError(f"--root {root}: there is no such directory")
    view = Files(root)
    return Machine(view, NoRunner(f"--root {root} is only read"), manager_from(view, systemd))


def load_service(unit: str, machine: Machine) -> Service:
    """The unit, loaded. Raises UsageError where it does not exist or is no service, Refused where it is masked."""
    from remedy.unit.load import load
    from remedy.unit.names import service_name

    service = load(service_name(unit), machine.view, machine.manager)
    if service.load_state == "not-found":
        raise UsageError(f"there is no unit {service.name}", hint=_nearest(service.name, machine.view))
    if service.load_state == "masked":
        raise Refused(f"{service.name} is masked ({service.fragment})", hint=f"systemctl unmask {service.name}")
    return service


def _nearest(name: str, view: View) -> str:
    """The units of /etc whose names are nearest, for a typing mistake."""
    import difflib

    # Compared without the suffix, which all have in common: with it, any short name looks like any other.
    suffix = ".service"
    try:
        listed = view.list("/etc/systemd/system")
    except OSError:
        listed = ()
    stems = [entry.removesuffix(suffix) for entry in listed if entry.endswith(suffix)]
    near = [stem + suffix for stem in difflib.get_close_matches(name.removesuffix(suffix), stems, n=3)]
    return f"did you mean {' or '.join(near)}?" if near else "systemctl list-unit-files lists what is there"


def look(unit: str, machine: Machine, *, gpu_arch: str | None = None) -> Look:
    """Everything about one unit, up to the diagnosis. Reads only."""
    return judge(machine, *gather(unit, machine, gpu_arch=gpu_arch))


def look_here(unit: str, *, user: bool = False, gpu_arch: str | None = None) -> Look:
    """``look`` on the machine that remedy runs on, sooner: programs answer while the rooms are loaded."""
    here = _ask_here(unit, user, gpu_arch, between=_load_causes)
    machine = here.machine()
    return judge(machine, *gather(unit, machine, gpu_arch=gpu_arch, asked=here.asked))


def resolve_here(
    unit: str, *, user: bool = False, gpu_arch: str | None = None
) -> tuple[Service, tuple[Resolution, ...], tuple[Missing, ...]]:
    """A unit of the machine that remedy runs on with what it names and is not there, what its JIT libraries will meet,
    and what could not be had of it; its log is not asked for."""
    from remedy.jit import resolve_all
    from remedy.unit.absent import absent

    here = _ask_here(unit, user, gpu_arch, journal=False)
    machine = here.machine()
    service, started, snapshot = gather(unit, machine, gpu_arch=gpu_arch, asked=here.asked)
    resolutions = resolve_all(context_of(machine, service, started, snapshot))
    service = replace(service, faults=(*service.faults, *absent(service, machine.view)))
    return service, resolutions, snapshot.missing


def gather(
    unit: str, machine: Machine, *, gpu_arch: str | None = None, asked: Asked | None = None
) -> tuple[Service, Launch, Snapshot]:
    """What is there: the unit, what it starts, and the facts. ``asked`` is as in ``collect``."""
    from remedy.facts.collect import collect
    from remedy.unit.launch import launch

    service = load_service(unit, machine)
    started = launch(service, machine.view)
    return service, started, collect(service, started, machine.view, machine.runner, gpu_arch=gpu_arch, asked=asked)


@dataclass(frozen=True)
class _Here:
    """This machine while its programs answer."""

    view: View
    runner: Runner
    user: bool
    manager: Running
    asked: Asked

    def machine(self) -> Machine:
        from remedy.facts.manager import live_manager

        return Machine(self.view, self.runner, live_manager(self.view, self.runner, user=self.user, asked=self.manager))


def _load_causes() -> None:
    from remedy.causes import catalogue, engine  # noqa: F401

    catalogue.causes()


def _ask_here(
    unit: str, user: bool, gpu_arch: str | None, *, journal: bool = True, between: Callable[[], None] = lambda: None
) -> _Here:
    """Ask everything that needs no more than a unit's name, ``between`` the programs' starts as in ``ask``. Raises
    UsageError where it is no service's."""
    from remedy.facts.ask import ask, start_manager
    from remedy.facts.files import Files
    from remedy.facts.run import Programs
    from remedy.unit.names import service_name

    view, runner, name = Files(), Programs(), service_name(unit)
    manager = start_manager(runner, user=user)
    from remedy.facts import collect  # noqa: F401

    asks_gpus = gpu_arch is None
    asked = ask(view, runner, name, user_manager=user, gpus_too=asks_gpus, journal_too=journal, between=between)
    return _Here(view, runner, user, manager, asked)


def judge(machine: Machine, service: Service, started: Launch, snapshot: Snapshot) -> Look:
    """The pure half of a look: from the facts to the diagnosis."""
    from remedy.causes.engine import diagnose
    from remedy.jit import resolve_all
    from remedy.show.secrets import redact
    from remedy.unit.absent import absent
    from remedy.unit.faults import mistakes

    more = (*mistakes(service, started, machine.view), *absent(service, machine.view))
    service = replace(service, faults=(*service.faults, *more))
    context = context_of(machine, service, started, snapshot)
    resolutions = resolve_all(context)
    diagnosis = diagnose(service, started, snapshot, resolutions).rewritten(redact)
    return Look(machine.manager, machine.view, service, started, snapshot, context, resolutions, diagnosis)


def context_of(machine: Machine, service: Service, started: Launch, snapshot: Snapshot) -> Context:
    """What the JIT libraries are asked about."""
    from remedy.facts.accounts import account_of_service
    from remedy.gate.servers import arguments, server_of
    from remedy.jit.types import Context

    server = server_of(started.argv, started.module)
    variables = started.variables()
    account = account_of_service(machine.view, service)
    return Context(
        env=variables,
        snapshot=snapshot,
        view=machine.view,
        home=variables.get("HOME") or (account.home if account else "/"),
        server=server.name if server else "",
        user=account.name if account else service.user or machine.manager.user_name,
        argv=arguments(started, machine.view),
    )


def last_start(service: Service, started: Launch, machine: Machine) -> float | None:
    """Seconds that the unit's last good start took; None where the journal holds none."""
    from remedy.facts.starts import last_good_start
    from remedy.gate.expect import expectation

    wanted = expectation(service, started, machine.view)
    return last_good_start(machine.runner, service.name, wanted.ready, settle=wanted.settle, user=service.user_manager)


def after_failure(unit: str, log: tuple[LogLine, ...], *, user: bool = False) -> Diagnosis:
    """The diagnosis of a start that was watched: the machine as it is now, and that start's own lines."""
    # A new view: what an earlier look read can have been changed since.
    machine = this_machine(user=user)
    service, started, snapshot = gather(unit, machine)
    return judge(machine, service, started, replace(snapshot, journal=log)).diagnosis
