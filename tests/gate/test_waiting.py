"""What real processes are seen to wait for."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remedy.gate.waiting import waits_for

SLEEP = "import time; time.sleep(60)"
LOCK = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{SLEEP}'])"


@contextmanager
def waiting(script: str, *words: str) -> Iterator[int]:
    """A process that comes to rest."""
    with subprocess.Popen([sys.executable, "-c", script, *words]) as process:
        until = time.monotonic() + 10
        while not _rests(process.pid) and time.monotonic() < until:
            time.sleep(0.02)
        yield process.pid
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), 9)
        process.kill()


def _rests(process: int) -> bool:
    place = Path(f"/proc/{process}/wchan").read_text()
    return any(part in place for part in ("nanosleep", "lock", "wait4", "do_wait", "select"))


@pytest.fixture(autouse=True)
def _seen() -> None:
    if Path(f"/proc/{os.getpid()}/wchan").read_text() == "" or not Path("/proc/locks").exists():
        pytest.skip("this kernel does not tell where a process waits")


def test_a_lock_of_a_file_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "page.lock"
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with waiting(LOCK, str(path)) as process:
            said = waits_for([process])
    assert f"[{process}] waits for the lock of {path}" in said and f"[{os.getpid()}] holds" in said


def test_sleep_is_told_and_the_child_before_its_parent() -> None:
    with waiting(PARENT) as process:
        (child,) = map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
        until = time.monotonic() + 10
        while not _rests(child) and time.monotonic() < until:
            time.sleep(0.02)
        said = waits_for([process, child])
    assert f"[{child}] waits for time to pass" in said and f"[{process}]" not in said


def test_nobody() -> None:
    assert waits_for([2**22 + 1]) == ""
