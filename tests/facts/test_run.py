from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from remedy.facts.accounts import Account
from remedy.facts.run import NoRunner, Programs, Result, run

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")
NOBODY = Account("nobody", 65534, 65534, "/nonexistent", (65534,))


def shell(script: str, timeout: float = 5.0, **options: bytes | dict[str, str]) -> Result:
    return Programs().start(("sh", "-c", script), timeout=timeout, **options).result()  # type: ignore[arg-type]


def test_output_input_and_status() -> None:
    result = shell("cat; echo to-err >&2; exit 3", input=b"given")
    assert (result.returncode, result.stdout, result.stderr) == (3, b"given", b"to-err\n")
    assert not result.ok and result.why == "to-err"


def test_nothing_of_our_environment_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD_TEST", "x")
    names = {line.partition("=")[0] for line in shell("env", env={"ADDED": "1"}).text.splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"LC_ALL", "PATH", "ADDED"}


def test_standard_input_is_closed() -> None:
    assert shell("cat").stdout == b""


def test_a_time_limit_ends_the_whole_process_group() -> None:
    begin = time.monotonic()
    result = shell("sleep 30.4711 & sleep 30.4711", timeout=0.2)
    assert result.returncode is None and result.why == "no answer within 0.2 s"
    while any(_command(pid) == b"sleep\x0030.4711\x00" for pid in os.listdir("/proc") if pid.isdecimal()):
        assert time.monotonic() - begin < 5
        time.sleep(0.01)


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_what_was_answered_in_time_counts_however_late_it_is_read() -> None:
    """Another program that hangs keeps us waiting: that must not cost the facts that the quick ones told."""
    quick, crashed = (Programs().start(("sh", "-c", script), timeout=0.3) for script in ("echo told", "kill -SEGV $$"))
    time.sleep(0.5)
    assert quick.result() == Result(0, b"told\n")
    assert (crashed.result().returncode, crashed.result().why) == (-11, "signal 11 ended it")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "Exec format error"),
        (b"\x7fELF and no more", "Exec format error"),
        (b"#!/no/such/interpreter\n", "the interpreter that it names is not there"),
    ],
)
def test_what_the_kernel_can_t_execute_is_told_from_what_fails(tmp_path: Path, content: bytes, why: str) -> None:
    program = tmp_path / "nvcc"
    program.write_bytes(content)
    program.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.is_relative_to("/tmp/") and parent != Path("/tmp"):
            parent.chmod(0o755)
    assert run(Programs(), (str(program),), timeout=5) == Result(126, why=f"{program} can't be started: {why}")


def test_output_is_limited() -> None:
    result = Programs(output_limit=100_000).start(("yes",), timeout=5).result()
    assert result.why == "more than 100000 bytes of output" and not result.ok


def test_a_program_that_closes_its_output_is_still_waited_for() -> None:
    assert shell("exec >&- 2>&-; sleep 0.1; exit 4").returncode == 4


def test_a_signal_is_a_negative_status() -> None:
    assert shell("kill -9 $$").returncode == -9


def test_started_programs_run_at_the_same_time() -> None:
    begin = time.monotonic()
    running = [Programs().start(("sleep", "0.3"), timeout=5) for _ in range(4)]
    assert all(one.result().ok for one in running)
    assert time.monotonic() - begin < 1.1


def test_a_missing_program_is_a_reason() -> None:
    result = run(Programs(), ("no-such-program",), timeout=1)
    assert result == Result(None, why="no-such-program is not there or not executable")


def test_a_program_that_comes_later_is_found(tmp_path: Path) -> None:
    programs, later = Programs(), tmp_path / "later"
    assert not run(programs, (str(later),), timeout=1).ok
    later.symlink_to("/bin/true")
    assert run(programs, (str(later),), timeout=5).ok


def test_no_runner_runs_nothing() -> None:
    assert run(NoRunner("--root is only read"), ("true",), timeout=1).why == "--root is only read"


@ROOT_ONLY
def test_a_program_that_others_can_write_is_not_run_as_root(passable: Path) -> None:
    program = passable / "nvcc"
    program.write_text("#!/bin/sh\nid -u\n")
    program.chmod(0o755)
    assert run(Programs(), (str(program),), timeout=5).text == "0\n"
    os.chown(program, 65534, 65534)
    refused = run(Programs(), (str(program),), timeout=5)
    assert refused.returncode is None and refused.why is not None
    assert refused.why.endswith(f"{program} belongs to uid 65534")
    assert run(Programs(), (str(program),), timeout=5, user=NOBODY).text == "65534\n"


@ROOT_ONLY
def test_another_user_has_no_rights_of_ours() -> None:
    script = "id -u; id -g; id -G; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status"
    words = run(Programs(), ("sh", "-c", script), timeout=5, user=NOBODY).text.split()
    assert words == ["65534", "65534", "65534", "CapEff:", "0000000000000000", "NoNewPrivs:", "1"]


@ROOT_ONLY
def test_a_folder_that_is_closed_to_a_user_is_closed_to_its_programs(tmp_path: Path) -> None:
    """pytest's own folder is root's alone."""
    program = tmp_path / "nvcc"
    program.write_text("#!/bin/sh\nid -u\n")
    program.chmod(0o755)
    tmp_path.chmod(0o700)
    result = run(Programs(), (str(program),), timeout=5, user=NOBODY)
    assert result.returncode == 126 and "Permission denied" in (result.why or "")
