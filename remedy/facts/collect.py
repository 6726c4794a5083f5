"""One look at the machine: every collector on its own, all programs started before anything is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

from remedy.facts import compilers, gpus, toolkits
from remedy.facts.accounts import Account, account_of_service
from remedy.facts.ask import Asked, ask
from remedy.facts.caches import read_caches
from remedy.facts.driver import read_driver
from remedy.facts.host import read_host
from remedy.facts.interpreter import read_interpreter
from remedy.facts.journal import read_journal
from remedy.facts.packages import installed_packages
from remedy.facts.run import Runner, Running
from remedy.facts.sandbox import NO_SANDBOX, Sandbox, sandbox_of
from remedy.facts.state import read_state
from remedy.facts.types import (
    Driver,
    Gpu,
    Host,
    HostCompiler,
    Interpreter,
    JitCache,
    LogLine,
    Missing,
    Snapshot,
    Toolkit,
    UnitState,
)
from remedy.hints import TypeVar
from remedy.unit.types import Launch, Service
from remedy.value import dataclass, field, replace
from remedy.view import View

T = TypeVar("T")


def why(error: Exception) -> str:
    """An error as people read it; where it is not about a file, its kind says more than its text alone."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"


@dataclass
class _Look:
    """What a look costs and lacks, as it goes on."""

    missing: list[Missing] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    def part(self, fact: str, collector: Callable[[], T], otherwise: T) -> T:
        """One collector. Whatever it raises costs only its own fact."""
        begin = perf_counter()
        try:
            return collector()
        except Exception as error:
            # The one place where everything is caught: a fact that can't be had must not hide the others.
            self.missing.append(Missing(fact, why(error)))
            return otherwise
        finally:
            self.timings[fact] = self.timings.get(fact, 0.0) + perf_counter() - begin

    def lacking(self, missing: Missing | None) -> None:
        if missing is not None:
            self.missing.append(missing)


def collect(
    service: Service,
    launch: Launch | None,
    view: View,
    runner: Runner,
    *,
    gpu_arch: str | None = None,
    asked: Asked | None = None,
) -> Snapshot:
    """Every fact that a diagnosis needs. Raises nothing but UsageError for a bad ``gpu_arch``.

    ``launch`` is None where the launch chain is not known: the unit's own environment counts then. ``asked`` is
    what ``ask`` started earlier for this unit; a journal that it left out stays empty.
    """
    given = gpus.overridden(gpu_arch) if gpu_arch else ()
    look = _Look()
    env = launch.variables() if launch else service.variables()
    asked = _asked(service, view, runner, asked, gpus_too=not given)
    account = _account(look, view, service)
    path = launch.interpreter if launch else None
    interpreter = _interpreter(look, view, path, env, account.home if account else "/")
    candidates: tuple[toolkits.Candidate, ...]
    candidates = look.part("toolkits", lambda: toolkits.look_up(view, runner, env, interpreter, account), ())
    compiling: tuple[compilers.Lookup, ...]
    compiling = look.part("compilers", lambda: compilers.look_up(view, runner, env, account), ())

    # Files are read while the programs run.
    host, installed = _system(look, view)
    sandbox = look.part("sandbox", lambda: sandbox_of(service, view), NO_SANDBOX)
    caches = _caches(look, view, env, interpreter, account, sandbox)

    kits: tuple[Toolkit, ...] = look.part("toolkits", lambda: toolkits.finish(view, candidates), ())
    for kit in kits:
        if kit.nvcc and kit.version is None and not kit.closed:
            look.lacking(Missing("toolkits", kit.why or f"{kit.nvcc} --version names no release"))
    found: tuple[HostCompiler, ...] = look.part("compilers", lambda: compilers.finish(compiling), ())
    devices, driver = _devices(look, view, given, asked)
    return Snapshot(
        host=host,
        gpus=devices,
        driver=driver,
        toolkits=kits,
        interpreter=interpreter,
        compilers=found,
        caches=caches,
        journal=_journal(look, runner, asked.journal),
        state=_state(look, view, asked.state),
        installed=installed,
        missing=tuple(look.missing),
        timings=look.timings,
    )


def _asked(service: Service, view: View, runner: Runner, asked: Asked | None, *, gpus_too: bool) -> Asked:
    """The programs that answer for this unit, the earlier ones where they were asked about it."""
    name, user_manager = service.id or service.name, service.user_manager
    if asked is None:
        return ask(view, runner, name, user_manager=user_manager, gpus_too=gpus_too)
    if asked.unit == name:
        return asked
    # The name was an alias. The GPUs are the same.
    journal = asked.journal is not None
    other = ask(view, runner, name, user_manager=user_manager, gpus_too=False, journal_too=journal)
    return replace(other, gpus=asked.gpus, listed=asked.listed)


def _account(look: _Look, view: View, service: Service) -> Account | None:
    account = look.part("account", lambda: account_of_service(view, service), None)
    if account is None:
        look.lacking(Missing("account", f"user {service.user} is not in /etc/passwd"))
    return account


def _system(look: _Look, view: View) -> tuple[Host, Mapping[str, str]]:
    installed: Mapping[str, str] = look.part("packages", lambda: installed_packages(view), {})
    return look.part("host", lambda: read_host(view, installed.get("libc6")), Host()), installed


def _interpreter(look: _Look, view: View, path: str | None, env: Mapping[str, str], home: str) -> Interpreter | None:
    if path is None:
        return None
    found = look.part("interpreter", lambda: read_interpreter(view, path, env, home), None)
    if found is not None and found.version is None and not found.dists:
        look.lacking(Missing("interpreter", f"{path} is not there, or this user may not look there: run as root"))
    return found


def _caches(
    look: _Look,
    view: View,
    env: Mapping[str, str],
    interpreter: Interpreter | None,
    account: Account | None,
    sandbox: Sandbox,
) -> tuple[JitCache, ...]:
    caches: tuple[JitCache, ...]
    caches = look.part("caches", lambda: read_caches(view, env, interpreter, account, sandbox), ())
    for cache in caches:
        if cache.why and cache.writable is None:
            look.lacking(Missing("caches", cache.why))
    return caches


def _devices(look: _Look, view: View, given: tuple[Gpu, ...], asked: Asked) -> tuple[tuple[Gpu, ...], Driver | None]:
    def read() -> tuple[tuple[Gpu, ...], Driver | None]:
        smi = asked.gpus.result() if asked.gpus else None
        devices = given
        if not given:
            devices, missing = gpus.read_gpus(view, asked.listed, smi)
            look.lacking(missing)
        driver = read_driver(view, gpus.smi_driver_version(smi.text) if smi and smi.ok else None)
        if driver is None:
            look.lacking(Missing("driver", "no NVIDIA kernel module is loaded and libcuda.so.1 is not there"))
        return devices, driver

    unknown: tuple[tuple[Gpu, ...], Driver | None] = (given, None)
    return look.part("gpus", read, unknown)


def _journal(look: _Look, runner: Runner, asked: Running | None) -> tuple[LogLine, ...]:
    if asked is None:
        return ()

    def read() -> tuple[LogLine, ...]:
        lines, missing = read_journal(runner, asked.result())
        look.lacking(missing)
        return lines

    return look.part("journal", read, ())


def _state(look: _Look, view: View, asked: Running) -> UnitState | None:
    def read() -> UnitState | None:
        state, missing = read_state(view, asked.result())
        look.lacking(missing)
        return state

    return look.part("state", read, None)
