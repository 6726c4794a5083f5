"""The host's side of the crash matrix."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.change.compare import changed, timeless
from tests.lab.machine import Machine

MATRIX = ("/opt/remedy-venv/bin/python", "-m", "tests.change.matrix")
SCENE = ("/opt/remedy-venv/bin/python", "-m", "tests.change.scene")
Point = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind: ``kill`` before a call, ``unit``: the same in a unit of its own, ``half`` way through a
    write, ``again``: in the recovery."""

    kind: str
    options: tuple[str, ...]
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.kind}{' without packages' if self.options else ''}"

    def part(self, index: int, of: int) -> Series:
        """Every ``of``-th point."""
        return replace(self, points=self.points[index::of])


@dataclass(frozen=True, slots=True)
class Cut:
    """A power cut at one call, and which state stood there after the next boot."""

    point: int
    call: str
    state: str
    differences: tuple[str, ...]


def count(machine: Machine, options: tuple[str, ...], command: str = "count") -> list[str]:
    """The calls of a whole change (``count-unit``: in a unit of its own; ``count-recovery``: of the recovery of one
    that died at its restart)."""
    return machine.exec([*MATRIX, command, *options]).stdout.split()


def rows(machine: Machine, series: Series) -> Iterator[dict[str, Any]]:
    """Run one series in a machine; a row for each point."""
    names = dict(series.points)
    points = ",".join(str(number) for number, _ in series.points)
    process = machine.start([*MATRIX, "run", series.kind, points, *series.options])
    assert process.stdout is not None and process.stderr is not None
    for line in process.stdout:
        row: dict[str, Any] = json.loads(line)
        yield {**row, "kind": series.kind, "call": names[row["point"]]}
    error = process.stderr.read()
    if process.wait() != 0:
        raise RuntimeError(error)


def kept(machine: Machine) -> dict[str, Any]:
    """The state after a change that is kept."""
    state: dict[str, Any] = json.loads(machine.exec([*MATRIX, "kept"]).stdout)
    return state


def power_cut(machine: Machine, point: int, call: str, new: dict[str, Any], *, back: bool = False) -> Cut:
    """Stop a change at one call (behind the last one: let it end), cut the power, boot what the disk holds, and compare
    with the old state and the new. With ``back`` the start fails, so that the change takes itself back."""
    old = json.loads(machine.exec([*MATRIX, "working", *(["fails"] if back else [])]).stdout)
    machine.exec("systemctl enable demo demo-child && sync -f /")
    fault = {"FAULT_AT": str(point), "FAULT_KIND": "stop", "PYTHONDONTWRITEBYTECODE": "1"}
    process = machine.start([*SCENE, "apply"], env={"LD_PRELOAD": "/var/tmp/fault.so", **fault})
    stopped = "ps -eo stat,args | grep '^T.*tests.change.scene apply'"
    while process.poll() is None and machine.exec(stopped, check=False).returncode != 0:
        time.sleep(0.1)
    # nsenter(1) has stopped itself with what it runs: left alone, it would hold on to the machine's mounts.
    process.kill()
    process.wait()
    machine.cut_power()
    machine.boot()
    now = json.loads(machine.exec([*MATRIX, "look"]).stdout)
    enabled = ("/files//etc/systemd/system/multi-user.target.wants",)
    # An end that was told is one that lasts: nothing of a change that took itself back comes again.
    states = [("old", changed(old, now, but=enabled))]
    states += [] if back else [("new", changed(timeless(new), timeless(now), but=enabled))]
    state, differences = min(states, key=lambda one: len(one[1]))
    return Cut(point, call, "mixture" if differences else state, tuple(differences))
