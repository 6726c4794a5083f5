"""What was done on this machine, read from the ledgers."""

from __future__ import annotations

import os
from pathlib import Path

from remedy.change import codec
from remedy.change.ledger import STATE_DIR, Read, folders, read_entries
from remedy.change.types import Begin, End, Phase, Record
from remedy.errors import Refused, UsageError
from remedy.plan.types import Plan


def history(state_dir: Path = STATE_DIR) -> tuple[Record, ...]:
    """Every transaction, the oldest first. Raises Refused where the folder may not be read."""
    return tuple(_record(folder) for folder in _folders(state_dir))


def record(name: str, state_dir: Path = STATE_DIR) -> Record:
    """One transaction in full. Raises UsageError where there is none of that name."""
    for folder in _folders(state_dir):
        if folder.name == name:
            return _record(folder, full=True)
    raise UsageError(f"there is no transaction {name}", hint="remedy history")


def _folders(state_dir: Path) -> tuple[Path, ...]:
    try:
        return folders(state_dir)
    except PermissionError as error:
        raise Refused(f"{state_dir} may be read by root alone", hint="sudo remedy history") from error


def _record(folder: Path, full: bool = False) -> Record:
    read = read_entries(folder)
    begin = read.entries[0] if read.entries else None
    end = next((entry for entry in reversed(read.entries) if isinstance(entry, End)), None)
    state = state_of(read)
    if state == "unfinished":
        end = None
    plan: Plan | None = None
    if full:
        try:
            plan = codec.loads(Plan, (folder / "plan.json").read_bytes())
        except (OSError, ValueError):
            plan = None
    why = next((entry.why for entry in reversed(read.entries) if isinstance(entry, Phase) and entry.why), "")
    head = begin if isinstance(begin, Begin) else Begin(0, folder.name, "", "", 0.0)
    evidence = folder / "evidence"
    return Record(
        folder.name,
        head.unit,
        head.cause,
        head.created,
        state,
        (end.reason if end else "") or why,
        end.left if end else (),
        str(folder),
        plan,
        read.entries if full else (),
        tuple(sorted(os.listdir(evidence))) if evidence.is_dir() else (),
    )


def state_of(read: Read) -> str:
    """The outcome that a ledger ends with, ``unfinished``, ``damaged``, or ``not-begun`` where nothing was done."""
    if read.damaged is not None:
        return "damaged"
    if not read.entries:
        return "not-begun"
    last = read.entries[-1]
    return last.outcome if isinstance(last, End) else "unfinished"


def unfinished(state_dir: Path = STATE_DIR) -> tuple[Path, ...]:
    """Folders of transactions that a crash left, or whose ledger is damaged."""
    return tuple(folder for folder in folders(state_dir) if state_of(read_entries(folder)) in ("unfinished", "damaged"))


def refuse_unfinished(state_dir: Path) -> None:
    """Raise Refused where a transaction waits to be finished."""
    for folder in unfinished(state_dir):
        state = state_of(read_entries(folder))
        raise Refused(
            f"the transaction {folder.name} is {state}",
            hint="remedy recover finishes or undoes it" if state == "unfinished" else f"look at {folder}, then move it",
        )
