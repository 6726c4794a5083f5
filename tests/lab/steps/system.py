"""Debian with systemd as PID 1, and the compilers that a server's machine has."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab import host

SYSTEM = ("systemd", "systemd-sysv", "dbus", "ca-certificates", "python3", "procps")
TOOLS = (
    *("python3-venv", "python3-dev", "gcc", "g++", "make", "build-essential", "ninja-build"),
    *("libsystemd-dev", "pkg-config"),
)


def build(root: Path, suite: str) -> None:
    """Debootstrap `suite` into the empty folder `root`, set up for this machine's package sources."""
    mirror = host.debian_mirror()
    include = ",".join(SYSTEM + TOOLS)
    where = [suite, str(root)] + ([mirror] if mirror else [])
    host.run("debootstrap", "--variant=minbase", f"--include={include}", *where)
    host.copy_settings(root)
    shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
    (root / "var/cache/apt/archives/partial").mkdir(parents=True)
    (root / "etc/hostname").write_text("lab\n")
