"""The way back: every step that may have acted is undone, the last first, then the run state. May be begun again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from remedy.change import files, modules, service, steps
from remedy.change.ledger import Ledger
from remedy.change.steps import Site, describe
from remedy.change.types import Done, Entry, Event, FileBefore, Hooks, Phase, Report, UnitBefore, Watching
from remedy.errors import RemedyError
from remedy.gate.types import Progress
from remedy.plan.types import EditFile, InstallPackages, MoveCache, RestartUnit


def conflicts(ledger: Ledger) -> tuple[str, ...]:
    """Files that someone else has changed since: each with what to do."""
    found: list[str] = []
    for number, before in ledger.intents().items():
        step = ledger.plan.steps[number]
        if isinstance(step, EditFile) and isinstance(before, FileBefore) and not ledger.done(number, "undo"):
            found += files.conflict(step.edit, before, ledger.folder / "backups")
    return tuple(found)


class WayBack:
    """Undoes one transaction. ``hooks`` is None where nobody can watch the old service's start (at boot)."""

    def __init__(self, ledger: Ledger, report: Report, hooks: Hooks | None) -> None:
        self._ledger = ledger
        self._report = report
        self._hooks = hooks
        self._site = Site(ledger.folder, ledger.id, self._tell)

    def go(self, why: str) -> tuple[str, ...]:
        """Undo all; what could not be put back is returned, each with the command for it. Never raises for it."""
        from remedy.change.twin import stop_left

        stop_left()
        self._note(Phase("rolling-back", why))
        self._report(Event("rollback", f"rolling back: {why}", "begin"))
        intents = self._ledger.intents()
        unit = next((before for before in intents.values() if isinstance(before, UnitBefore)), None)
        touched = unit is not None and not self._untouched(unit)
        left: list[str] = []
        if unit is not None and touched:
            left += self._attempt(f"systemctl stop {unit.unit}", lambda: self._stop(unit.unit))
            left += self._take_away(unit)
        for number in sorted(intents, reverse=True):
            if not isinstance(intents[number], UnitBefore) and not self._ledger.done(number, "undo"):
                left += self._undo(number)
        reads_units = any(isinstance(step, RestartUnit) and step.daemon_reload for step in self._ledger.plan.steps)
        if reads_units and any(isinstance(before, FileBefore) for before in intents.values()):
            reload = partial(service.daemon_reload, self._ledger.plan.unit)
            left += self._attempt("systemctl daemon-reload", reload)
        if unit is not None and touched:
            left += self._restore(unit)
        self._report(Event("rollback", "rolled back" if not left else "the rollback is incomplete", "done"))
        return tuple(left)

    def _undo(self, number: int) -> tuple[str, ...]:
        step, before = self._ledger.plan.steps[number], self._ledger.intents()[number]
        if isinstance(step, InstallPackages) and self._ledger.begin.keep_packages:
            return ()
        if isinstance(step, MoveCache) and self._ledger.reached("healthy"):
            # Deleted when the change was kept; what stands there now was built by a service that worked.
            return ()
        self._tell(f"undo: {describe(step)}", None)
        try:
            left = steps.undo(step, before, self._site)
        except RemedyError as error:
            left = (f"undo of “{describe(step)}” failed: {error.message}" + (f": {error.hint}" if error.hint else ""),)
        except (OSError, ValueError) as error:
            left = (f"undo of “{describe(step)}” failed: {error}; then: remedy recover",)
        if not left:
            self._note(Done(number, "undo"))
        return left

    def _take_away(self, unit: UnitBefore) -> tuple[str, ...]:
        """Delete the modules that the start which failed has built."""
        toolkit = self._ledger.plan.toolkit
        if toolkit is None or self._ledger.reached("healthy"):
            return ()
        left: list[str] = []
        rebooted = unit.boot != service.boot_id()
        for before in unit.modules:
            try:
                for path in modules.take_away(before, toolkit, self._ledger.id, rebooted=rebooted):
                    self._tell(f"{path} stays: a process uses it", None)
            except (RemedyError, OSError) as error:
                left.append(f"what was built in {before.folder} could not be removed: {error}; then: remedy recover")
        return tuple(left)

    def _attempt(self, command: str, act: Callable[[], None]) -> tuple[str, ...]:
        try:
            act()
        except RemedyError as error:
            return (f"{error.message}: {command}",)
        return ()

    def _untouched(self, unit: UnitBefore) -> bool:
        try:
            return service.untouched(unit)
        except RemedyError:
            return False

    def _stop(self, unit: str) -> None:
        # While the machine boots, a stop would only take the start away that is still to come; while it goes down, all
        # is stopped anyway.
        if service.up():
            service.stop(unit)

    def _restore(self, unit: UnitBefore) -> tuple[str, ...]:
        """Bring units that ran back to running; one that did not run is not started."""
        if not service.up():
            return ()
        left: list[str] = []
        if unit.active_state in ("active", "activating") and self._failed_again_and_again(unit):
            self._tell(f"start {unit.unit}, which failed again and again before as well", None)
            left += self._attempt(f"systemctl start {unit.unit}", lambda: self._start_unwatched(unit.unit))
        elif unit.active_state in ("active", "reloading", "refreshing"):
            left += self._attempt(f"systemctl start {unit.unit}", lambda: self._start(unit.unit))
        elif unit.active_state == "activating":
            left += self._attempt(f"systemctl start {unit.unit}", lambda: service.enqueue("start", unit.unit))
        elif unit.active_state == "inactive":
            # The failed try must not be left standing as the unit's own failure.
            left += self._attempt(f"systemctl reset-failed {unit.unit}", lambda: service.reset_failed(unit.unit))
        elif unit.active_state == "failed" and self._ledger.reached("healthy"):
            # The failure from before can't be made again without a start that fails.
            self._tell(f"{unit.unit}, which had failed before, is stopped now, and no longer shown as failed", None)
        for name, state in unit.dependents:
            if state == "active" and self._inactive(name):
                left += self._attempt(f"systemctl start {name}", lambda name=name: service.start(name))  # type: ignore[misc]
        return tuple(left)

    def _inactive(self, unit: str) -> bool:
        try:
            return service.active_state(unit) not in ("active", "activating", "reloading")
        except RemedyError:
            return True

    def _failed_again_and_again(self, unit: UnitBefore) -> bool:
        """Whether systemd was restarting a service that failed each time: Type=simple counts as active in between."""
        return unit.n_restarts > 0 and self._ledger.plan.interrupts is None

    def _start_unwatched(self, unit: str) -> None:
        service.reset_failed(unit)
        service.enqueue("start", unit)

    def _start(self, unit: str) -> None:
        """Start the old service, and watch it to where it was."""
        self._tell(f"start {unit} as it was before", None)
        service.reset_failed(unit)
        watch = self._watch()
        if watch is None:
            service.start(unit)
            return
        with watch:
            service.enqueue("start", unit)
            verdict = watch.run(self._progress)
        if verdict.state == "failed" or service.active_state(unit) != "active":
            raise RemedyError(f"{unit} ran before, and now does not start: {verdict.reason}")

    def _watch(self) -> Watching | None:
        """None where nobody can watch: at boot, or with the message bus away."""
        if self._hooks is None:
            return None
        try:
            return self._hooks.watch()
        except RemedyError:
            return None

    def _progress(self, progress: Progress) -> None:
        self._report(Event("rollback", progress.line, progress=progress))

    def _tell(self, text: str, percent: float | None) -> None:
        self._report(Event("rollback", text, fraction=None if percent is None else percent / 100))

    def _note(self, entry: Entry) -> None:
        # The way back goes on where its record can't be written: without it, a second try undoes once more.
        with contextlib.suppress(OSError):
            self._ledger.append(entry)
