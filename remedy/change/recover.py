"""What a crash left is finished or undone; a change that was kept is undone on request."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from remedy.change import boot
from remedy.change.history import state_of, unfinished
from remedy.change.interrupts import Interrupts
from remedy.change.ledger import STATE_DIR, Ledger, folders, read_entries
from remedy.change.lock import Lock
from remedy.change.steps import Site
from remedy.change.transaction import finish, heard, need_root
from remedy.change.types import End, Event, Hooks, Outcome, Phase, Report
from remedy.change.wayback import WayBack, conflicts
from remedy.errors import Exit, Refused, RemedyError, UsageError
from remedy.plan.types import Plan

HooksFor = Callable[[Plan], Hooks | None]


def recover(report: Report, *, hooks_for: HooksFor | None = None, state_dir: Path = STATE_DIR) -> tuple[Outcome, ...]:
    """Finish or undo every unfinished transaction, the newest first; empty where there was none.

    A change whose service was found healthy is finished, any other is undone. What the latest transaction could not put
    back or clean up is tried again. ``hooks_for`` gives the watch for the old service's start.
    """
    need_root()
    report = heard(report)
    # The way back is gone to its end, whatever becomes of the terminal.
    with Lock(state_dir, "remedy recover"), Interrupts():
        _clear_not_begun(state_dir)
        waiting = list(unfinished(state_dir))
        waiting += [folder for folder in folders(state_dir)[-1:] if _left(folder)]
        outcomes = tuple(_recover(folder, report, hooks_for, state_dir) for folder in reversed(waiting))
        if not unfinished(state_dir):
            boot.clear(state_dir)
        return outcomes


def _left(folder: Path) -> bool:
    """Whether a transaction ended with something that could not be put back, or not be cleaned up."""
    entries = read_entries(folder).entries
    return bool(entries) and isinstance(entries[-1], End) and bool(entries[-1].left)


def _clear_not_begun(state_dir: Path) -> None:
    """Folders whose first record never reached the disk: nothing was done."""
    for folder in folders(state_dir):
        if state_of(read_entries(folder)) == "not-begun":
            shutil.rmtree(folder, ignore_errors=True)


def _recover(folder: Path, report: Report, hooks_for: HooksFor | None, state_dir: Path) -> Outcome:
    try:
        ledger = Ledger.open(folder)
    except RemedyError as error:
        words = error.words
        return Outcome("rollback-incomplete", Exit.ROLLBACK_INCOMPLETE, folder.name, reason=words, left=(words,))
    phases = [entry for entry in ledger.entries if isinstance(entry, Phase)]
    if phases and phases[-1].name == "healthy":
        site = Site(folder, ledger.id, lambda text, _percent: report(Event("step", text)))
        left = finish(ledger, site)
        return Outcome("healthy", Exit.DONE, ledger.id, ledger.begin.cause, "the change was finished", None, left)
    return _undo(ledger, report, hooks_for, "the change was interrupted", state_dir)


def _undo(ledger: Ledger, report: Report, hooks_for: HooksFor | None, why: str, state_dir: Path) -> Outcome:
    # On a full disk the way back goes on without it.
    with contextlib.suppress(OSError):
        boot.prepare(state_dir, ledger)
    hooks = None
    if hooks_for is not None:
        # Without a watch the old service is started all the same.
        with contextlib.suppress(RemedyError):
            hooks = hooks_for(ledger.plan)
    left = WayBack(ledger, report, hooks).go(why)
    name: End = End("rollback-incomplete" if left else "rolled-back", why, left)
    with contextlib.suppress(OSError):
        ledger.close(name)
        boot.clear(state_dir)
    code = Exit.ROLLBACK_INCOMPLETE if left else Exit.DONE
    return Outcome(name.outcome, code, ledger.id, ledger.begin.cause, why, None, left)


def rollback(
    report: Report, name: str | None = None, *, hooks_for: HooksFor | None = None, state_dir: Path = STATE_DIR
) -> Outcome:
    """Undo a kept change: the given one, or the latest that is kept. Raises Refused with nothing touched where files
    were changed since, or a later change is still in force on the same unit; UsageError for a wrong name."""
    need_root()
    report = heard(report)
    with Lock(state_dir, f"remedy rollback {name or ''}".strip()), Interrupts():
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
        return _undo(ledger, report, hooks_for, "on request", state_dir)


def _chosen(kept: list[Path], name: str | None, state_dir: Path) -> Path | None:
    if name is None:
        return kept[-1] if kept else None
    for folder in kept:
        if folder.name == name:
            return folder
    if name in {folder.name for folder in folders(state_dir)}:
        raise UsageError(f"the transaction {name} is not in force", hint="remedy history shows which are")
    raise UsageError(f"there is no transaction {name}", hint="remedy history")
