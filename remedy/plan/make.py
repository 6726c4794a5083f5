"""From what is wrong to what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from remedy.causes.types import Diagnosis
from remedy.plan import ahead
from remedy.plan.draft import Draft
from remedy.plan.inputs import Inputs
from remedy.plan.mends import mend_for
from remedy.plan.mends.caches import without
from remedy.plan.mends.start import let_it_finish
from remedy.plan.outlook import Outlook, foresee, present
from remedy.plan.task import Mend, Task
from remedy.plan.touched import touched
from remedy.plan.types import EditFile, InstallPackages, MoveCache, Plan, RestartUnit, Step
from remedy.value import replace

# Faults come in series, but not in long ones; the bound is for mends that would undo one another.
_ROUNDS: Final = 8

_MEGABYTE: Final = 10**6


def make(inputs: Inputs) -> Plan:
    """The plan for a diagnosed service. Its planned state is asked of every library again: what would break next is
    mended in the same plan, or the plan says that it is impossible, and why.
    """
    root = inputs.diagnosis.root
    nothing = Plan(inputs.service.name, root.id)
    if root.id == "healthy":
        return _ahead_of_its_next_start(inputs) or nothing
    if inputs.launch.container:
        return replace(nothing, impossible=_inside(inputs.launch.container))
    mend = mend_for(root.id) if root.mendable else None
    if mend is None:
        return replace(nothing, impossible=root.advice or root.summary)
    draft, outlook = _drafted(inputs, root.id, mend)
    why = draft.impossible or _obstacle(draft, outlook)
    if not why and not _has_effects(draft, outlook) and mend is not let_it_finish and not touched(inputs):
        why = f"nothing that is here now explains it, so there is nothing to change ({root.summary})"
    if why:
        return replace(nothing, impossible=why, rejected=draft.rejected, refused=outlook.refused)
    return _plan(inputs, draft, outlook)


def _ahead_of_its_next_start(inputs: Inputs) -> Plan | None:
    """The plan against what a service that runs would meet once it has to build a kernel anew; None where nothing waits
    for it, or nothing can be done about it: a service that runs is never touched without a gain.
    """
    doomed = {problem.cause for problem in present(inputs).fatal()}
    waiting = next((one for one in inputs.diagnosis.findings[1:] if one.mendable and one.id in doomed), None)
    if waiting is None:
        return None
    plan = make(replace(inputs, diagnosis=Diagnosis((replace(waiting, root=True),))))
    if all(isinstance(step, RestartUnit) for step in plan.steps):
        return None
    first = f"{plan.unit} runs well now: this mends what its next start with a cold cache would meet"
    return replace(plan, warnings=(first, *plan.warnings), interrupts=f"{plan.unit} runs well now")


def _still_at_it(inputs: Inputs) -> str | None:
    """What a restart would lose of a start that builds kernels now; None where that start is over."""
    state = inputs.snapshot.state
    if state is None or state.active_state not in ("active", "activating") or state.n_restarts:
        return None
    return f"{inputs.service.name} is being started now, and a restart loses the kernel that is being built"


def _inside(container: str) -> str:
    return f"the toolchain is inside the {container} image that the unit runs: mend the image, or choose another one"


def _drafted(inputs: Inputs, cause: str, mend: Mend) -> tuple[Draft, Outlook]:
    """The root cause mended, then whatever the planned state still holds, each kind of mend once."""
    draft, outlook = Draft(inputs.snapshot), present(inputs)
    used: list[Mend] = []
    for _ in range(_ROUNDS):
        used.append(mend)
        draft = mend(Task(cause, inputs, draft, outlook))
        if draft.impossible:
            return draft, outlook
        draft, outlook = _with_stale_moved(inputs, draft)
        following = next(_next(outlook, used), None)
        if following is None:
            break
        cause, mend = following
    return draft, outlook


def _with_stale_moved(inputs: Inputs, draft: Draft) -> tuple[Draft, Outlook]:
    """The draft with the cache entries moved that would keep the planned toolchain out of use."""
    outlook = foresee(inputs, draft)
    stale = [
        MoveCache(one.entry.path, one.entry.size, one.library, one.why)
        for resolution in outlook.resolutions
        for one in resolution.stale
    ]
    cleared = without(draft, stale)
    return (draft, outlook) if cleared == draft else (cleared, foresee(inputs, cleared))


def _next(outlook: Outlook, used: list[Mend]) -> Iterator[tuple[str, Mend]]:
    """The causes that would stop the planned service, with mends that have not been tried yet."""
    for problem in outlook.fatal():
        mend = mend_for(problem.cause)
        if mend and mend not in used:
            yield problem.cause, mend


def _obstacle(draft: Draft, outlook: Outlook) -> str | None:
    """Why the planned service would fail as well; None where nothing is known that would stop it."""
    left, effects = outlook.fatal(), _has_effects(draft, outlook)
    if outlook.refused and (left or not effects):
        first = outlook.refused[0]
        place = "" if first.place is None or str(first.place) in first.why else f" ({first.place})"
        return f"{first.name} can't be set where it counts: {first.why}{place}{_by_hand(draft, outlook)}"
    if left:
        return f"{'after these changes ' if effects else ''}{left[0].text}: no mend is known for that ({left[0].cause})"
    return None


def _by_hand(draft: Draft, outlook: Outlook) -> str:
    """What is left to the administrator where the file that decides isn't remedy's to write."""
    install = [
        f"`apt-get install {' '.join(one.requested)}`" for one in draft.installs if isinstance(one, InstallPackages)
    ]
    values = [f"{one.name}={draft.wanted[one.name]}" for one in outlook.refused if draft.wanted.get(one.name)]
    todo = [*install, *([f"write {' and '.join(values)} there"] if values else [])]
    return f". By hand: {', then '.join(todo)}" if todo else ""


def _has_effects(draft: Draft, outlook: Outlook) -> bool:
    """Whether the draft does more than start the service again."""
    return bool(outlook.edits or draft.installs or draft.moves)


def _plan(inputs: Inputs, draft: Draft, outlook: Outlook) -> Plan:
    edits = tuple(EditFile(edit) for edit in outlook.edits)
    reload = any(_is_unit_file(edit.path) for edit in outlook.edits)
    folders = tuple(dict.fromkeys(one.cache for one in outlook.resolutions if one.cache))
    restart = RestartUnit(inputs.service.name, daemon_reload=reload, expected=inputs.last_start, modules=folders)
    # The caches first: kernels are built into the room that is made, and files are edited after that.
    builds = tuple(ahead.modules(inputs, draft, outlook)) if inputs.prewarm else ()
    steps: tuple[Step, ...] = (*draft.installs, *draft.moves, *builds, *edits, restart)
    values = outlook.launch.variables()
    return Plan(
        unit=inputs.service.name,
        cause=inputs.diagnosis.root.id,
        steps=steps,
        toolkit=draft.toolkit.root if draft.toolkit else None,
        toolkit_version=draft.toolkit.version if draft.toolkit else None,
        wanted=tuple((name, values.get(name)) for name in draft.wanted),
        rejected=draft.rejected,
        refused=outlook.refused,
        warnings=(*draft.warnings, *_costs(inputs, outlook, steps)),
        interrupts=_still_at_it(inputs) if inputs.diagnosis.root.id == "jit-cold-start" else None,
    )


def _entries(moves: Sequence[MoveCache]) -> str:
    size = sum(move.size for move in moves) / _MEGABYTE
    return f"{len(moves)} cache entr{'y' if len(moves) == 1 else 'ies'} ({f'{size:.0f}' if size >= 1 else '<1'} MB)"


def _is_unit_file(path: str) -> bool:
    """Whether systemd reads a file at daemon-reload, not at each start as it does EnvironmentFile=."""
    return "/systemd/" in path and path.endswith((".service", ".conf"))


def _costs(inputs: Inputs, outlook: Outlook, steps: Iterable[Step]) -> Iterator[str]:
    """What the restart will take longer for, and what can't be promised."""
    locks = {lock for cache in inputs.snapshot.caches for lock in cache.locks}
    moves = [step for step in steps if isinstance(step, MoveCache) and not step.new and step.path not in locks]
    planned = outlook.resolutions if inputs.prewarm else ()
    soon = {build.arguments["path"] for build in ahead.builds(moves, planned, inputs.snapshot)}
    early = [move for move in moves if move.path in soon]
    moved = {move.path for move in moves}
    # Not moved, and built again all the same: --no-prewarm makes no room.
    again = [move for move in ahead.rebuilt(inputs, outlook) if move.path not in moved]
    late = [*(move for move in moves if move.path not in soon), *again]
    if early:
        yield f"{_entries(early)} will be built anew ahead of the restart: from seconds to some minutes each"
    if late:
        yield f"{_entries(late)} will be built anew at the next start: from seconds to some minutes each"
    if all(isinstance(step, RestartUnit) for step in steps):
        yield "nothing that is here now explains the failure any more: only the restart is left"
    if outlook.launch.unknown:
        yield f"the launch can't be followed to its end: {outlook.launch.unknown}"
