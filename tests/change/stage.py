"""The host's side of the small scene: commands run in a machine, and states compared."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from tests.lab.machine import Machine, Process

PROGRAM = ("/opt/remedy-venv/bin/python", "-m", "tests.change.scene")


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome that the scene printed, its exit code and what it said."""

    name: str
    exit: int
    reason: str
    left: tuple[str, ...]
    said: str


class Stage:
    """One machine with the scene set."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._run("prepare")

    def _run(self, *words: str) -> tuple[int, str, str]:
        done = self.machine.exec([*PROGRAM, *words], check=False)
        if words[0] in ("prepare", "state"):
            assert done.returncode == 0, done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    def play(self, *words: str) -> Ended:
        """Run a command to its end."""
        return ended(*self._run(*words))

    def begin(self, *words: str) -> Process:
        """Start a command and go on."""
        return self.machine.start([*PROGRAM, *words])

    def sh(self, command: str) -> str:
        """A shell command inside, which must succeed."""
        return self.machine.exec(command).stdout

    def state(self) -> dict[str, Any]:
        """All that a transaction may touch, once the units are at rest."""
        deadline = time.monotonic() + 10
        while True:
            found: dict[str, Any] = json.loads(self._run("state")[1])
            if "activating" not in found["units"].values() or time.monotonic() > deadline:
                return found

    def wait_for(self, process: Process, text: str) -> str:
        """Wait until a started command says something."""
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if text in line:
                return said
        raise AssertionError(f"{text!r} was never said:\n{said}{process.communicate()}")

    def finish(self, process: Process) -> Ended:
        """Wait for the end of a started command."""
        out, err = process.communicate(timeout=120)
        return ended(process.returncode, out, err)


def ended(code: int, out: str, err: str) -> Ended:
    """The last outcome that was printed."""
    lines = out.splitlines()
    if not lines:
        return Ended("nothing", code, "", (), err)
    name, exit_code, reason, left = json.loads(lines[-1])
    assert code == exit_code, (code, out, err)
    return Ended(name, code, reason, tuple(left), err)
