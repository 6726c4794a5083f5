"""The verdicts that ``remedy diagnose --report`` left in the journal, where ``units/remedy@.service`` ran it."""

from __future__ import annotations

import json

from remedy.facts.run import Runner, run
from remedy.hints import Final
from remedy.value import dataclass

#: MESSAGE_ID= of a verdict (systemd.journal-fields(7)).
MESSAGE_ID: Final = "8f2c1d0f9b7e4b0e9d5a6f3c21e8a47b"
#: So many of the newest are shown.
NEWEST: Final = 100
_UNIT: Final = "remedy@"
_TIMEOUT: Final = 5.0
_FIELDS: Final = ("_SYSTEMD_UNIT", "_UID", "REMEDY_UNIT", "REMEDY_CAUSE", "REMEDY_CERTAINTY", "REMEDY_SUMMARY")


@dataclass(frozen=True)
class FailureReport:
    """What a failed unit's diagnosis found at the time; ``created`` in seconds since the epoch."""

    unit: str
    cause: str
    certainty: str
    summary: str
    created: float


def reports(runner: Runner) -> tuple[FailureReport, ...]:
    """The newest verdicts, the oldest first; none where the journal can't be read or holds none."""
    fields = ",".join(_FIELDS)
    argv = ("journalctl", "--no-pager", "--quiet", "--output=json", f"--output-fields={fields}")
    answer = run(runner, (*argv, f"--lines={NEWEST}", f"MESSAGE_ID={MESSAGE_ID}"), timeout=_TIMEOUT)
    found = (_report(line) for line in answer.text.splitlines())
    return tuple(one for one in found if one is not None)


def _report(line: str) -> FailureReport | None:
    """One entry of journalctl's JSON; None where it is none, or where anyone could have written it."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict):
        return None
    fields = {name: value for name, value in entry.items() if isinstance(value, str)}
    # Any process may log with any MESSAGE_ID; the fields with an underscore are journald's own.
    if not fields.get("_SYSTEMD_UNIT", "").startswith(_UNIT) and fields.get("_UID") != "0":
        return None
    stamp = fields.get("__REALTIME_TIMESTAMP", "")
    return FailureReport(
        unit=fields.get("REMEDY_UNIT", ""),
        cause=fields.get("REMEDY_CAUSE", ""),
        certainty=fields.get("REMEDY_CERTAINTY", ""),
        summary=fields.get("REMEDY_SUMMARY", ""),
        created=int(stamp) / 1e6 if stamp.isdecimal() else 0.0,
    )
