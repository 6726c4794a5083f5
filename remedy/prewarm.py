"""Kernels built ahead of the restart, in the twin and into the service's own cache, while the old service runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from remedy.change.twin import Probed, Twin
from remedy.change.types import Event
from remedy.plan import ahead
from remedy.plan.types import MoveCache, Plan
from remedy.proof import expander, probe_source, telling_line
from remedy.road import Look
from remedy.unit.types import Launch, Service

# Seconds for all modules together; the largest take some minutes each.
_TIMEOUT = 3600.0
# Bytes of memory that one compiler of a large kernel takes.
_A_COMPILER = 4 << 30
Prewarm = Callable[[Callable[[Event], None]], str | None]


def prewarmer(seen: Look, plan: Plan, service: Service, launch: Launch) -> Prewarm | None:
    """Builds the modules that the plan makes room for; None where there are none.

    It says why not only where the restart would meet the same: a compiler refused a module that the failing log
    names. What can't be built from outside, or is stopped by a limit, is told and left to the service.
    """
    builds = keyed(_builds(seen, plan, launch))
    if not builds or launch.interpreter is None:
        return None
    needed = frozenset(ahead.named(line.text for line in seen.snapshot.journal))
    twin = Twin(
        service,
        launch.interpreter,
        launch.variables(),
        expander(seen, service),
        probes={key: probe_source(build.probe) or "" for key, build in builds.items()},
        timeout=_TIMEOUT,
        arguments={key: build.arguments for key, build in builds.items()},
        real=True,
        jobs=jobs(),
    )

    def prewarm(tell: Callable[[Event], None]) -> str | None:
        from remedy.change.twin import prove

        def count(key: str, done: int, total: int) -> None:
            tell(Event("prewarm", f"{builds[key].name}: kernels {done}/{total}", fraction=done / total))

        proof = prove(twin, lambda result: tell(Event("prewarm", _told(builds, result))), count)
        if proof.why:
            tell(Event("prewarm", f"no kernels are built ahead: {proof.why}"))
        stopped = (one for one in proof.results if refusal(one))
        refused = next((one for one in stopped if _is_needed(builds.get(one.library), needed)), None)
        return f"{_name(builds, refused)}: {telling_line(refused.error)}" if refused else None

    return prewarm


def _builds(seen: Look, plan: Plan, launch: Launch) -> tuple[ahead.Build, ...]:
    if not any(isinstance(step, MoveCache) for step in plan.steps):
        return ()
    from remedy.jit import resolve_all
    from remedy.value import replace

    planned = resolve_all(replace(seen.context, env=launch.variables()))
    return tuple(ahead.builds(plan.steps, planned, seen.snapshot))


def keyed(builds: Iterable[ahead.Build]) -> Mapping[str, ahead.Build]:
    """Each by a name of its own, that can be a file's: two libraries may have modules of one name."""
    return {f"{build.library}.{build.name}": build for build in builds}


def _is_needed(build: ahead.Build | None, needed: frozenset[str]) -> bool:
    """Whether a failing log names the module; only FlashInfer's do so."""
    return build is not None and build.library == ahead.LIBRARY and build.name in needed


def _name(builds: Mapping[str, ahead.Build], result: Probed) -> str:
    """The module of a result; what the twin itself says has none."""
    return builds[result.library].name if result.library in builds else result.library


def _told(builds: Mapping[str, ahead.Build], result: Probed) -> str:
    name = _name(builds, result)
    if result.ok:
        return f"{name}: built in {result.seconds:.1f} s"
    return f"{name}: not built ahead, but at the start: {telling_line(result.error)}"


def refusal(result: Probed) -> bool:
    """Whether the service's own start would meet the same: the compiler refused, and no limit of ours ended it."""
    compiled = any(word in result.error for word in ("error:", "nvcc fatal", "ptxas fatal", "cannot find -l"))
    killed = any(word in result.error for word in ("Killed", "No space left", "out of memory"))
    return not result.ok and result.ended and compiled and not killed and "NotForeseen" not in result.error


def jobs() -> int:
    """How many compilers may run side by side: by the processors, and by the memory that the twin may take."""
    from remedy.change.twin_unit import memory_limit

    return max(1, min(os.cpu_count() or 1, memory_limit() // _A_COMPILER))
