"""The ways in which a setting other than the environment can be given a value."""

from __future__ import annotations

from collections.abc import Iterator

from remedy.unit.document import parse
from remedy.unit.edit_drop_in import paths, text_of
from remedy.unit.edit_lines import setting_line, settings, with_setting_value, without_setting
from remedy.unit.edit_state import Situation, Way
from remedy.unit.types import EditRefused

# Settings whose lines add up: systemd.unit(5), systemd.exec(5).
LISTS = frozenset((
    "After", "Before", "Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Conflicts", "OnFailure",
    "RequiresMountsFor", "Documentation", "CacheDirectory", "StateDirectory", "RuntimeDirectory", "LogsDirectory",
    "ConfigurationDirectory", "ReadWritePaths", "ReadOnlyPaths", "BindPaths", "BindReadOnlyPaths",
    "SupplementaryGroups", "DeviceAllow", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment", "ExecStartPre",
    "ExecStartPost", "ExecCondition", "SystemCallFilter", "TemporaryFileSystem",
))  # fmt: skip
# Of these a line is one item, blanks and all.
_WHOLE_LINES = frozenset(("EnvironmentFile", "ExecStartPre", "ExecStartPost", "ExecCondition", "DeviceAllow"))


def setting_holds(state: Situation, section: str, name: str, value: str | None) -> bool:
    """Whether the setting has the value; a list, whether it has every word of it."""
    found = [one.value for one in state.service.values(section, name)]
    if value is None:
        return not found
    if name not in LISTS:
        return found[-1:] == [value]
    if name in _WHOLE_LINES:
        return value in found
    return set(value.split()) <= {word for one in found for word in one.split()}


def ways_for_setting(state: Situation, section: str, name: str, value: str | None) -> Iterator[Way]:
    """All ways, the best first. Whether one works is for the caller to see."""
    subject, reason = f"{name}=", "the line that wins is here"
    current = state.service.value(section, name)
    if state.in_place:
        if current is not None and (kept := state.kept(current.place.path)) is not None:
            yield Way(refused=EditRefused(f"{name}=", kept, current.place))
        elif current is not None and value is None:
            yield _all_removed(state, section, name)
        elif current is not None and value is not None and name not in LISTS:
            document = state.document(current.place.path)
            entry = next(
                e for e in reversed(settings(document, section, name)) if e.first <= current.place.line <= e.last
            )
            yield Way({current.place.path: with_setting_value(document, entry, value)}, subject, reason)
        elif value is not None:
            for path in _files_for_line(state, current.place.path if current else None):
                yield Way({path: setting_line(state.document(path), section, name, value)}, subject, "new")
    if state.style != "in-place":
        for path in paths(state):
            document = text_of(state, path)
            found = [e for e in settings(document, section, name) if e.value]
            if value is not None and found and name not in LISTS:
                yield Way({path: with_setting_value(document, found[-1], value)}, subject, reason)
            else:
                yield Way({path: setting_line(document, section, name, value or "")}, subject, "new")


def _files_for_line(state: Situation, kin: str | None) -> list[str]:
    owned = [path for path in state.files if state.kept(path) is None]
    return list(dict.fromkeys([*([kin] if kin else []), *owned]))


def _all_removed(state: Situation, section: str, name: str) -> Way:
    files: dict[str, bytes] = {}
    for path in state.files:
        document = state.document(path)
        while found := [entry for entry in settings(document, section, name) if entry.value]:
            if (kept := state.kept(path)) is not None:
                return Way(refused=EditRefused(f"{name}=", kept))
            files[path] = without_setting(document, found[-1])
            document = parse(files[path])
    return Way(files, f"{name}=", "taken out")
