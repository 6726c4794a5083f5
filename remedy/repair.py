"""The way on from a diagnosis: the plan, and the change with its proof and its watch, in a unit of its own."""

from __future__ import annotations

from collections.abc import Callable

from remedy.causes.types import Diagnosis
from remedy.change.again import command
from remedy.change.detached import Apply, Choice, Undo, request, start
from remedy.change.interrupts import Interrupts
from remedy.change.types import Hooks, Outcome, Report
from remedy.errors import Refused, RemedyError
from remedy.gate.types import Verdict
from remedy.gate.watch import Watch
from remedy.plan.types import EditFile, Plan, RestartUnit
from remedy.prewarm import prewarmer
from remedy.proof import prover
from remedy.road import Look, Machine, after_failure, last_start, load_service, look, this_machine
from remedy.unit.types import EditStyle, FileEdit, Launch, Service
from remedy.value import dataclass


@dataclass(frozen=True)
class Wishes:
    """What the operator asked for. ``timeout`` in seconds, None: from the unit and its earlier starts; ``gpu_arch``
    overrides what the GPUs say; ``user``: the user manager's unit; ``restart``: also a service that does not fail
    now."""

    timeout: float | None = None
    edit: EditStyle | None = None
    prove: bool = True
    prewarm: bool = True
    keep_packages: bool = False
    gpu_arch: str | None = None
    user: bool = False
    restart: bool = False


_WORKER = "remedy.worker"


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
        last_start=last_start(seen.service, seen.launch, machine),
        prewarm=wishes.prewarm,
    )
    return make(inputs)


def left_alone(plan: Plan, wishes: Wishes) -> str | None:
    """Why the plan is not carried out without a question, and the word that does it; None where nothing speaks against
    it. To agree to changes (``--yes``) is not to agree to an outage: weights may take ten minutes to load.
    """
    if not plan.interrupts or wishes.restart:
        return None
    took = next((step.expected for step in plan.steps if isinstance(step, RestartUnit) and step.expected), None)
    last = f"; its last good start took {took:.0f} s" if took else ""
    return f"{plan.interrupts}{last}. When it may be interrupted: remedy fix {plan.unit} --restart"


def apply_plan(plan: Plan, wishes: Wishes, report: Report, ask: Callable[[], Choice]) -> Outcome:
    """Have the plan carried out in a unit of its own, and follow it; the outcome says how it ended.

    ``ask`` is called at the first Ctrl-C. Raises Refused where nothing was touched.
    """
    from remedy.change import codec

    if wishes.user:
        restart = f"systemctl --user daemon-reload && systemctl --user restart {plan.unit}"
        raise Refused("only units of the system manager are changed", hint=f"edit as the plan shows, then: {restart}")
    return start(command(_WORKER), request(Apply(plan, codec.dumps(wishes))), report, ask)


def undo(transaction: str | None, report: Report, ask: Callable[[], Choice]) -> Outcome:
    """Have a kept change (None: the latest) undone in a unit of its own, and follow it. Raises as ``apply_plan``."""
    return start(command(_WORKER), request(Undo(transaction)), report, ask)


def carry_out(plan: Plan, wishes: Wishes, report: Report, interrupts: Interrupts) -> Outcome:
    """The unit's side of ``apply_plan``: look at the machine again, and carry the plan out."""
    from remedy.change.transaction import apply

    with interrupts.raising():
        seen = look(plan.unit, this_machine(), gpu_arch=wishes.gpu_arch)
        asked = hooks(seen, plan, wishes)
    return apply(plan, asked, report, keep_packages=wishes.keep_packages, interrupts=interrupts)


def hooks_for(plan: Plan) -> Hooks | None:
    """The watch for the old service's start; None where the unit can't be loaded any more."""
    from remedy.gate.expect import expectation
    from remedy.unit.launch import launch

    machine = this_machine()

    def watch() -> Watch:
        service = load_service(plan.unit, machine)
        return Watch(service.name, expectation(service, launch(service, machine.view), machine.view))

    try:
        load_service(plan.unit, machine)
    except RemedyError:
        return None
    return Hooks(watch=watch)


def hooks(seen: Look, plan: Plan, wishes: Wishes) -> Hooks:
    """What the transaction asks of the rooms around it."""
    from remedy.gate.expect import expectation
    from remedy.show.secrets import redact

    service, launch = planned(seen, plan)
    expected = next((step.expected for step in plan.steps if isinstance(step, RestartUnit)), None)
    expect = expectation(service, launch, seen.view, timeout=wishes.timeout, last_start=expected)

    def watch() -> Watch:
        return Watch(service.name, expect, user=service.user_manager)

    def diagnose(verdict: Verdict) -> Diagnosis:
        return after_failure(service.name, verdict.log, user=service.user_manager)

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
    from remedy.overlay import Overlaid
    from remedy.unit.edit import effective
    from remedy.unit.launch import launch

    edits: tuple[FileEdit, ...] = tuple(step.edit for step in plan.steps if isinstance(step, EditFile))
    if not edits:
        return seen.service, seen.launch
    service = effective(seen.service.name, seen.view, edits, seen.manager)
    return service, launch(service, Overlaid(seen.view, {edit.path: edit.after for edit in edits}))
