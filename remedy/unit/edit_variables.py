"""The ways in which one variable can be set or unset, from the least to the most intrusive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from remedy.unit import glob
from remedy.unit.document import parse
from remedy.unit.edit_drop_in import drop_in_ways
from remedy.unit.edit_envfile import with_file_line, with_file_value, without_export, without_file_value
from remedy.unit.edit_lines import (
    Spot,
    assignment_at,
    environment_line,
    setting_line,
    settings,
    spots,
    with_inner_value,
    with_value,
    without,
)
from remedy.unit.edit_script import keeps_script, with_script_value
from remedy.unit.edit_state import Situation, Way
from remedy.unit.types import SYSTEMD, EditRefused, Place
from remedy.value import replace
from remedy.view import is_executable

_COMPILERS = ("nvcc", "ptxas", "python", "python3", "ninja", "gcc", "g++")
_ROUNDS = 50


def holds(state: Situation, name: str, value: str | None) -> bool:
    """Whether the process gets the value.

    A PATH whose front the launch chain decides (an activated environment) holds where the rest is as wanted, and
    what stands in front leads to no other compiler or interpreter than the wanted PATH.
    """
    found = state.launch.environment.get(name)
    if value is None or found is None:
        return value is None and found is None
    return found.value == value or (name == "PATH" and _same_path(state, found.value, value))


def _same_path(state: Situation, found: str, wanted: str) -> bool:
    inner = state.service.variables().get("PATH")
    if not inner or not found.endswith(f":{inner}"):
        return False
    front = found[: -len(inner) - 1].split(":")
    entries = wanted.split(":")
    if not set(front) <= set(entries):
        return False
    rest = [entry for entry in entries if entry not in front]
    if [entry for entry in inner.split(":") if entry not in front] != rest:
        return False
    return all(_first(state, name, found) == _first(state, name, wanted) for name in _COMPILERS)


def _first(state: Situation, program: str, path: str) -> str | None:
    return next((entry for entry in path.split(":") if is_executable(state.view, f"{entry}/{program}")), None)


def kin_file(state: Situation, wanted: Mapping[str, str | None]) -> str | None:
    """The file for variables that are new: where most of the wanted ones are set, else where most variables are."""
    variables = state.service.environment or {}
    owned = [v for v in variables.values() if v.source != SYSTEMD and _assigns(state, v.name, v.source)]
    for group in ([v for v in owned if v.name in wanted], owned):
        counted = Counter(v.source.path for v in group if state.kept(v.source.path) is None)
        if counted:
            return counted.most_common(1)[0][0]
    return None


def _assigns(state: Situation, name: str, place: Place) -> bool:
    """Whether a place is an assignment of the variable, and not User= or PassEnvironment=."""
    if place.path not in state.files:
        return any(place.path in glob.expand(state.view, one.path) for one in state.service.environment_files)
    return assignment_at(state.document(place.path), "Environment", name, place.line) is not None


def decided_by_chain(state: Situation, name: str) -> bool:
    """Whether the process's value comes from the launch chain and not from the unit's environment."""
    own, decided = (state.service.environment or {}).get(name), state.launch.environment.get(name)
    return decided is not None and (own is None or own.source != decided.source)


def ways_for_variable(state: Situation, name: str, value: str | None) -> Iterator[Way]:
    """All ways, the best first. Whether one works is for the caller to see."""
    if not decided_by_chain(state, name):
        yield from _unit_ways(state, name, value)
        return
    # A script may only add to what the unit says, or give way to it (${NAME:-value}).
    decided = state.launch.environment[name]
    inner = _inner_value(state.service.variables().get(name), decided.value, value)
    yield from (way for way in _unit_ways(state, name, inner) if way.refused is None)
    yield from _chain_ways(state, name, value, decided.source)


def _unit_ways(state: Situation, name: str, value: str | None) -> Iterator[Way]:
    yield from _unset_ways(state, name) if value is None else _set_ways(state, name, value)


def _inner_value(own: str | None, found: str, wanted: str | None) -> str | None:
    """What the unit must say for the launch chain, which puts something in front, to make the wanted value of it."""
    if wanted is None or not own or not found.endswith(own):
        return wanted
    front = found[: -len(own)]
    if wanted.startswith(front):
        return wanted[len(front) :]
    entries = front.rstrip(":").split(":")
    return ":".join(entry for entry in wanted.split(":") if entry not in entries)


def _chain_ways(state: Situation, name: str, value: str | None, place: Place) -> Iterator[Way]:
    """The value is decided after the unit's environment: by ``env NAME=…`` in ExecStart=, or in a script."""
    why = f"{place} sets it after the unit's environment"
    if place.path in state.files:
        kept = state.kept(place.path)
        if kept is None and state.in_place:
            for data in _commands(state, name, value, place):
                yield Way({place.path: data}, name, "set by ExecStart= itself", command=True)
        elif kept is not None:
            why = f"{why}; {kept}"
    elif place.line:
        kept = keeps_script(state.view, place.path)
        if kept is None and value is not None:
            own = state.service.variables().get(name)
            changed = with_script_value(state.data(place.path), place.line, name, value, own)
            if changed is None:
                why = f"{why}, in a way that is no plain assignment"
            elif state.in_place:
                yield Way({place.path: changed}, name, "set by this script")
        elif kept is not None:
            why = f"{why}, and that script may not be changed: {kept}"
    yield Way(refused=EditRefused(name, why, place))


def _commands(state: Situation, name: str, value: str | None, place: Place) -> Iterator[bytes]:
    """The unit file with the value in the command line itself: as a word of ``env``, or in the string of a shell."""
    document = state.document(place.path)
    spot = assignment_at(document, "ExecStart", name, place.line)
    if spot is not None:
        yield without(document, spot) if value is None else with_value(document, spot, name, value, command=True)
    if value is not None:
        own = state.service.variables().get(name)
        inner = with_inner_value(document, place.line, name, value, own)
        if inner is not None:
            yield inner


def _set_ways(state: Situation, name: str, value: str) -> Iterator[Way]:
    own = (state.service.environment or {}).get(name)
    source = own.source if own else None
    hidden = _unset_spots(state, name)
    if state.in_place:
        for way in _in_place_ways(state, name, value, source):
            yield _uncovered(state, way, name) if hidden else way
    if state.style != "in-place":
        over_file = source is not None and source.path not in state.files and _assigns(state, name, source)
        yield from drop_in_ways(state, name, value, over_file=over_file)


def _in_place_ways(state: Situation, name: str, value: str, source: Place | None) -> Iterator[Way]:
    if source is not None and _assigns(state, name, source):
        kept = state.kept(source.path)
        if kept is not None:
            yield Way(refused=EditRefused(name, kept, source))
        elif source.path in state.files:
            document = state.document(source.path)
            spot = assignment_at(document, "Environment", name, source.line)
            if spot is not None:
                yield Way({source.path: with_value(document, spot, name, value)}, name, "the line that wins is here")
        else:
            data = with_file_value(state.data(source.path), name, value, state.manager.version)
            if data is not None:
                yield Way({source.path: data}, name, "the line that wins is here, over any Environment= line")
        return
    version = state.manager.version
    for fault in state.service.faults:
        if fault.kind == "environment-file-export" and state.kept(fault.place.path) is None:
            changed = without_export(state.data(fault.place.path), name, value, version)
            if changed is not None:
                yield Way({fault.place.path: changed}, name, "ignored as long as the line says export")
    for path in _files_for_new(state):
        if path in state.files:
            data = environment_line(state.document(path), name, value)
        else:
            data = with_file_line(state.data(path), name, value, version)
        yield Way({path: data}, name, "new, beside the other variables")


def _files_for_new(state: Situation) -> list[str]:
    """Files that can take a new line: its kin's, those that have Environment= lines, the unit, its other drop-ins.

    Of equals the one that is read last comes first.
    """
    owned = [path for path in state.files if state.kept(path) is None]
    having = [path for path in owned if any(e.value for e in settings(state.document(path), "Service", "Environment"))]
    first = [state.kin] if state.kin else []
    fragment = [path for path in owned if path == state.service.fragment]
    return list(dict.fromkeys([*first, *reversed(having), *fragment, *reversed(owned)]))


def _unset_spots(state: Situation, name: str) -> list[tuple[str, Spot]]:
    """Where UnsetEnvironment= takes the variable away."""
    return [
        (path, spot)
        for path in state.files
        for entry in settings(state.document(path), "Service", "UnsetEnvironment")
        for spot in spots(entry)
        if spot.word.partition("=")[0] == name
    ]


def _uncovered(state: Situation, way: Way, name: str) -> Way:
    """The same way, with the variable taken out of UnsetEnvironment= first."""
    if way.refused is not None:
        return way
    files = dict(way.files)
    for path, _ in _unset_spots(state, name):
        if state.kept(path) is not None:
            return way
        document = parse(files.get(path, state.data(path)))
        for entry in settings(document, "Service", "UnsetEnvironment"):
            for spot in spots(entry):
                if spot.word.partition("=")[0] == name:
                    files[path] = without(document, spot)
                    document = parse(files[path])
                    break
    return replace(way, files=files)


def _unset_ways(state: Situation, name: str) -> Iterator[Way]:
    if state.in_place:
        yield _removed(state, name)
        for path in _files_for_new(state):
            if path in state.files:
                data = setting_line(state.document(path), "Service", "UnsetEnvironment", name)
                yield Way({path: data}, name, "comes from outside the unit")
    if state.style != "in-place":
        yield from drop_in_ways(state, name, None, over_file=False)


def _removed(state: Situation, name: str) -> Way:
    """Every assignment of the variable taken out, the deciding one first."""
    files: dict[str, bytes] = {}
    current = state
    for _ in range(_ROUNDS):
        found = (current.service.environment or {}).get(name)
        if found is None or not _assigns(current, name, found.source):
            break
        path = found.source.path
        if (kept := current.kept(path)) is not None:
            return Way(refused=EditRefused(name, kept, found.source))
        data = _without_variable(current, name, found.source)
        if data is None:
            break
        files[path] = data
        current = current.after(Way({path: data}))
    return Way(files, name, "taken out")


def _without_variable(state: Situation, name: str, place: Place) -> bytes | None:
    if place.path not in state.files:
        return without_file_value(state.data(place.path), name, state.manager.version)
    document = state.document(place.path)
    spot = assignment_at(document, "Environment", name, place.line)
    return without(document, spot) if spot else None
