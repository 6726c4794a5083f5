"""What happens during a change or a watch, as text for a terminal or a pipe, and as JSON."""

from __future__ import annotations

from remedy.change.types import Event, Outcome
from remedy.gate.types import Verdict
from remedy.hints import Any, TextIO
from remedy.show.secrets import redact
from remedy.show.text import bold, duration, plain, width, wrap


def event_json(event: Event) -> dict[str, Any]:
    """One event a line, its kind first."""
    if event.verdict is not None:
        return verdict_json(event.verdict)
    value: dict[str, Any] = {"event": event.kind, "state": event.state, "text": redact(plain(event.text))}
    if event.kind == "prewarm":
        value |= {"event": "progress", "phase": "prewarm"}
    if event.step is not None:
        value |= {"step": event.step, "of": event.total}
    if event.fraction is not None:
        value["fraction"] = round(event.fraction, 3)
    if event.progress is not None:
        progress = event.progress
        value |= {"phase": progress.phase, "elapsed": round(progress.elapsed, 3)}
        if progress.total is not None:
            value |= {"done": progress.done, "total": progress.total}
    return value


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict on a start."""
    return {
        "event": "verdict",
        "state": verdict.state,
        "reason": redact(plain(verdict.reason)),
        "decided_by": verdict.decided_by,
        "elapsed": round(verdict.elapsed, 3),
        "invocation": verdict.invocation,
    }


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """The last line of ``fix --json``."""
    return {
        "event": "result",
        "outcome": outcome.name,
        "exit": int(outcome.exit),
        "transaction": outcome.transaction,
        "cause": outcome.cause,
        "reason": redact(plain(outcome.reason)),
        "left": [redact(plain(left)) for left in outcome.left],
    }


def event_text(event: Event, stream: TextIO) -> None:
    """One event as a line; in a terminal the running ones replace each other on one line."""
    line = _line(event)
    if line is None:
        return
    columns = width(stream)
    if not stream.isatty():
        if not _passing(event):
            print(line, file=stream, flush=True)
        return
    shown = line if len(line) < columns else line[: columns - 2] + "…"
    end = "" if _passing(event) else "\n"
    # Erase the passing line (EL, ECMA-48), then write over it.
    print(f"\r\x1b[K{shown if end == '' else line}", end=end, file=stream, flush=True)


def _passing(event: Event) -> bool:
    """Whether an event is only of interest until the next one."""
    if event.progress is not None:
        return event.progress.phase == "log" or event.progress.total is not None
    return event.state == "running" and (event.kind == "step" or event.fraction is not None)


def _line(event: Event) -> str | None:
    if event.progress is not None:
        progress = event.progress
        counted = f" {progress.done}/{progress.total}" if progress.total is not None else ""
        said = redact(plain(progress.line.strip()))
        phase = "" if progress.phase == "log" else f"{progress.phase}{counted}  "
        return f"  {duration(progress.elapsed):>8}  {phase}{said}".rstrip()
    if event.verdict is not None:
        return verdict_text(event.verdict)
    text = redact(plain(event.text))
    if not text:
        return None
    number = f"[{event.step}/{event.total}] " if event.step is not None else ""
    if event.kind == "rollback":
        return text
    if event.state == "done":
        return f"{number}done: {text}" if event.kind == "step" else f"{event.kind}: {text}"
    if event.state == "failed":
        return f"{event.kind} failed: {text}"
    percent = f" {event.fraction:.0%}" if event.fraction is not None else ""
    return f"{number}{'' if number else event.kind + ': '}{text}{percent}"


def verdict_text(verdict: Verdict) -> str:
    """The verdict in one line."""
    return f"{verdict.state} after {duration(verdict.elapsed)}: {redact(plain(verdict.reason))}"


ENDINGS = {
    "healthy": "Done: the service is healthy.",
    "nothing-to-do": "Nothing to do.",
    "planned": "Nothing was changed (--dry-run). To apply it: the same command without --dry-run, as root.",
    "refused": "Refused; nothing was changed.",
    "rolled-back": "Rolled back: files, packages, caches and run state are as they were before.",
    "rollback-incomplete": "The rollback is incomplete.",
    "interrupted": "Interrupted; everything was put back as it was.",
    "under-way": "The change goes on without this terminal, to its end or back.",
}


def outcome_text(outcome: Outcome, columns: int = 80) -> str:
    """The end of a command, for people."""
    parts = ["", bold(ENDINGS[outcome.name])]
    if outcome.reason and outcome.name not in ("healthy", "planned"):
        parts.append(wrap(redact(plain(outcome.reason)), 2, columns))
    if outcome.left:
        parts.append("Left to do by hand:")
        parts += [wrap(f"- {redact(plain(left))}", 2, columns, hanging=4) for left in outcome.left]
    if outcome.transaction:
        parts.append(f"  transaction {outcome.transaction}   (remedy history {outcome.transaction})")
        if outcome.name == "healthy":
            parts.append("  to undo it: remedy rollback")
    return "\n".join(parts)
