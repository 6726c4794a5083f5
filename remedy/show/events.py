"""What happens during a change or a watch, as text for a terminal or a pipe, and as JSON."""

from __future__ import annotations

from remedy.change.types import Event, Outcome
from remedy.gate.types import Progress, Verdict
from remedy.hints import Any
from remedy.show.host import typed
from remedy.show.secrets import redact
from remedy.show.text import bold, duration, plain, rows, wrap


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
        if progress.expected is not None:
            value["expected"] = round(progress.expected, 3)
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


def event_text(event: Event) -> str:
    """One event in a line; empty where there is nothing to say."""
    if event.verdict is not None:
        return verdict_text(event.verdict)
    text = redact(plain(event.text))
    if event.kind == "rollback" or not text:
        return text
    number = f"[{event.step}/{event.total}] " if event.step is not None else ""
    kind = "" if number else f"{event.kind}: "
    if event.state == "failed":
        return f"{number}{event.kind} failed: {text}"
    percent = f" {event.fraction:.0%}" if event.fraction is not None else ""
    return f"{number}{'done: ' if number and event.state == 'done' else ''}{kind}{text}{percent}"


#: The phases of a start, in words.
_PHASES = {
    "weights": "loading weights",
    "loaded": "weights loaded, preparing",
    "kernels": "building kernels",
    "graph-capture": "capturing CUDA graphs",
    "ready-line": "the service says that it is ready",
    "health": "asking",
    "waiting": "not running: waiting for the next start",
    "log": "starting",
}


def phase_text(progress: Progress, *, told: bool = False) -> str:
    """Where a start is: the phase, and how far it has come where that is counted; ``told`` adds what was said."""
    words = _PHASES.get(progress.phase, progress.phase)
    if told:
        return redact(plain(progress.line.strip()))
    return f"{words} {progress.done}/{progress.total}" if progress.total is not None else words


def line_text(line: str) -> str:
    """A log line without its time and writer, as far as a screen is wide."""
    from remedy.causes.lines import normalise

    return redact(plain(normalise(line, 0).text.strip().replace("\t", " ")))


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
    parts = ["", bold(wrap(ENDINGS[outcome.name], columns=columns))]
    if outcome.reason and outcome.name not in ("healthy", "planned"):
        parts.append(wrap(typed(redact(plain(outcome.reason))), 2, columns))
    if outcome.left:
        parts.append("Left to do by hand:")
        parts += [wrap(f"- {typed(redact(plain(left)))}", 2, columns, hanging=4) for left in outcome.left]
    if outcome.transaction:
        commands = [("details", typed(f"remedy history {outcome.transaction}"))]
        if outcome.name == "healthy":
            commands.append(("undo", typed("remedy rollback")))
        parts.append(rows(commands, columns))
    return "\n".join(parts)
