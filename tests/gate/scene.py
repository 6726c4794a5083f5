"""Watches one start inside a machine of the lab: ``python -m tests.gate.scene UNIT ORDERS`` (JSON).

Orders: ``expect`` (fields of Expectation), ``act`` (the systemctl verb; none where the start is under way), ``before``
and ``then`` (shell commands; the second runs ``after`` seconds into the watch), ``adopt``, ``hang``, and ``without``:
modules that are not there.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import threading
import time
from typing import Any

from remedy.gate import pulse
from remedy.gate import watch as gate
from remedy.gate.types import Expectation, Progress, Verdict


def later(command: str, after: float) -> None:
    """Run a shell command in the middle of the watch."""

    def act() -> None:
        time.sleep(after)
        subprocess.run(["sh", "-c", command], check=True)

    threading.Thread(target=act, daemon=True).start()


def main(unit: str, orders: dict[str, Any]) -> None:
    """Watch, and print the verdict as JSON."""
    for name in orders.get("without", ()):
        # What Python finds where a module was not built.
        sys.modules[name] = None  # type: ignore[assignment]
    if "hang" in orders:
        pulse.SHORTEST_HANG = orders["hang"]  # type: ignore[misc]
    expect: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in orders["expect"].items()
    }
    if "before" in orders:
        subprocess.run(["sh", "-c", orders["before"]], check=True)
    expectation = Expectation(**expect)
    seen: list[Progress] = []
    with gate.Watch(unit, expectation, adopt=bool(orders.get("adopt"))) as watch:
        if orders.get("act"):
            subprocess.run(["systemctl", orders["act"], "--no-block", unit], check=True)
        if "then" in orders:
            later(orders["then"], orders.get("after", 0.3))
        verdict = watch.run(seen.append)
        print(json.dumps(told(unit, verdict, seen, expectation.ready)))


def told(unit: str, verdict: Verdict, seen: list[Progress], ready: tuple[str, ...]) -> dict[str, Any]:
    """The verdict, and the seconds between the event that decided it and now."""
    now, clock = time.time(), time.monotonic()
    show = ["systemctl", "show", "-P", "StateChangeTimestampMonotonic", unit]
    changed = int(subprocess.run(show, check=True, capture_output=True, text=True).stdout) / 1e6
    telling = [line for line in verdict.log if line.text.strip() and line.text in verdict.reason]
    if verdict.state == "healthy":
        telling += [line for line in verdict.log if any(re.search(word, line.text) for word in ready)]
    written = [line.realtime / 1e6 for line in telling]
    return {
        "state": verdict.state,
        "reason": verdict.reason,
        "by": verdict.decided_by,
        "elapsed": verdict.elapsed,
        "log": [line.text for line in verdict.log[:100]],
        "kept": len(verdict.log),
        "phases": [progress.phase for progress in seen if progress.phase != "log"],
        "reports": len(seen),
        "first": seen[0].line if seen else "",
        # A unit that ended without a failure is forgotten, and its times with it.
        "late": now - written[-1] if written else clock - changed if changed else 0.0,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
