"""The way on from a diagnosis: the plan, and the change with its proof and its watch."""

from __future__ import annotations

from remedy.causes.types import Diagnosis
from remedy.change.types import Hooks, Outcome, Report
from remedy.gate.types import Verdict
from remedy.gate.watch import Watch
from remedy.plan.types import EditFile, Plan, RestartUnit
from remedy.prewarm import prewarmer
from remedy.proof import prover
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
        prewarm=wishes.prewarm,
    )
    return make(inputs)


def last_start(seen: Look, machine: Machine) -> float | None:
    """Seconds that the unit's last good start took; None where the journal holds none."""
    from remedy.facts.starts import last_good_start
    from remedy.gate.expect import expectation

    ready = expectation(seen.service, seen.launch).ready
    return last_good_start(machine.runner, seen.service.name, ready, user=seen.service.user_manager)


def apply_plan(seen: Look, plan: Plan, wishes: Wishes, report: Report) -> Outcome:
    """Carry the plan out; the outcome says how it ended. Raises Refused where nothing was touched."""
    from remedy.change.transaction import apply

    return apply(plan, hooks(seen, plan, wishes), report, keep_packages=wishes.keep_packages)


def hooks(seen: Look, plan: Plan, wishes: Wishes) -> Hooks:
    """What the transaction asks of the rooms around it."""
    from remedy.gate.expect import expectation
    from remedy.show.secrets import redact

    service, launch = planned(seen, plan)
    expected = next((step.expected for step in plan.steps if isinstance(step, RestartUnit)), None)
    expect = expectation(service, launch, timeout=wishes.timeout, last_start=expected)

    def watch() -> Watch:
        return Watch(service.name, expect, user=service.user_manager)

    def diagnose(verdict: Verdict) -> Diagnosis:
        return after_failure(seen, verdict.log)

    return Hooks(
        watch=watch,
        prove=prover(seen, plan, service, launch) if wishes.prove else None,
        prewarm=prewarmer(seen, plan, service, launch) if wishes.prewarm else None,
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
