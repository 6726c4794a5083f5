"""Runs in a machine: asks systemd over D-Bus what it made of cases, and starts those that are to be run.

Takes [id, unit, run] triples as JSON, prints one JSON array a case. Nothing but the standard library is there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SYSTEMD = "org.freedesktop.systemd1"


def bus(*words: str) -> Any:
    """The answer of a call of busctl(1), None where it failed."""
    done = subprocess.run(["busctl", "--json=short", *words], capture_output=True)
    return json.loads(done.stdout)["data"] if done.returncode == 0 else None


def get(path: str, interface: str, *names: str) -> list[Any]:
    """Properties of a unit."""
    return [bus("get-property", SYSTEMD, path, f"{SYSTEMD}.{interface}", name) for name in names]


def answer(case: str, unit: str) -> list[Any]:
    """What systemd says of a unit, and what its process wrote."""
    path = bus("call", SYSTEMD, "/org/freedesktop/systemd1", f"{SYSTEMD}.Manager", "LoadUnit", "s", unit)[0]
    state, fragment, drop_ins = get(path, "Unit", "LoadState", "FragmentPath", "DropInPaths")
    start, user, directory = get(path, "Service", "ExecStart", "User", "WorkingDirectory")
    try:
        with open(f"/out/{case}", "rb") as out:
            environment = out.read().decode("latin-1")
    except OSError:
        environment = None
    return [case, state, fragment, drop_ins, [entry[1] for entry in start or []], user, directory, environment]


def main() -> None:
    """Start first: a unit that is asked for twice is loaded once."""
    cases = json.load(sys.stdin)
    for _, unit, run in cases:
        if run:
            subprocess.run(["systemctl", "start", "--", unit], capture_output=True)
    for case, unit, _ in cases:
        print(json.dumps(answer(case, unit)))


if __name__ == "__main__":
    main()
