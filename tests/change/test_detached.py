"""A change in a unit of its own, on a booted machine: the terminal comes and goes."""

from __future__ import annotations

import signal
import time
from base64 import b64encode
from collections.abc import Iterator

import pytest

from tests.change.compare import changed
from tests.change.stage import Stage
from tests.lab.layers import Root
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine
TERMINAL = "[t]ests.change.scene detached"
BUILT = "/files//home/demo/.cache/flashinfer/cached_ops/sampling/built"


@pytest.fixture
def stage(lab_root: Root) -> Iterator[Stage]:
    with Machine(lab_root) as machine:
        stage = Stage(machine)
        # The new service takes a second to its ready line: time for something to happen.
        stage.sh("sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 2\\n&/' /usr/local/bin/demo")
        stage.sh("touch /etc/demo-old-works; systemctl start demo demo-child; sleep 0.5")
        yield stage


def end_of_unit(stage: Stage) -> None:
    """Wait until the unit that carries the change out is gone."""
    deadline = time.monotonic() + 60
    while "remedy-apply-" in stage.sh("systemctl list-units --all --plain --no-legend 'remedy-apply-*'"):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_followed_to_the_end(stage: Stage) -> None:
    ended = stage.play("detached")
    assert (ended.name, ended.exit, ended.reason) == ("healthy", 0, "the ready line was logged"), ended
    assert "step running Unpacking demo-crt" in ended.said and "progress running ready to roll" in ended.said
    assert stage.state()["environment"] == ["CUDA_HOME=/usr/local/cuda-13.9", "VOICE=new"]
    # The token stands in a file of the plan: nothing that others may read holds it, in words or encoded.
    token = b64encode(b"TOKEN=secret").decode()
    for word in ("secret", token):
        assert word not in stage.sh("journalctl -b --no-pager -o verbose")
        assert stage.sh(f"grep -rlF {word} /run /tmp /var/tmp 2>/dev/null || true") == ""
    assert token in stage.sh("cat /var/lib/remedy/transactions/*/plan.json")
    assert stage.sh("find /var/lib/remedy -perm /077") == ""


def test_an_error_comes_through_with_its_code(stage: Stage) -> None:
    stage.sh("mv /srv/tiny/Packages /srv/tiny/P; touch /srv/tiny/Packages; apt-get update -q")
    ended = stage.play("detached")
    assert ended.name == "error" and ended.exit == 7 and "demo-nvcc" in ended.reason, ended


@pytest.mark.parametrize("number", ["KILL", "HUP"])
@pytest.mark.parametrize("moment", ["Unpacking demo-crt", "progress running"])
def test_a_terminal_that_goes_away_changes_nothing(stage: Stage, number: str, moment: str) -> None:
    process = stage.begin("detached")
    stage.wait_for(process, moment)
    stage.sh(f"pkill -{number} -f '{TERMINAL}'")
    process.communicate()
    end_of_unit(stage)
    assert stage.state()["environment"] == ["CUDA_HOME=/usr/local/cuda-13.9", "VOICE=new"]
    assert stage.play("recover").name == "nothing"


@pytest.mark.parametrize(
    ("choice", "name", "code"), [("back", "interrupted", 130), ("watch", "healthy", 0), ("leave", "under-way", 3)]
)
def test_ctrl_c_asks(stage: Stage, choice: str, name: str, code: int) -> None:
    old = stage.state()
    process = stage.begin("detached", f"choice={choice}")
    stage.wait_for(process, "progress running")
    stage.sh(f"pkill -INT -f '{TERMINAL}'")
    ended = stage.finish(process)
    assert (ended.name, ended.exit) == (name, code), ended
    end_of_unit(stage)
    if choice == "back":
        assert changed(old, stage.state(), but=(BUILT,)) == []
    else:
        assert stage.state()["environment"] == ["CUDA_HOME=/usr/local/cuda-13.9", "VOICE=new"]


def test_a_terminal_that_is_stopped_holds_nothing_up(stage: Stage) -> None:
    # Far more than a pipe takes, and less than journald lets through (RateLimitBurst=).
    stage.sh("sed -i 's/^echo \"ready/[ $VOICE = old ] || seq -f %0300g 4000\\n&/' /usr/local/bin/demo")
    process = stage.begin("detached")
    stage.wait_for(process, "Unpacking demo-crt")
    stage.sh(f"pkill -STOP -f '{TERMINAL}'")
    deadline = time.monotonic() + 60
    while "healthy" not in stage.sh("cat /var/lib/remedy/transactions/*/ledger"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    # nsenter(1) has stopped itself with what it runs, and goes on with it.
    process.send_signal(signal.SIGCONT)
    assert stage.finish(process).name == "healthy"


def test_pipes_that_are_closed_change_nothing(stage: Stage) -> None:
    process = stage.begin("detached")
    stage.wait_for(process, "Unpacking demo-crt")
    assert process.stderr is not None and process.stdout is not None
    process.stderr.close()
    process.stdout.close()
    process.wait(60)
    end_of_unit(stage)
    assert stage.state()["environment"] == ["CUDA_HOME=/usr/local/cuda-13.9", "VOICE=new"]


def test_without_systemd_run_nothing_is_touched(stage: Stage) -> None:
    old = stage.state()
    stage.sh("mount --bind /bin/false /usr/bin/systemd-run")
    ended = stage.play("detached")
    stage.sh("umount /usr/bin/systemd-run")
    assert ended.exit == 7 and "nothing was touched" in ended.reason, ended
    assert changed(old, stage.state()) == []


def test_nobody_need_be_left_for_the_recovery(stage: Stage) -> None:
    """The terminal, what started the unit and the unit's process die: the recovery finds its pipes closed."""
    old = stage.state()
    process = stage.begin("detached")
    stage.wait_for(process, "progress running")
    stage.sh(
        f"pkill -KILL -f '{TERMINAL}'; pkill -KILL -f '[s]ystemd-run'; pkill -KILL -f '[t]ests.change.scene worker'"
    )
    process.communicate()
    end_of_unit(stage)
    assert changed(old, stage.state(), but=(BUILT,)) == []
    assert stage.play("recover").name == "nothing"


def test_the_death_of_the_process_itself_is_recovered_at_once(stage: Stage) -> None:
    old = stage.state()
    process = stage.begin("detached")
    stage.wait_for(process, "Unpacking demo-crt")
    stage.sh("pkill -KILL -f '[t]ests.change.scene worker'")
    ended = stage.finish(process)
    assert (ended.name, ended.exit) == ("rolled-back", 5) and "was killed" in ended.reason, ended
    end_of_unit(stage)
    assert changed(old, stage.state(), but=(BUILT,)) == []
    assert stage.play("recover").name == "nothing"
