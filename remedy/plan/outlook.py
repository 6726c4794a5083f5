"""The service as it would be after a draft: the edits, and every library asked again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from remedy.jit.types import Problem, Resolution
from remedy.overlay import Overlaid
from remedy.plan.draft import Draft
from remedy.plan.inputs import Inputs
from remedy.unit.edit import effective, set_environment, set_setting
from remedy.unit.launch import launch
from remedy.unit.types import EditRefused, FileEdit, Launch, Service
from remedy.value import dataclass, replace
from remedy.view import View


@dataclass(frozen=True)
class Outlook:
    """The planned state: what would be written, what can't be, and what each library would then find."""

    service: Service
    launch: Launch
    view: View
    resolutions: tuple[Resolution, ...]
    edits: tuple[FileEdit, ...] = ()
    refused: tuple[EditRefused, ...] = ()

    def fatal(self) -> tuple[Problem, ...]:
        """Every problem that would stop the service, most important library first."""
        return tuple(problem for resolution in self.resolutions for problem in resolution.problems if problem.fatal)

    def problems(self, cause: str) -> tuple[Problem, ...]:
        """The problems of one cause, fatal ones first."""
        found = [one for resolution in self.resolutions for one in resolution.problems if one.cause == cause]
        return tuple(sorted(found, key=lambda problem: not problem.fatal))


def present(inputs: Inputs) -> Outlook:
    """The service as it is."""
    return Outlook(inputs.service, inputs.launch, inputs.view, inputs.resolutions)


def foresee(inputs: Inputs, draft: Draft) -> Outlook:
    """The service after a draft. Each edit starts from the one before, so that one file is written once."""
    programs: Mapping[str, bytes | None] = dict.fromkeys(draft.programs, b"")
    view: View = Overlaid(inputs.view, programs, draft.programs) if programs else inputs.view
    service, written, refused = inputs.service, dict[str, FileEdit](), list[EditRefused]()

    def take(edits: Iterable[FileEdit], why_not: Iterable[EditRefused]) -> None:
        nonlocal service
        for edit in edits:
            first = written.get(edit.path)
            written[edit.path] = replace(edit, before=first.before, reason=first.reason) if first else edit
        refused.extend(why_not)
        if written:
            service = effective(service.name, view, tuple(written.values()), inputs.manager)

    def now() -> View:
        return Overlaid(view, {edit.path: edit.after for edit in written.values()}) if written else view

    how = (inputs.style, inputs.writable)
    take(draft.rewrites, ())
    if draft.wanted:
        take(*set_environment(service, now(), inputs.manager, draft.wanted, *how))
    for wish in draft.wishes:
        take(*set_setting(service, now(), inputs.manager, wish.section, wish.name, wish.value, *how))
    started = launch(service, now())
    context = replace(inputs.context, env=started.variables(), snapshot=draft.snapshot, view=now())
    edits = tuple(edit for edit in written.values() if edit.before != edit.after)
    return Outlook(service, started, now(), inputs.resolve(context), edits, tuple(refused))
