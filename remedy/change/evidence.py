"""What is kept of a failed try: its log, the diff, the environment, the new diagnosis; without secrets."""

from __future__ import annotations

import contextlib
import difflib
import os
from pathlib import Path

from remedy.causes.types import Diagnosis
from remedy.change import codec
from remedy.change.files import write_new
from remedy.change.types import Hooks
from remedy.facts.run import Programs, run
from remedy.gate.types import Verdict
from remedy.plan.types import EditFile, Plan

#: Lines of the failed start that are kept: enough for any start, and bounded.
_LINES = 20_000


def keep(folder: Path, plan: Plan, hooks: Hooks, verdict: Verdict) -> Diagnosis | None:
    """Write the evidence of a start that failed; returns the diagnosis of the failure. Never raises."""
    diagnosis: Diagnosis | None = None
    if hooks.diagnose is not None:
        # The diagnosis of a failure must not get in the way of the rollback.
        with contextlib.suppress(Exception):
            diagnosis = hooks.diagnose(verdict)
    redact = hooks.redact or (lambda text: text)
    texts = {
        "verdict.txt": f"{verdict.state}: {verdict.reason}\ninvocation {verdict.invocation}\n",
        "journal.log": _journal(verdict) or "".join(f"{_stamp(line.realtime)} {line.text}\n" for line in verdict.log),
        "change.diff": diff(plan),
        "diagnosis.json": codec.dumps(diagnosis) + "\n" if diagnosis else "",
        "environment": "".join(f"{name}={value}\n" for name, value in hooks.environment) if hooks.redact else "",
    }
    for name, text in texts.items():
        if text:
            with contextlib.suppress(OSError):
                _write(folder / "evidence" / name, "".join(map(redact, text.splitlines(keepends=True))))
    return diagnosis


def why(verdict: Verdict, diagnosis: Diagnosis | None) -> str:
    """Why a start failed: what ended the watch, and the cause behind it, or the line that comes nearest to one."""
    if diagnosis is None or diagnosis.root.id == "healthy":
        return verdict.reason
    root = diagnosis.root
    if root.id != "unknown":
        return f"{verdict.reason}; {root.summary} ({root.id})"
    said = next((one.text.strip() for one in root.evidence if one.kind == "log"), "")
    return verdict.reason if not said or said in verdict.reason else f"{verdict.reason}; {said}"


def _journal(verdict: Verdict) -> str:
    """Every line of the failed invocation, the manager's words on it with them (systemd.journal-fields(7))."""
    if not verdict.invocation:
        return ""
    matches = [f"_SYSTEMD_INVOCATION_ID={verdict.invocation}", "+", f"INVOCATION_ID={verdict.invocation}"]
    argv = ["journalctl", "--no-pager", "-q", "-a", "-o", "short-iso-precise", "-n", str(_LINES), *matches]
    return run(Programs(), argv, timeout=20).text


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    write_new(path, text.encode(errors="replace"))


def _stamp(microseconds: int) -> str:
    import datetime

    return datetime.datetime.fromtimestamp(microseconds / 1e6, datetime.timezone.utc).isoformat()


def diff(plan: Plan) -> str:
    """The plan's edits as unified diffs."""
    parts: list[str] = []
    for step in plan.steps:
        if isinstance(step, EditFile):
            edit = step.edit
            old = (edit.before or b"").decode(errors="replace").splitlines(keepends=True)
            new = edit.after.decode(errors="replace").splitlines(keepends=True)
            source = "/dev/null" if edit.before is None else edit.path
            parts += difflib.unified_diff(old, new, source, edit.path)
    return "".join(part if part.endswith("\n") else part + "\n\\ No newline at end of file\n" for part in parts)
