"""The run state of units: noted before a change, brought about, and put back. Through systemctl(1).

As root systemctl speaks to the manager itself (/run/systemd/private): a message bus that is away does not matter.
"""

from __future__ import annotations

from pathlib import Path

from remedy.change.types import UnitBefore
from remedy.errors import Refused, RemedyError
from remedy.facts.run import Programs, Result, run

#: Units that systemd stops or restarts along with this one: systemd.unit(5), PartOf=, BindsTo=, Requires=; and the
#: sockets, timers and paths that start it.
_DEPENDENTS = ("ConsistsOf", "BoundBy", "RequiredBy", "TriggeredBy")
_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "InvocationID",
    "NeedDaemonReload",
    "NRestarts",
    *_DEPENDENTS,
)
_QUICK = 60.0
#: Seconds for a stop: a server that frees eight GPUs takes a while, and TimeoutStopSec= is the manager's to enforce.
STOP_TIMEOUT = 900.0


def boot_id() -> str:
    """Which boot this is (random(4), /proc/sys/kernel/random/boot_id)."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def look(unit: str) -> UnitBefore:
    """The run state now. Raises RemedyError where the manager does not answer, Refused for a unit that can't start."""
    values = properties(unit)
    if values.get("LoadState") in ("masked", "not-found"):
        raise Refused(f"{unit} is {values['LoadState']} now", hint=f"systemctl status {unit}")
    names = sorted({name for key in _DEPENDENTS for name in values.get(key, "").split()})
    dependents = tuple((name, active_state(name)) for name in names)
    return UnitBefore(
        unit,
        values.get("ActiveState", ""),
        values.get("SubState", ""),
        values.get("UnitFileState", ""),
        values.get("InvocationID", ""),
        boot_id(),
        dependents,
        n_restarts=int(values.get("NRestarts") or 0),
    )


def properties(unit: str) -> dict[str, str]:
    """The unit's properties by systemctl's names."""
    result = _systemctl("show", f"--property={','.join(_PROPERTIES)}", "--", unit)
    if not result.ok:
        raise RemedyError(f"systemd does not answer for {unit}: {result.why}")
    pairs = (line.partition("=") for line in result.text.splitlines())
    return {name: value for name, _, value in pairs}


def active_state(unit: str) -> str:
    """ActiveState of a unit."""
    return properties(unit).get("ActiveState", "")


def daemon_reload(unit: str | None = None) -> None:
    """Have the manager read its units again. Raises RemedyError, but not where ``unit`` is as it was loaded anyway."""
    result = _systemctl("daemon-reload")
    if not result.ok and (unit is None or properties(unit).get("NeedDaemonReload") != "no"):
        raise RemedyError(f"systemctl daemon-reload failed: {result.why}")


def reset_failed(unit: str) -> None:
    """Forget earlier failures, so that the start limit does not refuse the next start."""
    # A unit that is not loaded has nothing to forget: not an error here.
    _systemctl("reset-failed", "--", unit)


def enqueue(verb: str, unit: str) -> None:
    """Ask for a start, restart or stop, and don't wait. Raises RemedyError where the manager refuses."""
    result = _systemctl(verb, "--no-block", "--", unit)
    if not result.ok:
        raise RemedyError(f"systemctl {verb} {unit} failed: {result.why}")


def stop(unit: str) -> None:
    """Stop a unit and wait for it. Raises RemedyError."""
    result = _systemctl("stop", "--", unit, timeout=STOP_TIMEOUT)
    if not result.ok:
        raise RemedyError(f"systemctl stop {unit} failed: {result.why}")


def start(unit: str) -> None:
    """Start a unit and wait for its job. Raises RemedyError."""
    result = _systemctl("start", "--", unit, timeout=STOP_TIMEOUT)
    if not result.ok:
        raise RemedyError(f"systemctl start {unit} failed: {result.why}")


def untouched(before: UnitBefore) -> bool:
    """Whether the process that ran before is the one that runs now."""
    values = properties(before.unit)
    same = (values.get("InvocationID"), values.get("ActiveState")) == (before.invocation, before.active_state)
    return same and before.active_state == "active" and before.boot == boot_id()


def up() -> bool:
    """Whether the machine is neither booting nor going down: only then can a start or stop be waited for."""
    result = run(Programs(), ["systemctl", "is-system-running"], timeout=_QUICK)
    return result.text.strip() not in ("initializing", "starting", "stopping")


def _systemctl(*arguments: str, timeout: float = _QUICK) -> Result:
    return run(Programs(), ["systemctl", "--no-ask-password", *arguments], timeout=timeout)
