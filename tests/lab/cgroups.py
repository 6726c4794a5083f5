"""A machine's own control groups.

nspawn without registration stays in its caller's groups: machines side by side would then share one
`system.slice`, and see one another's processes in it.  So each machine gets a group of its own, below the
caller's, in every hierarchy that systemd manages.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

#: The version 1 controllers that systemd puts services into, with its own named hierarchy.
LEGACY = {"name=systemd", "cpu", "cpuacct", "blkio", "memory", "devices", "pids"}
PREFIX = "remedy-lab-"


def folders(name: str) -> list[Path]:
    """The folders of the group `name` in each hierarchy; made where they are missing."""
    found = [parent / f"{PREFIX}{name}" for parent in _own()]
    for folder in found:
        folder.mkdir(exist_ok=True)
    return found


def remove(name: str, patience: float = 2.0) -> None:
    """Remove the group `name` from each hierarchy; the kernel may need a moment to empty it (seconds)."""
    deadline = time.monotonic() + patience
    for parent in _own():
        folder = parent / f"{PREFIX}{name}"
        while folder.exists():
            for path, _, _ in os.walk(folder, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
            if time.monotonic() > deadline:
                break
            if folder.exists():
                time.sleep(0.01)


def _own() -> Iterator[Path]:
    """The folders of this process's own groups (cgroups(7): /proc/self/cgroup)."""
    mounts = _mounts()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller in mounts and (controller == "" or controller in LEGACY):
                yield mounts[controller] / path.lstrip("/")


def _mounts() -> dict[str, Path]:
    """Where each controller's hierarchy is mounted; "" is version 2's (proc(5): mountinfo)."""
    result: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        where = Path(before.split()[4])
        if kind == "cgroup2":
            result[""] = where
        elif kind == "cgroup":
            result |= {option: where for option in options.split(",") if option in LEGACY}
    return result
