"""Each step of a plan: what is noted before it, how it is done, undone, kept. All may be done twice.

The restart is no matter of this file: it waits for a verdict (remedy.change.transaction).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remedy.change import caches, files, installation, modules, service, wheels
from remedy.change.interrupts import Interrupts
from remedy.change.types import Before, CacheBefore, FileBefore, PackagesBefore, ToolkitBefore, UnitBefore
from remedy.plan.types import BuildToolkit, EditFile, InstallPackages, MoveCache, RestartUnit, Step
from remedy.value import dataclass, replace


@dataclass(frozen=True)
class Site:
    """Where a step works: the transaction's folder and name, and whom to tell. ``interrupts`` is None where nothing
    may stop it: on the way back."""

    folder: Path
    transaction: str
    report: Callable[[str, float | None], None]
    interrupts: Interrupts | None = None

    @property
    def apt_log(self) -> Path:
        """What apt said."""
        return self.folder / "evidence" / "apt.log"


def describe(step: Step) -> str:
    """The step in a few words."""
    match step:
        case InstallPackages():
            others = len(step.changes) - 1
            return f"install {step.requested[0]}" + (f" and {others} more packages" if others > 0 else "")
        case BuildToolkit():
            return f"lay out {step.root} from PyPI wheels"
        case EditFile(edit):
            return f"write {edit.path}"
        case MoveCache():
            return f"make room for {step.path}" if step.new else f"move {step.path} aside"
        case RestartUnit():
            return f"restart {step.unit}"


def look(step: Step, number: int, site: Site) -> Before:
    """Note what the undo will need. Raises Refused where the step could not be done or undone."""
    match step:
        case InstallPackages():
            return installation.look(step, site.folder / "backups")
        case BuildToolkit():
            return wheels.look(step)
        case EditFile(edit):
            return files.look(edit, site.folder / "backups", number)
        case MoveCache():
            return caches.look(step.path, site.transaction, number)
        case RestartUnit():
            return replace(service.look(step.unit), modules=modules.look(step.modules))


def do(step: Step, before: Before, site: Site) -> None:
    """Do a step. Raises RemedyError or OSError."""
    match step, before:
        case InstallPackages(), PackagesBefore():
            installation.do(step, before, site.apt_log, site.report, site.interrupts)
        case BuildToolkit(), ToolkitBefore():
            wheels.build(step, before, site.folder / "evidence" / "pip.log", site.report, site.interrupts)
        case EditFile(edit), FileBefore():
            files.replace(edit, before, site.transaction)
        case MoveCache(), CacheBefore():
            caches.move(before)
        case _:
            raise _mismatch(step, before)


def undo(step: Step, before: Before, site: Site) -> tuple[str, ...]:
    """Undo a step, however far it came. What is left is returned, each with the command for it."""
    match step, before:
        case InstallPackages(), PackagesBefore():
            return installation.undo(step, before, site.apt_log, site.report)
        case BuildToolkit(), ToolkitBefore():
            return wheels.remove(before)
        case EditFile(edit), FileBefore():
            return files.restore(edit, before, site.folder / "backups", site.transaction)
        case MoveCache(), CacheBefore():
            return caches.restore(before)
        case RestartUnit(), UnitBefore():
            return ()
        case _:
            raise _mismatch(step, before)


def keep(step: Step, before: Before, site: Site) -> tuple[str, ...]:
    """The change stays: remove what was kept for the way back. What could not be removed is returned."""
    match step, before:
        case EditFile(edit), FileBefore():
            files.forget(edit, site.transaction)
        case MoveCache(), CacheBefore():
            return caches.forget(before)
        case _:
            pass
    return ()


def _mismatch(step: Step, before: Before) -> ValueError:
    return ValueError(f"the ledger holds {type(before).__name__} for {type(step).__name__}")
