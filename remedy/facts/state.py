"""What the service manager says of the unit now."""

from __future__ import annotations

import os
from collections.abc import Mapping

from remedy.facts.names import text_of
from remedy.facts.run import Result, Runner, Running
from remedy.facts.types import Missing, UnitState
from remedy.view import View

_TIMEOUT = 5.0
_PROPERTIES = (
    "ActiveState",
    "SubState",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "NRestarts",
    "InvocationID",
    "NeedDaemonReload",
    "ActiveEnterTimestampMonotonic",
    "InactiveEnterTimestampMonotonic",
)


def start_state(runner: Runner, unit: str, user: bool = False) -> Running:
    """``systemctl show`` for the unit."""
    scope = ("--user",) if user else ()
    argv = ("systemctl", *scope, "show", f"--property={','.join(_PROPERTIES)}", "--", unit)
    return runner.start(argv, timeout=_TIMEOUT, env=bus_environment(user))


def read_state(view: View, answer: Result) -> tuple[UnitState | None, Missing | None]:
    """The unit's state from the answer of ``systemctl show``; why it is not known."""
    if not answer.ok:
        return None, Missing("state", f"systemctl: {answer.why}")
    return parse_state(answer.text, boot_time(view), uptime(view)), None


def parse_state(text: str, boot: int, up: float = 0.0) -> UnitState:
    """``Name=value`` lines; ``boot`` is when the machine booted, in microseconds since the epoch, ``up`` the seconds
    since then."""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def number(name: str) -> int:
        value = values.get(name, "")
        return int(value) if value.isdecimal() else 0

    # The printed timestamps have a format and a time zone of their own; the monotonic ones are plain numbers.
    entered = number("ActiveEnterTimestampMonotonic") / 1e6
    left = number("InactiveEnterTimestampMonotonic")
    active = values.get("ActiveState") == "active" and entered > 0
    return UnitState(
        active_for=max(0.0, up - entered) if active else None,
        active_state=values.get("ActiveState", "unknown"),
        sub_state=values.get("SubState", ""),
        result=values.get("Result", ""),
        exec_main_code=number("ExecMainCode"),
        exec_main_status=number("ExecMainStatus"),
        n_restarts=number("NRestarts"),
        invocation=values.get("InvocationID", ""),
        need_daemon_reload=values.get("NeedDaemonReload") == "yes",
        inactive_enter=boot + left if left else 0,
    )


def boot_time(view: View) -> int:
    """When the machine booted, to the second, in microseconds since the epoch: proc_stat(5)."""
    # The line comes late in the file, and first in what a snapshot keeps of it.
    _, _, after = f"\n{text_of(view, '/proc/stat')}".partition("\nbtime ")
    digits = after.partition("\n")[0]
    return int(digits) * 1_000_000 if digits.isdecimal() else 0


def uptime(view: View) -> float:
    """Seconds since the machine booted: proc_uptime(5)."""
    words = text_of(view, "/proc/uptime").split()
    return float(words[0]) if words and words[0].replace(".", "", 1).isdecimal() else 0.0


def bus_environment(user: bool) -> Mapping[str, str]:
    """What a program needs to find the user's own manager; nothing for the system's."""
    return {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}"} if user else {}
