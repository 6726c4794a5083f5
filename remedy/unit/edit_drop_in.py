"""remedy's own drop-in: made, or changed where it is there already."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.unit.document import Document, parse
from remedy.unit.edit_envfile import with_file_line, with_file_value
from remedy.unit.edit_lines import environment_line, setting_line, settings, spots, with_value, without
from remedy.unit.edit_place import drop_in_paths
from remedy.unit.edit_state import Situation, Way
from remedy.unit.types import EditRefused
from remedy.unit.values import is_name

HEADER = b"# Written by remedy: `remedy history` tells why, `remedy rollback` takes it back.\n"


def paths(state: Situation) -> list[str]:
    """The drop-ins that can be used, one that is there already first."""
    found = drop_in_paths(state.service, state.view, state.manager, state.writable)
    return sorted(found, key=lambda path: path not in state.service.drop_ins)


def text_of(state: Situation, path: str) -> Document:
    """The drop-in as it would be, or the beginning of a new one."""
    return parse(state.data(path) or HEADER)


def drop_in_ways(state: Situation, name: str, value: str | None, *, over_file: bool) -> Iterator[Way]:
    """Ways to set or unset a variable in the drop-in; ``over_file`` where an EnvironmentFile= decides it now."""
    found = paths(state)
    if not found:
        yield Way(refused=EditRefused(name, f"no drop-in of {state.service.id or state.service.name} can be written"))
    for path in found:
        document = text_of(state, path)
        if value is None:
            data = setting_line(_without_assignments(document, name), "Service", "UnsetEnvironment", name)
            yield Way({path: data}, name, "taken away after all other files")
            continue
        document = _uncovered(state, document, name)
        if over_file:
            yield _with_environment_file(state, path, document, name, value)
        else:
            yield Way({path: _with_assignment(document, name, value)}, name, "set after all other files")


def _with_assignment(document: Document, name: str, value: str) -> bytes:
    for entry in reversed(settings(document, "Service", "Environment")):
        for spot in reversed(spots(entry)):
            if spot.word.partition("=")[0] == name:
                return with_value(document, spot, name, value)
    return environment_line(document, name, value)


def _without_assignments(document: Document, name: str) -> Document:
    for entry in settings(document, "Service", "Environment"):
        for spot in spots(entry):
            if spot.word.partition("=")[0] == name:
                return _without_assignments(parse(without(document, spot)), name)
    return document


def _with_environment_file(state: Situation, path: str, document: Document, name: str, value: str) -> Way:
    """Nothing but a later EnvironmentFile= wins over one: systemd.exec(5), "EnvironmentFile="."""
    file = f"{posixpath.dirname(path)}/{posixpath.basename(path).removesuffix('.conf')}.env"
    version = state.manager.version
    old = state.data(file)
    content = with_file_value(old, name, value, version) or with_file_line(old or HEADER, name, value, version)
    written = file.replace("%", "%%")
    if any(entry.value == written for entry in settings(document, "Service", "EnvironmentFile")):
        data = document.encode()
    else:
        data = setting_line(document, "Service", "EnvironmentFile", written)
    return Way({file: content, path: data}, name, "an EnvironmentFile= has it, which only a later one overrides")


def _uncovered(state: Situation, document: Document, name: str) -> Document:
    """A new list of UnsetEnvironment= without the variable, where that setting takes it away."""
    words = [word for one in state.service.values("Service", "UnsetEnvironment") for word in one.value.split()]
    if not any(word.partition("=")[0] == name for word in words):
        return document
    lines = ["", *(word for word in words if word.partition("=")[0] != name and is_name(word.partition("=")[0]))]
    for line in lines:
        document = parse(setting_line(document, "Service", "UnsetEnvironment", line))
    return document
