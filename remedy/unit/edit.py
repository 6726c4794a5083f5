"""Minimal edits of a service's files that make a value hold, checked against the unit as it would be.

For each wanted value, ways to write it are tried from the least to the most intrusive on a view of the machine as
it would be; the first after which the loaded unit and its launch chain hold the value, and nothing else has changed,
is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from remedy.overlay import Overlaid
from remedy.unit.edit_place import Writable
from remedy.unit.edit_quoting import writable_text
from remedy.unit.edit_settings import setting_holds, ways_for_setting
from remedy.unit.edit_state import Situation, Way
from remedy.unit.edit_variables import decided_by_chain, holds, kin_file, ways_for_variable
from remedy.unit.launch import launch
from remedy.unit.load import load
from remedy.unit.types import EditRefused, EditStyle, FileEdit, Manager, Service
from remedy.unit.values import is_name
from remedy.value import replace
from remedy.view import View

_IMPOSSIBLE = "no variable of a unit file can have this name or value"
_UNDONE = "the value of another wanted variable changes this one as well"

Edited = tuple[tuple[FileEdit, ...], tuple[EditRefused, ...]]


def effective(name: str, view: View, edits: Iterable[FileEdit], manager: Manager) -> Service:
    """The service as systemd would load it after the edits."""
    return load(name, Overlaid(view, {edit.path: edit.after for edit in edits}), manager)


def set_environment(
    service: Service,
    view: View,
    manager: Manager,
    wanted: Mapping[str, str | None],
    style: EditStyle | None = None,
    writable: Writable | None = None,
) -> Edited:
    """Edits after which the service's process gets the wanted values; None stands for unset.

    What holds already is left as it is written. ``style`` forces the files themselves or a drop-in; ``writable``
    tells of paths that a write would fail on.
    """
    start = _situation(service, view, manager, style, writable)
    if isinstance(start, str):
        return (), tuple(EditRefused(name, start) for name in wanted)
    start = replace(start, kin=kin_file(start, wanted))
    good = {name: value for name, value in wanted.items() if is_name(name) and _can_hold(value)}
    state, why = start, {name: EditRefused(name, _IMPOSSIBLE) for name in wanted if name not in good}
    # What a script derives from a variable may come out right by itself once that variable is set: twice through,
    # what the launch chain decides last.
    decided = sorted(good, key=lambda name: decided_by_chain(start, name))
    for name in (*decided, *decided):
        if not holds(state, name, good[name]):
            found = _first_that_holds(state, ways_for_variable(state, name, good[name]), name, good[name])
            if isinstance(found, EditRefused):
                why[name] = found
            else:
                state = found
    lost = {name for name in wanted if name not in good or not holds(state, name, good[name])}
    return state.edits(), tuple(why.get(name) or EditRefused(name, _UNDONE) for name in wanted if name in lost)


def _can_hold(value: str | None) -> bool:
    return value is None or writable_text(value)


def set_setting(
    service: Service,
    view: View,
    manager: Manager,
    section: str,
    name: str,
    value: str | None,
    style: EditStyle | None = None,
    writable: Writable | None = None,
) -> Edited:
    """Edits after which a setting has this value, written as unit files write it; None for its default.

    In a setting that is a list of names (After=, CacheDirectory=, …) the value's words are added.
    """
    start = _situation(service, view, manager, style, writable)
    if isinstance(start, str):
        return (), (EditRefused(f"{name}=", start),)
    if setting_holds(start, section, name, value):
        return (), ()
    why: EditRefused | None = None
    for way in ways_for_setting(start, section, name, value):
        if way.refused is not None:
            why = why or way.refused
            continue
        state = start.after(way)
        if setting_holds(state, section, name, value) and not state.breaks(start, way):
            return state.edits(), ()
    return (), (why or EditRefused(f"{name}=", "no way to write it makes the unit hold the value"),)


def _situation(
    service: Service, view: View, manager: Manager, style: EditStyle | None, writable: Writable | None
) -> Situation | str:
    if service.load_state != "loaded":
        return f"systemd can't load the unit ({service.load_state})"
    if service.environment is None:
        faults = [f for f in service.faults if f.kind.startswith("environment-file") or f.kind == "user-unknown"]
        return f"the unit can't start: {faults[-1].text}" if faults else "the unit can't start"
    return Situation(view, manager, service, launch(service, view), style, writable)


def _first_that_holds(state: Situation, ways: Iterable[Way], name: str, value: str | None) -> Situation | EditRefused:
    refused: EditRefused | None = None
    for way in ways:
        if way.refused is not None:
            refused = refused or way.refused
            continue
        after = state.after(way)
        if holds(after, name, value) and not (after.breaks(state, way) or after.disturbs(state, name)):
            return after
    return refused or EditRefused(name, "no way to write it makes the unit hold the value", state.place_of(name))
