"""How long earlier starts took, from the journal."""

from __future__ import annotations

from collections.abc import Sequence

from remedy.facts.journal import parse_export
from remedy.facts.run import Runner, run

# A journal of many gigabytes without a ready line is given up on: the estimate is not worth a wait.
_TIMEOUT = 2.0
_FIELDS = "--output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,USER_INVOCATION_ID,UNIT,USER_UNIT"


def last_good_start(runner: Runner, unit: str, ready: Sequence[str], *, user: bool = False) -> float | None:
    """Seconds from the manager's first line on the unit's last good start to the service's ready line.

    ``ready`` are regular expressions of ready lines; None where the journal holds no such start.
    """
    if not ready:
        return None
    base = ("journalctl", "--quiet", "--no-pager", "--output=export", _FIELDS)
    scope = "--user-unit" if user else "--unit"
    newest = (f"--grep={'|'.join(ready)}", "--reverse", "--lines=1", scope, unit)
    lines = parse_export(run(runner, (*base, *newest), timeout=_TIMEOUT).stdout)
    end = next((line for line in lines if line.invocation and not line.from_manager), None)
    if end is None:
        return None
    # Only the manager's own lines carry this field, so that there are few of them.
    field = "USER_INVOCATION_ID" if user else "INVOCATION_ID"
    told = parse_export(run(runner, (*base, f"{field}={end.invocation}"), timeout=_TIMEOUT).stdout)
    begin = min((line.realtime for line in told if line.realtime), default=0)
    return (end.realtime - begin) / 1e6 if 0 < begin < end.realtime else None
