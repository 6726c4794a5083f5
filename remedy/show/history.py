"""What was done to this machine, for people and for programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from remedy.change.types import Record
from remedy.facts.reports import FailureReport
from remedy.hints import Any
from remedy.show.plan import plan_json, plan_text
from remedy.show.text import plain, wrap

SCHEMA = 1


def record_json(record: Record, redact: Callable[[str], str]) -> dict[str, Any]:
    """One transaction."""
    return {
        "schema": SCHEMA,
        "transaction": record.id,
        "unit": record.unit,
        "cause": record.cause,
        "created": record.created,
        "outcome": record.state,
        "reason": redact(plain(record.reason)),
        "left": list(record.left),
        "folder": record.folder,
        "evidence": list(record.evidence),
        "plan": plan_json(record.plan, redact) if record.plan else None,
    }


def report_json(report: FailureReport, redact: Callable[[str], str]) -> dict[str, Any]:
    """One verdict on a failed unit; told apart from a transaction by its key ``report``."""
    return {
        "schema": SCHEMA,
        "report": "diagnosis",
        "unit": report.unit,
        "cause": report.cause,
        "certainty": report.certainty,
        "created": report.created,
        "summary": redact(plain(report.summary)),
    }


def when(created: float) -> str:
    """Local time of a transaction, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(created)) if created else "unknown time"


def history_text(records: Sequence[Record], columns: int, reports: Sequence[FailureReport] = ()) -> str:
    """A transaction a line, the oldest first; then the verdicts on units that failed."""
    lines = [] if records else [wrap("No change was ever made by remedy on this machine.", 0, columns)]
    for record in records:
        lines.append(f"{record.id}  {record.state}")
        lines.append(wrap(f"{when(record.created)}, {record.cause} of {record.unit}", 2, columns))
        if record.reason:
            lines.append(wrap(plain(record.reason), 2, columns))
    if reports:
        lines.append("\nDiagnosed when they failed")
    for report in reports:
        lines.append(
            f"  {when(report.created)}  {plain(report.unit)}: {plain(report.cause)} ({plain(report.certainty)})"
        )
    return "\n".join(lines)


def record_text(record: Record, redact: Callable[[str], str], columns: int) -> str:
    """One transaction in full."""
    parts = [history_text([record], columns)]
    if record.left:
        parts.append("Left to do by hand:\n" + "\n".join(wrap(f"- {left}", 2, columns, 4) for left in record.left))
    if record.plan:
        parts.append(plan_text(record.plan, redact, columns))
    if record.evidence:
        names = "\n".join(f"  {record.folder}/evidence/{name}" for name in record.evidence)
        parts.append(f"Evidence of the failed start\n{names}")
    return "\n\n".join(parts)
