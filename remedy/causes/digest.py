"""A unit's snapshot as a case: the facts boiled down, the journal's lines with their own times and writers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from remedy.causes.case import Case, LibraryProblem
from remedy.causes.lines import Line, normalise
from remedy.causes.scan import Scan
from remedy.causes.telling import came_from_elsewhere, last_word, silent_on_compilers, was_killed_alone
from remedy.causes.types import Evidence, PartialFacts
from remedy.facts.types import Interpreter, LogLine, Snapshot, UnitState, Version, numbers
from remedy.hints import Final
from remedy.jit import installed, libraries, versions
from remedy.jit.types import Resolution
from remedy.unit.types import Launch, Service
from remedy.value import replace

#: Settings that can keep a service from a file, a device or a system call (systemd.exec(5), Sandboxing).
_SANDBOX: Final = (
    "ProtectHome",
    "ProtectSystem",
    "PrivateTmp",
    "PrivateDevices",
    "DeviceAllow",
    "DevicePolicy",
    "ReadOnlyPaths",
    "InaccessiblePaths",
    "NoExecPaths",
    "DynamicUser",
    "MemoryDenyWriteExecute",
    "SystemCallFilter",
    "RestrictAddressFamilies",
)
#: Variables whose place is worth showing.
_PLACED: Final = ("PATH", "HOME", "CC", "CXX")


def case_of(service: Service, launch: Launch | None, snapshot: Snapshot, resolutions: Sequence[Resolution]) -> Case:
    """All but the log."""
    return Case(
        facts=partial_facts(service, launch, snapshot, resolutions),
        problems=tuple(LibraryProblem(r.library, problem) for r in resolutions for problem in r.problems),
        faults=service.faults,
        state=snapshot.state,
        places=_places(service, launch),
        sandbox=_sandbox(service),
        words=_words(service, launch),
        resolved=bool(resolutions),
        interpreter=snapshot.interpreter,
        load_state=service.load_state,
        environment_known=service.environment is not None,
    )


def _words(service: Service, launch: Launch | None) -> dict[str, str]:
    found = {
        "user": service.user or ("" if service.user_manager else "root"),
        "directory": service.working_directory or "",
        "python": (launch.interpreter if launch else None) or "",
    }
    return {name: value for name, value in found.items() if value}


def invocations(journal: Sequence[LogLine], state: UnitState | None) -> tuple[tuple[LogLine, ...], tuple[LogLine, ...]]:
    """The lines of the last invocation with the manager's lines of that time, and those before.

    A line without an invocation (the manager's, at load time, or the kernel's) goes with what follows it.
    """
    current = state.invocation if state and state.invocation else ""
    named = [line.invocation for line in journal if line.invocation]
    wanted = current if current in named else (named[-1] if named else "")
    if not wanted:
        return tuple(journal), ()
    first = next(index for index, line in enumerate(journal) if line.invocation == wanted)
    while first and not journal[first - 1].invocation:
        first -= 1
    return tuple(journal[first:]), tuple(journal[:first])


def repeats(case: Case, earlier: Sequence[LogLine]) -> bool:
    """Whether a start that systemd made after a failure (systemd.service(5), Restart=) may end as the one before did:
    it is not ready, and has not lived for longer.

    Type=simple counts as active from the first moment, so a service that fails after minutes looks well until then.
    """
    state = case.state
    if state is None or not state.n_restarts or case.ready is not None:
        return False
    if state.active_state == "activating":
        return True
    return state.active_for is not None and state.active_for < _lived(earlier) * 1.2 + 5.0


def _lived(earlier: Sequence[LogLine]) -> float:
    """Seconds between the first and the last line that the last of these invocations wrote itself."""
    own = [line for line in earlier if line.invocation and line.realtime and not line.from_manager]
    times = [line.realtime for line in own if line.invocation == own[-1].invocation]
    return (max(times) - min(times)) / 1e6 if times else 0.0


def as_failed(case: Case) -> Case:
    """The case of the start before, which failed: what the manager says now is about the one that runs."""
    return replace(case, state=replace(case.state, active_state="failed")) if case.state else case


def restarts(state: UnitState | None) -> Evidence:
    """That the service is in a series of restarts: the log may be that of a start before this one."""
    count = state.n_restarts if state else 0
    return Evidence("fact", f"systemd restarts the service again and again (NRestarts={count})")


def with_log(case: Case, scan: Scan, journal: Sequence[LogLine]) -> Case:
    """The case with what a scan of these journal lines found."""
    placed = scan.rewritten(lambda line: _placed(line, journal))
    return replace(
        case,
        found={signature: tuple(hits) for signature, hits in placed.found.items()},
        lines=placed.lines,
        errors=tuple(placed.errors),
        last=placed.last,
        own_last=_own_last(journal),
        ready=placed.ready,
        died=placed.died,
        from_elsewhere=cache(lambda: _from_elsewhere(journal, case)),
        silent_on_compilers=cache(
            lambda: _failed(case) and silent_on_compilers(_own(journal), _frames(case.interpreter))
        ),
        raised_elsewhere=cache(lambda: came_from_elsewhere(_own(journal), _frames(case.interpreter), alone=False)),
    )


def _own_last(journal: Sequence[LogLine]) -> Line | None:
    """The program's last word, behind which the manager says how it ended."""
    for number, entry in reversed(tuple(enumerate(journal, 1))):
        if not entry.from_manager and entry.text.strip():
            return _placed(normalise(entry.text, number), journal)
    return None


#: What shells end with where a program is not there, or can't be run (sh(1), Exit Status): it never came to a library.
_NEVER_RUN: Final = (126, 127)
#: What native code crashes with (signal(7)): SIGILL, SIGBUS, SIGFPE, SIGSEGV. A library that finds no compiler raises.
_CRASHES: Final = (4, 7, 8, 11)
#: SIGABRT and SIGKILL: a server that a process of its own has failed may end itself so, but says that.
_KILLS: Final = (6, 9)
_SIGNALS: Final = {"Killed": 9, "Aborted": 6, "Segmentation fault": 11, "Bus error": 7, "Illegal instruction": 4}
#: CLD_KILLED and CLD_DUMPED (waitid(2)).
_BY_SIGNAL: Final = (2, 3)


def _failed(case: Case) -> bool:
    state = case.state
    return state is None or state.active_state == "failed" or state.result not in ("", "success")


def _own(journal: Sequence[LogLine]) -> tuple[tuple[int, str], ...]:
    return tuple((line.pid or 0, line.text) for line in journal if not line.from_manager)


def _from_elsewhere(journal: Sequence[LogLine], case: Case) -> bool:
    state = case.state
    if not _failed(case):
        # What a request raised, or the stop, says nothing of the next start.
        return False
    if state is not None and state.exec_main_code == 1 and state.exec_main_status in _NEVER_RUN:
        return True
    lines = _own(journal)
    by_signal = state is not None and state.exec_main_code in _BY_SIGNAL
    signal = state.exec_main_status if state is not None and by_signal else _SIGNALS.get(last_word(lines), 0)
    if signal in _CRASHES:
        return True
    return came_from_elsewhere(lines, _frames(case.interpreter)) or (signal in _KILLS and was_killed_alone(lines))


def _frames(interpreter: Interpreter | None) -> Iterator[str]:
    """What names the files of JIT libraries: first of those that are installed, whose modules are imported anyway; the
    others may have come inside of something else."""
    for _, library in installed(interpreter) if interpreter else ():
        yield from library.frames
    for library in libraries():
        yield from library.frames


def _placed(line: Line, journal: Sequence[LogLine]) -> Line:
    """The line with the journal's own time and writer, which are surer than those in the text."""
    entry = journal[line.number - 1]
    writer = f"{entry.identifier or 'pid'}[{entry.pid}]" if entry.pid else entry.identifier
    return replace(line, time=entry.utc or line.time, writer=writer or line.writer, journal=True)


def _sandbox(service: Service) -> dict[str, Evidence]:
    found = {name: service.value("Service", name) for name in _SANDBOX}
    return {
        name: Evidence("fact", f"{name}={setting.value}", str(setting.place))
        for name, setting in found.items()
        if setting and setting.value.lower() not in ("no", "false", "0", "off")
    }


def _places(service: Service, launch: Launch | None) -> dict[str, str]:
    variables = launch.environment if launch else (service.environment or {})
    return {
        name: str(variable.source)
        for name, variable in variables.items()
        if name in _PLACED or name.endswith(("_LIST", "_HOME", "_PATH", "_DIR"))
    }


def _first(values: Iterable[Version | None]) -> Version | None:
    return next((value for value in values if value), None)


def partial_facts(
    service: Service, launch: Launch | None, snapshot: Snapshot, resolutions: Sequence[Resolution]
) -> PartialFacts:
    """A snapshot boiled down to what the rules on facts ask for. nvcc is the one that the libraries find, not the one
    of anybody's shell."""
    interpreter, driver = snapshot.interpreter, snapshot.driver
    kit = next((snapshot.toolkit_at(r.toolkit) for r in resolutions if r.toolkit), None)
    env = launch.variables() if launch else service.variables()
    library = numbers(driver.library) if driver and driver.library else None
    module = numbers(driver.kernel_module) if driver and driver.kernel_module else None
    return PartialFacts(
        gpu=", ".join(dict.fromkeys(gpu.name for gpu in snapshot.gpus)) or None,
        sm=snapshot.capabilities[-1] if snapshot.capabilities else None,
        torch=versions.key(interpreter.torch)[:3] if interpreter and interpreter.torch else None,
        torch_cuda=versions.cuda(interpreter.torch_cuda) if interpreter else None,
        nvcc=_first(r.nvcc_version for r in resolutions),
        cuda_headers=kit.headers_version if kit else None,
        driver=library or module,
        flashinfer=interpreter.dist_version("flashinfer-python") if interpreter else None,
        gcc=_first(compiler.version for compiler in snapshot.compilers if compiler.kind == "gcc"),
        os=_os(snapshot),
        env=env,
        cuda_home=env.get("CUDA_HOME"),
        unit=service.name,
        kernel_module=module,
        driver_packages=library,
        lock_files=_lock_files(snapshot, resolutions),
    )


def _lock_files(snapshot: Snapshot, resolutions: Sequence[Resolution]) -> tuple[str, ...]:
    """The lock files that a library says it would wait for; one of flock(2) or fcntl(2) means nothing of itself."""
    said = [fact for r in resolutions for one in r.problems if one.cause == "jit-cache-locked" for fact in one.facts]
    return tuple(lock for cache in snapshot.caches for lock in cache.locks if any(lock in fact for fact in said))


def _os(snapshot: Snapshot) -> str | None:
    host = snapshot.host
    glibc = f" (glibc {'.'.join(map(str, host.glibc))})" if host.glibc else ""
    return f"{host.os_name}{glibc}".strip() or None
