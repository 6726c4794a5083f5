"""What a crash left is finished or undone; a change that was kept is undone on request."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from remedy.change.boot import clear, open_transaction
from remedy.change.history import state_of, unfinished
from remedy.change.ledger import STATE_DIR, Ledger, folders, read_entries
from remedy.change.lock import Lock
from remedy.change.steps import Site
from remedy.change.transaction import finish, need_root
from remedy.change.types import End, Event, Hooks, Outcome, Phase, Report
from remedy.change.wayback import WayBack, conflicts
from remedy.errors import Exit, Refused, RemedyError, UsageError
from remedy.plan.types import Plan

HooksFor = Callable[[Plan], Hooks | None]


def recover(report: Report, *, hooks_for: HooksFor | None = None, state_dir: Path = STATE_DIR) -> tuple[Outcome, ...]:
    """Finish or undo every unfinished transaction, the newest first; empty where there was none.

    A change whose service was found healthy is finished, any other is undone. A rollback that was incomplete is tried
    again where it is the latest transaction. ``hooks_for`` gives the watch for the old service's start.
    """
    need_root()
    with Lock(state_dir, "remedy recover"):
        _clear_not_begun(state_dir)
        waiting = list(unfinished(state_dir))
        latest = folders(state_dir)[-1:]
        if latest and state_of(read_entries(latest[0])) == "rollback-incomplete":
            waiting.append(latest[0])
        outcomes = tuple(_recover(folder, report, hooks_for, state_dir) for folder in reversed(waiting))
        if not unfinished(state_dir):
            clear(state_dir)
        return outcomes


def _clear_not_begun(state_dir: Path) -> None:
    """Folders whose first record never reached the disk: nothing was done."""
    for folder in folders(state_dir):
        if state_of(read_entries(folder)) == "not-begun":
            shutil.rmtree(folder, ignore_errors=True)


def _recover(folder: Path, report: Report, hooks_for: HooksFor | None, state_dir: Path) -> Outcome:
    try:
        ledger = Ledger.open(folder)
    except RemedyError as error:
        words = f"{error.message}; {error.hint}" if error.hint else error.message
        return Outcome("rollback-incomplete", Exit.ROLLBACK_INCOMPLETE, folder.name, reason=words, left=(words,))
    phases = [entry for entry in ledger.entries if isinstance(entry, Phase)]
    with open_transaction(state_dir, ledger):
        if phases and phases[-1].name == "healthy":
            site = Site(folder, ledger.id, lambda text, _percent: report(Event("step", text)))
            left = finish(ledger, site)
            return Outcome("healthy", Exit.DONE, ledger.id, ledger.begin.cause, "the change was finished", None, left)
        return _undo(ledger, report, hooks_for, "the change was interrupted")


def _undo(ledger: Ledger, report: Report, hooks_for: HooksFor | None, why: str) -> Outcome:
    hooks = None
    if hooks_for is not None:
        # Without a watch the old service is started all the same.
        with contextlib.suppress(RemedyError):
            hooks = hooks_for(ledger.plan)
    left = WayBack(ledger, report, hooks).go(why)
    name: End = End("rollback-incomplete" if left else "rolled-back", why, left)
    with contextlib.suppress(OSError):
        ledger.close(name)
    code = Exit.ROLLBACK_INCOMPLETE if left else Exit.DONE
    return Outcome(name.outcome, code, ledger.id, ledger.begin.cause, why, None, left)


def rollback(
    report: Report, name: str | None = None, *, hooks_for: HooksFor | None = None, state_dir: Path = STATE_DIR
) -> Outcome:
    """Undo a kept change: the given one, or the latest that is kept. Raises Refused with nothing touched where files
    were changed since, or a later change is still in force on the same unit; UsageError for a wrong name."""
    need_root()
    with Lock(state_dir, f"remedy rollback {name or ''}".strip()):
        waiting = unfinished(state_dir)
        if waiting:
            raise Refused(f"the transaction {waiting[0].name} is unfinished", hint="remedy recover")
        kept = [folder for folder in folders(state_dir) if state_of(read_entries(folder)) == "healthy"]
        folder = _chosen(kept, name, state_dir)
        if folder is None:
            return Outcome("nothing-to-do", Exit.DONE, reason="no change is kept that could be undone")
        ledger = Ledger.open(folder)
        later = [one for one in kept if one.name > folder.name and Ledger.open(one).begin.unit == ledger.begin.unit]
        if later:
            raise Refused(
                f"{later[-1].name} changed the same unit later", hint=f"first: remedy rollback {later[-1].name}"
            )
        changed = conflicts(ledger)
        if changed:
            raise Refused("; ".join(changed), hint="nothing was touched; undo the other change first, or edit by hand")
        with open_transaction(state_dir, ledger):
            return _undo(ledger, report, hooks_for, "asked for")


def _chosen(kept: list[Path], name: str | None, state_dir: Path) -> Path | None:
    if name is None:
        return kept[-1] if kept else None
    for folder in kept:
        if folder.name == name:
            return folder
    if name in {folder.name for folder in folders(state_dir)}:
        raise UsageError(f"the transaction {name} is not in force", hint="remedy history shows which are")
    raise UsageError(f"there is no transaction {name}", hint="remedy history")
