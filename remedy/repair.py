"""The way on from a diagnosis: the plan, and the change with its proof and its watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from remedy.causes.types import Diagnosis
from remedy.change.twin import Twin
from remedy.change.types import Hooks, Outcome, Report
from remedy.gate.types import Verdict
from remedy.gate.watch import Watch
from remedy.jit.types import Resolution
from remedy.plan.types import EditFile, Plan
from remedy.road import Look, Machine, after_failure
from remedy.unit.types import EditStyle, FileEdit, Launch, Service
from remedy.value import dataclass


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the operator asked for. ``timeout`` in seconds, None: from the unit and its earlier starts."""

    timeout: float | None = None
    edit: EditStyle | None = None
    prove: bool = True
    prewarm: bool = True
    keep_packages: bool = False


def plan_for(seen: Look, machine: Machine, wishes: Wishes) -> Plan:
    """The plan that would put the service right. Reads only."""
    from remedy.facts.apt import Apt
    from remedy.facts.mounts import writable
    from remedy.jit import resolve_all
    from remedy.plan.inputs import Inputs
    from remedy.plan.make import make

    inputs = Inputs(
        service=seen.service,
        launch=seen.launch,
        context=seen.context,
        resolutions=seen.resolutions,
        diagnosis=seen.diagnosis,
        manager=seen.manager,
        apt=Apt(machine.runner),
        resolve=resolve_all,
        style=wishes.edit,
        writable=writable,
        last_start=last_start(seen, machine),
    )
    return make(inputs)


def last_start(seen: Look, machine: Machine) -> float | None:
    """Seconds that the unit's last good start took; None where the journal holds none."""
    from remedy.facts.starts import last_good_start
    from remedy.gate.expect import expectation

    ready = expectation(seen.service, seen.launch).ready
    return last_good_start(machine.runner, seen.service.name, ready, user=seen.service.user_manager)


def apply_plan(seen: Look, machine: Machine, plan: Plan, wishes: Wishes, report: Report) -> Outcome:
    """Carry the plan out; the outcome says how it ended. Raises Refused where nothing was touched."""
    from remedy.change.transaction import apply

    return apply(plan, hooks(seen, machine, plan, wishes), report, keep_packages=wishes.keep_packages)


def hooks(seen: Look, machine: Machine, plan: Plan, wishes: Wishes) -> Hooks:
    """What the transaction asks of the rooms around it."""
    from remedy.gate.expect import expectation
    from remedy.show.secrets import redact

    service, launch = planned(seen, plan)
    expected = last_start(seen, machine)
    expect = expectation(service, launch, timeout=wishes.timeout, last_start=expected)

    def watch() -> Watch:
        return Watch(service.name, expect, user=service.user_manager)

    def diagnose(verdict: Verdict) -> Diagnosis:
        return after_failure(seen, verdict.log)

    return Hooks(
        watch=watch,
        prove=prover(seen, plan, service, launch) if wishes.prove else None,
        diagnose=diagnose,
        redact=redact,
        environment=tuple(launch.variables().items()),
    )


def planned(seen: Look, plan: Plan) -> tuple[Service, Launch]:
    """The service as it would be started after the plan's edits."""
    from remedy.unit.edit import effective
    from remedy.unit.launch import launch
    from remedy.view import Overlaid

    edits: tuple[FileEdit, ...] = tuple(step.edit for step in plan.steps if isinstance(step, EditFile))
    if not edits:
        return seen.service, seen.launch
    service = effective(seen.service.name, seen.view, edits, seen.manager)
    return service, launch(service, Overlaid(seen.view, {edit.path: edit.after for edit in edits}))


def prover(
    seen: Look, plan: Plan, service: Service, launch: Launch
) -> Callable[[Callable[[str], None]], str | None] | None:
    """The proof in the twin, None where no library that compiles here has a probe."""
    sources = probes(seen.resolutions)
    if not sources or launch.interpreter is None:
        return None
    interpreter = launch.interpreter

    def prove(tell: Callable[[str], None]) -> str | None:
        from remedy.change.twin import Probed
        from remedy.change.twin import prove as run

        def report(result: Probed) -> None:
            tell(f"{result.library}: {'built and loaded' if result.ok else 'failed'} in {result.seconds:.1f} s")

        from remedy.unit.specifiers import Subject

        subject = Subject(service.name, service.fragment or "", seen.manager, seen.view)
        twin = Twin(service, interpreter, launch.variables(), subject.expand, sources)
        proof = run(twin, report)
        if proof.ok:
            return disagreement(plan, proof.results)
        failed = next((result for result in proof.results if not result.ok), None)
        return f"{failed.library}: {telling_line(failed.error)}" if failed else proof.why

    return prove


def disagreement(plan: Plan, results: tuple[object, ...]) -> str | None:
    """Where a library took another toolkit than the planned one: the library is right, and the plan is not."""
    from remedy.change.twin import Probed

    for result in results:
        if isinstance(result, Probed) and plan.toolkit and result.toolkit and result.toolkit != plan.toolkit:
            return f"{result.library} takes {result.toolkit}, not {plan.toolkit}"
    return None


def probes(resolutions: tuple[Resolution, ...]) -> Mapping[str, str]:
    """The probe of every library that compiles with a toolkit here, by the library's name."""
    from importlib import resources

    found = {}
    folder = resources.files("remedy.jit").joinpath("probes")
    for resolution in resolutions:
        source = folder.joinpath(f"{resolution.library.replace('-', '_')}.py")
        if resolution.requires.components and source.is_file():
            found[resolution.library] = source.read_text("utf-8")
    return found


def telling_line(text: str) -> str:
    """The line of a failed build that says why: the cause's own evidence, else the last line."""
    from remedy.causes.engine import explain

    root = explain(text.splitlines()).root
    lines = [evidence.text for evidence in root.evidence if evidence.kind == "log"]
    if root.id != "unknown" and lines:
        return f"{lines[0].strip()} ({root.id})"
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return said[-1] if said else "no word of why"
