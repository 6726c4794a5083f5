"""The plan, for people and for programs: what would change, in order, and why not otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from remedy.hints import Any
from remedy.plan.types import BuildToolkit, EditFile, InstallPackages, MoveCache, PackageChange, Plan, RestartUnit, Step
from remedy.show.diff import unified
from remedy.show.text import bold, cells, dotted, duration, padded, plain, size, wrap

SCHEMA = 1
Redact = Callable[[str], str]

# Cache entries that are worth a line each; of the others the number is said, and the JSON names all.
_SHOWN_ENTRIES = 12
# Columns for what was not taken or not set; most toolkits' paths fit.
_LABEL = 22


def plan_json(plan: Plan, redact: Redact) -> dict[str, Any]:
    """The plan as ``fix --json`` prints it; diffs have their secrets removed."""
    return {
        "schema": SCHEMA,
        "unit": plan.unit,
        "cause": plan.cause,
        "toolkit": plan.toolkit,
        "toolkit_version": dotted(plan.toolkit_version) if plan.toolkit_version else None,
        "steps": [step_json(step, redact) for step in plan.steps],
        "wanted": dict(plan.wanted),
        "rejected": [{"candidate": one.candidate, "why": one.why} for one in plan.rejected],
        "refused": [
            {"name": one.name, "why": one.why, "source": str(one.place) if one.place else None} for one in plan.refused
        ],
        "warnings": list(plan.warnings),
        "impossible": plan.impossible,
        "interrupts": plan.interrupts,
    }


def step_json(step: Step, redact: Redact) -> dict[str, Any]:
    """One step; ``kind`` says which."""
    if isinstance(step, InstallPackages):
        return {
            "kind": "install-packages",
            "requested": list(step.requested),
            "packages": [package_json(change) for change in step.changes],
            "download": step.download,
            "toolkit": step.toolkit_root or None,
            "held": dict(step.hold_alternatives),
            "reason": step.reason,
        }
    if isinstance(step, BuildToolkit):
        return {
            "kind": "build-toolkit",
            "requirements": list(step.requirements),
            "toolkit": step.root,
            "reason": step.reason,
        }
    if isinstance(step, EditFile):
        edit = step.edit
        return {
            "kind": "edit-file",
            "path": edit.path,
            "new": edit.before is None,
            "diff": unified(edit, redact),
            "reason": edit.reason,
        }
    if isinstance(step, MoveCache):
        return {
            "kind": "build-kernel" if step.new else "move-cache",
            "path": step.path,
            "size": step.size,
            "library": step.library,
            "reason": step.reason,
        }
    return {
        "kind": "restart-unit",
        "unit": step.unit,
        "daemon_reload": step.daemon_reload,
        "expected": step.expected,
    }


def package_json(change: PackageChange) -> dict[str, Any]:
    """One package; sizes in bytes."""
    return {
        "name": change.name,
        "version": change.version,
        "old_version": change.old_version,
        "download": change.download,
        "installed": change.installed,
        "origin": change.origin,
    }


def plan_text(plan: Plan, redact: Redact, columns: int = 80, proven: Sequence[str] = ()) -> str:
    """The preview: the aim in a line, the steps numbered, why not another way, and what to know. What is ``proven``
    stands where that is done: with the toolkit there, and before anything of the service is touched."""
    if plan.impossible:
        heading = wrap(f"{plan.unit}: {plan.cause}: remedy can't mend this: {plain(plan.impossible)}", columns=columns)
        return "\n\n".join([bold(heading), *_asides(plan, columns)])
    if not plan.steps:
        return f"{plan.unit}: nothing to do."
    parts = [bold(wrap(_aim(plan), columns=columns))]
    groups = [list(group) for _, group in groupby(plan.steps, key=type)]
    items = [item for group in groups for item in _items(group)]
    for number, item in enumerate(items, start=1):
        if proven and not isinstance(item[0], (InstallPackages, BuildToolkit)):
            parts.append(_proof_text(proven, columns))
            proven = ()
        parts.append(step_text(f"{number}. ", item, redact, columns))
    return "\n\n".join([*parts, *_asides(plan, columns)])


def _aim(plan: Plan) -> str:
    if plan.toolkit:
        return f"{plan.unit}: mend {plan.cause} with CUDA {dotted(plan.toolkit_version)} in {plan.toolkit}"
    return f"{plan.unit}: mend {plan.cause}"


def _proof_text(libraries: Sequence[str], columns: int) -> str:
    *others, last = libraries
    names = f"{', '.join(others)} and {last}" if others else last
    text = (
        f"Proof: kernels of {names} are compiled, linked and loaded as the service's user, in the planned environment."
    )
    return wrap(f"{text} Where that fails, the service is not touched.", 3, columns)


def _items(group: list[Step]) -> Iterator[list[Step]]:
    """The steps that are shown as one: all cache entries together, any other by itself."""
    if isinstance(group[0], MoveCache):
        yield from (list(part) for _, part in groupby(group, key=lambda step: isinstance(step, MoveCache) and step.new))
    else:
        yield from ([step] for step in group)


def step_text(number: str, steps: Sequence[Step], redact: Redact, columns: int) -> str:
    """One numbered item of the preview."""
    first = steps[0]
    if isinstance(first, InstallPackages):
        return _install_text(number, first, columns)
    if isinstance(first, BuildToolkit):
        heading = f"{number}Lay out PyPI's wheels as a toolkit in {first.root}"
        lines = [f"     {name.replace('==', ' ')}" for name in first.requirements]
        return "\n".join([heading, wrap(first.reason, 3, columns), *lines])
    if isinstance(first, EditFile):
        verb = "Create" if first.edit.before is None else "Edit"
        reason = [wrap(first.edit.reason, 3, columns)] if first.edit.reason else []
        diff = [f"   {plain(line)}" for line in unified(first.edit, redact).splitlines()]
        return "\n".join([f"{number}{verb} {first.edit.path}", *reason, *diff])
    if isinstance(first, MoveCache):
        return _caches_text(number, [step for step in steps if isinstance(step, MoveCache)], columns)
    return _restart_text(number, first, columns)


def _install_text(number: str, step: InstallPackages, columns: int) -> str:
    changes = step.changes
    count = f"{len(changes)} package{'s' if len(changes) != 1 else ''}"
    disk = sum(change.installed for change in changes)
    # Installed-Size is not mandatory in a package index: a sum without it would be too small.
    whole = all(change.installed for change in changes)
    on_disk = f", {size(disk)} on disk" if whole else ""
    heading = wrap(f"{number}Install {count} with apt: {size(step.download)} to download{on_disk}", 0, columns, 3)
    names = max((len(change.name) for change in changes), default=0)
    versions = max((len(_version(change)) for change in changes), default=0)
    table = [
        f"     {change.name:<{names}}  {_version(change):<{versions}}  {size(change.download):>8}"
        for change in sorted(changes, key=lambda change: (not _asked(change, step), change.name))
    ]
    return "\n".join([heading, *([wrap(step.reason, 3, columns)] if step.reason else []), *table])


def _version(change: PackageChange) -> str:
    return f"{change.version} (now {change.old_version})" if change.old_version else change.version


def _asked(change: PackageChange, step: InstallPackages) -> bool:
    return any(requested.partition("=")[0] == change.name for requested in step.requested)


def _caches_text(number: str, moves: Sequence[MoveCache], columns: int) -> str:
    if moves[0].new:
        return _kernels_text(number, moves, columns)
    total = size(sum(move.size for move in moves))
    entries = f"{len(moves)} stale cache entr{'ies' if len(moves) != 1 else 'y'}"
    heading = wrap(
        f"{number}Move {entries} aside, {total}; deleted once the service is healthy, put back otherwise", 0, columns, 3
    )
    shown = [
        f"     {move.path}, {size(move.size)}\n{wrap(plain(move.reason), 7, columns)}"
        for move in moves[:_SHOWN_ENTRIES]
    ]
    more = [f"     and {len(moves) - _SHOWN_ENTRIES} more"] if len(moves) > _SHOWN_ENTRIES else []
    return "\n".join([heading, *shown, *more])


def _kernels_text(number: str, moves: Sequence[MoveCache], columns: int) -> str:
    folder = moves[0].path.rpartition("/")[0]
    heading = f"{number}Build {len(moves)} kernel module{'s' if len(moves) != 1 else ''} ahead of the restart"
    lines = [wrap(f"{heading}, in {folder}; removed again if the start fails", 0, columns, 3)]
    for move in moves[:_SHOWN_ENTRIES]:
        lines.append(wrap(f"{move.path.rpartition('/')[2]}: {plain(move.reason)}", 5, columns, 7))
    more = [f"     and {len(moves) - _SHOWN_ENTRIES} more"] if len(moves) > _SHOWN_ENTRIES else []
    return "\n".join([*lines, *more])


def _restart_text(number: str, step: RestartUnit, columns: int) -> str:
    reload = "daemon-reload, then restart" if step.daemon_reload else "Restart"
    took = f"; the last good start took {duration(step.expected)}" if step.expected else ""
    text = f"{number}{reload[0].upper()}{reload[1:]} {step.unit}{took}. It is watched, and all is undone if it fails."
    return wrap(text, 0, columns, 3)


def _asides(plan: Plan, columns: int) -> Iterator[str]:
    """Why not another toolkit, what could not be set, and what to know."""
    if plan.rejected:
        yield "Why not\n" + _reasons(((one.candidate, one.why) for one in plan.rejected), columns)
    if plan.refused:
        pairs = ((one.name, f"{one.why} ({one.place})" if one.place else one.why) for one in plan.refused)
        yield "Not set\n" + _reasons(pairs, columns)
    if plan.warnings:
        yield "To know\n" + "\n".join(wrap(f"- {plain(text)}", 2, columns, 4) for text in plan.warnings)


def _reasons(pairs: Iterable[tuple[str, str]], columns: int) -> str:
    """Name and reason in two columns; a name that is too long for that has its reason below it."""
    lines = []
    for name, why in ((plain(name), plain(why)) for name, why in pairs):
        if cells(name) > _LABEL:
            lines += [wrap(name, 2, columns), wrap(why, 4 + _LABEL, columns)]
        else:
            lines.append(wrap(f"{padded(name, _LABEL)}  {why}", 2, columns, 4 + _LABEL))
    return "\n".join(lines)
