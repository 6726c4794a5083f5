"""A small disk of its own for a test: a tmpfs with limits."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, options: str = "size=8m") -> Iterator[Path]:
    """A mounted tmpfs; the test is skipped where mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    if not done("mount", "-t", "tmpfs", "-o", options, "none", str(folder)):
        pytest.skip("mounting is not allowed here")
    try:
        yield folder
    finally:
        done("umount", str(folder))


def done(*argv: str) -> bool:
    """Whether a command succeeded."""
    return subprocess.run(argv, capture_output=True).returncode == 0


def fill(folder: Path) -> None:
    """Leave not one byte free."""
    with open(folder / "filler", "wb") as file, contextlib.suppress(OSError):
        while True:
            os.write(file.fileno(), bytes(4096))
