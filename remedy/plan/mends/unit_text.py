"""Lines of the unit's own files that don't say what their author meant."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Final

from remedy.causes.entry import MendKind
from remedy.plan.draft import Draft
from remedy.plan.task import Mend, Task
from remedy.unit.document import Entry, parse
from remedy.unit.edit_lines import with_setting_value
from remedy.unit.edit_place import keeps_unit_file
from remedy.unit.faults import mistakes
from remedy.unit.types import Fault, FileEdit
from remedy.view import is_file

_REWRITTEN: Final = {"invalid-assignment", "environment-file-relative", "home-specifier"}


def write_what_was_meant(task: Task) -> Draft:
    """Values that were meant are set where they count; lines that systemd ignores or misreads are written anew."""
    service, started = task.now.service, task.now.launch
    faults = (*service.faults, *mistakes(service, started, task.now.view))
    values: dict[str, str | None] = {one.variable: one.meant for one in faults if one.meant is not None}
    if not values and not service.variables().get("HOME") and "HOME" in task.says():
        values["HOME"] = task.inputs.context.home
    rewrites, left = _rewritten(task, [one for one in faults if one.kind in _REWRITTEN and one.meant is None])
    if not values and not rewrites:
        return task.draft.give_up(_advice(left, faults))
    draft = task.draft.want(values).warn(*(f"{fault.place}: {fault.text}; {fault.mend}" for fault in left))
    return draft if not rewrites else draft.rewrite(rewrites)


def _advice(left: Iterable[Fault], faults: Iterable[Fault]) -> str:
    told = next((fault for fault in (*left, *faults) if fault.mend), None)
    return f"{told.place}: {told.mend}" if told else "remedy finds no line in the unit that says what was not meant"


def _rewritten(task: Task, faults: Iterable[Fault]) -> tuple[tuple[FileEdit, ...], tuple[Fault, ...]]:
    """The files with the faulty lines written anew, and the faults that have to be left to the author."""
    files: dict[str, FileEdit] = {}
    left: list[Fault] = []
    for fault in faults:
        path = fault.place.path
        edit = _line_anew(task, fault, files.get(path))
        if edit:
            files[path] = edit
        else:
            left.append(fault)
    return tuple(files.values()), tuple(left)


def _line_anew(task: Task, fault: Fault, earlier: FileEdit | None) -> FileEdit | None:
    path, view = fault.place.path, task.now.view
    if keeps_unit_file(task.now.service, view, path, task.inputs.manager, task.inputs.writable):
        return None
    before = earlier.before if earlier else view.read(path)
    now = earlier.after if earlier else view.read(path)
    document = parse(now)
    entry = next((one for one in document.entries if one.first <= fault.place.line <= one.last), None)
    value = _meant(task, fault, entry) if entry else None
    if entry is None or value is None or value == entry.value:
        return earlier
    return FileEdit(path, before, with_setting_value(document, entry, value), f"{entry.name}= says what was meant")


def _meant(task: Task, fault: Fault, entry: Entry) -> str | None:
    if fault.kind == "environment-file-relative":
        return _absolute(task, entry.value)
    if fault.kind == "home-specifier" and "%h" in fault.text:
        return re.sub(r"(?<!%)((?:%%)*)%h", rf"\g<1>{task.inputs.context.home}", entry.value)
    if fault.kind == "invalid-assignment" and entry.name == "Environment":
        return assignments(entry.value)
    return None


def _absolute(task: Task, value: str) -> str | None:
    """The one file that a relative EnvironmentFile= can have meant: in the home, beside the unit, where it runs."""
    optional, name = ("-", value[1:]) if value.startswith("-") else ("", value)
    name = re.sub(r"^(~|\$HOME|\$\{HOME\})/", "", name.strip("\"'"))
    service = task.now.service
    folders = (
        task.inputs.context.home,
        posixpath.dirname(service.fragment or ""),
        service.working_directory,
        "/etc/default",
    )
    paths = dict.fromkeys(posixpath.normpath(posixpath.join(folder, name)) for folder in folders if folder)
    found = [path for path in paths if path.startswith("/") and is_file(task.now.view, path)]
    return optional + found[0] if len(found) == 1 else None


def assignments(value: str) -> str | None:
    """An Environment= line as its author meant it: ``export`` gone, blanks around ``=`` gone, loose words joined to
    the assignment before them. None where quotes or escapes make it more than that.
    """
    if re.search(r"[\"'\\]", value):
        return None
    plain = re.sub(r"(?<!\S)export\s+", "", value)
    plain = re.sub(r"(?<!\S)([A-Za-z_]\w*)\s+=\s*", r"\1=", plain)
    groups: list[str] = []
    for word in plain.split():
        if re.match(r"[A-Za-z_]\w*=", word):
            groups.append(word)
        elif groups:
            groups[-1] += word if groups[-1].endswith("=") else f" {word}"
        else:
            return None
    return " ".join(f'"{group}"' if " " in group else group for group in groups) or None


MENDS: Final[dict[MendKind, Mend]] = {"unit-text": write_what_was_meant}
