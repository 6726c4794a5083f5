"""Whole transactions on a booted machine: real apt, dpkg, update-alternatives and systemd."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from tests.change.compare import changed
from tests.change.stage import Stage
from tests.lab.layers import Root
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine
CACHE = "/files//home/demo/.cache"


@pytest.fixture
def stage(lab_root: Root) -> Iterator[Stage]:
    with Machine(lab_root) as machine:
        yield Stage(machine)


def broken(stage: Stage) -> dict[str, object]:
    """The service has failed under the old toolchain; its child runs."""
    stage.machine.exec("systemctl start demo-child; systemctl start demo; sleep 0.2", check=False)
    state = stage.state()
    assert state["units"] == {"demo.service": "failed", "demo-child.service": "active"}
    return state


def working(stage: Stage) -> dict[str, object]:
    """The service runs under the old toolchain."""
    stage.sh("touch /etc/demo-old-works; systemctl start demo demo-child; sleep 0.3")
    state = stage.state()
    assert state["units"] == {"demo.service": "active", "demo-child.service": "active"}
    return state


def test_kept_and_rolled_back_later(stage: Stage) -> None:
    old = broken(stage)
    ended = stage.play("apply")
    assert (ended.name, ended.exit) == ("healthy", 0), ended
    new = stage.state()
    assert new["units"] == {"demo.service": "active", "demo-child.service": "active"}
    assert new["environment"] == ["CUDA_HOME=/usr/local/cuda-13.9", "VOICE=new"]
    assert stage.sh("readlink -f /usr/local/cuda") == "/usr/local/cuda-13.2\n"
    assert not [path for path in new["files"] if ".remedy-" in path or "basic.target" in path]
    ended = stage.play("rollback")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 0, ()), ended
    back = stage.state()
    assert changed(old, back, but=(CACHE, "/units/demo.service")) == []
    assert back["units"]["demo.service"] == "inactive"
    assert stage.play("rollback").name == "nothing-to-do"


def test_a_failing_start_goes_back_to_the_byte(stage: Stage) -> None:
    stage.sh("touch /etc/demo-new-fails")
    old = broken(stage)
    ended = stage.play("apply")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 5, ()), ended
    assert changed(old, stage.state()) == []
    folder = stage.sh("echo /var/lib/remedy/transactions/*").strip()
    assert "boom" in stage.sh(f"cat {folder}/evidence/journal.log")
    assert "+Environment=VOICE=new" in stage.sh(f"cat {folder}/evidence/change.diff")
    everything = stage.sh(f"cat {folder}/evidence/*")
    assert "TOKEN=***" in everything and "secret" not in everything


def test_a_service_that_ran_before_runs_again(stage: Stage) -> None:
    stage.sh("touch /etc/demo-new-fails")
    old = working(stage)
    ended = stage.play("apply")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 5, ()), ended
    assert changed(old, stage.state(), but=(f"{CACHE}/flashinfer/cached_ops/sampling/built",)) == []


LOOP = """[Unit]
StartLimitIntervalSec=0
[Service]
Restart=always
RestartSec=0
ExecStartPre=/bin/sleep 1
"""


def test_a_service_that_failed_again_and_again_does_so_again(stage: Stage) -> None:
    stage.sh("touch /etc/demo-new-fails; mkdir -p /etc/systemd/system/demo.service.d")
    stage.machine.write("/etc/systemd/system/demo.service.d/10-loop.conf", LOOP)
    restarts = "systemctl show -p NRestarts --value demo"
    stage.sh(
        f"systemctl daemon-reload; systemctl start --no-block demo; until [ $({restarts}) -gt 0 ]; do sleep 0.1; done"
    )
    ended = stage.play("apply")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 5, ()), ended
    assert "failed again and again before as well" in ended.said
    stage.sh(f"until [ $({restarts}) -gt 0 ]; do sleep 0.1; done")


def test_an_old_service_that_does_not_come_back_is_named_with_the_command(stage: Stage) -> None:
    stage.sh("touch /etc/demo-new-fails")
    old = working(stage)
    stage.sh("rm /etc/demo-old-works")
    ended = stage.play("apply")
    assert (ended.name, ended.exit) == ("rollback-incomplete", 6), ended
    (left,) = ended.left
    assert "demo.service ran before, and now does not start" in left and "systemctl start demo.service" in left
    assert changed(old, stage.state(), but=("/units", "/environment")) == []


def test_packages_that_others_came_to_need_stay(stage: Stage) -> None:
    broken(stage)
    assert stage.play("apply").exit == 0
    stage.sh("DEBIAN_FRONTEND=noninteractive apt-get install -y demo-friend")
    ended = stage.play("rollback")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 0, ()), ended
    packages = stage.state()["packages"]
    assert "demo-friend 1-1 ii " in packages and "demo-crt 13.9-1 ii " in packages
    assert not [line for line in packages if line.startswith("demo-nvcc")]
    assert "demo-base 1-1 ii " in packages
    assert "demo-crt stays: demo-friend needs it" in ended.said


def test_packages_are_kept_on_request(stage: Stage) -> None:
    stage.sh("touch /etc/demo-new-fails")
    old = broken(stage)
    ended = stage.play("apply", "keep=yes")
    assert (ended.exit, ended.left) == (5, ()), ended
    packages = stage.state()["packages"]
    assert "demo-nvcc 13.9-1 ii " in packages
    but = ("/packages", "/automatic", "/alternatives", "/files//usr/local", "/files//etc/demo-toolkit.conf")
    assert changed(old, stage.state(), but=but) == []


def test_a_flip_of_the_link_that_was_wanted_is_undone(stage: Stage) -> None:
    stage.sh("touch /etc/demo-new-fails")
    old = broken(stage)
    ended = stage.play("apply", "hold=no")
    assert (ended.exit, ended.left) == (5, ()), ended
    assert changed(old, stage.state()) == []


def test_a_link_made_by_hand_is_put_back(stage: Stage) -> None:
    stage.sh("touch /etc/demo-new-fails; rm /usr/local/cuda; ln -s cuda-12.8 /usr/local/cuda")
    old = broken(stage)
    ended = stage.play("apply", "hold=no")
    assert ended.exit == 5, ended
    assert changed(old, stage.state(), but=("/alternatives", "/files//etc/alternatives/cuda")) == []
    assert stage.sh("readlink /usr/local/cuda") == "cuda-12.8\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", ["Unpacking demo-crt", "step begin move", "progress running"])
def test_a_signal_leads_back(stage: Stage, number: signal.Signals, moment: str) -> None:
    old = working(stage)
    stage.machine.exec("sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 5\\n&/' /usr/local/bin/demo")
    process = stage.begin("apply")
    stage.wait_for(process, moment)
    stage.sh(f"pkill -{number.name.removeprefix('SIG')} -f '[t]ests.change.scene apply'")
    ended = stage.finish(process)
    assert (ended.name, ended.exit, ended.left) == ("interrupted", 130, ()), ended
    but = (f"{CACHE}/flashinfer/cached_ops/sampling/built", "/files//usr/local/bin/demo")
    assert changed(old, stage.state(), but=but) == []


@pytest.mark.parametrize(
    "moment",
    ["Retrieving file 2", "Unpacking demo-crt", "Configuring demo-base", "step done write", "progress running"],
)
def test_killed_then_recovered_by_hand(stage: Stage, moment: str) -> None:
    old = working(stage)
    process = stage.begin("apply")
    stage.wait_for(process, moment)
    stage.sh("pkill -KILL -f '[t]ests.change.scene apply'")
    process.communicate()
    refused = stage.play("apply")
    assert refused.exit == 7 and "unfinished" in refused.reason
    ended = stage.play("recover")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 0, ()), ended
    assert changed(old, stage.state(), but=(f"{CACHE}/flashinfer/cached_ops/sampling/built",)) == []
    assert stage.play("recover").name == "nothing"


@pytest.mark.parametrize("moment", ["Unpacking demo-crt", "Configuring demo-crt", "done write", "progress running"])
def test_power_cut_then_the_boot_recovers_by_itself(stage: Stage, moment: str) -> None:
    stage.sh("systemctl enable demo")
    old = working(stage)
    process = stage.begin("apply")
    stage.wait_for(process, moment)
    stage.machine.kill()
    stage.machine.boot()
    journal = stage.machine.journal("remedy-recover.service")
    new = stage.state()
    but = (f"{CACHE}/flashinfer/cached_ops/sampling/built", "/units/demo-child.service")
    assert changed(old, new, but=but) == [], journal
    assert new["environment"] == ["VOICE=old"]
    assert stage.play("recover").name == "nothing"


def test_what_a_refusal_says(stage: Stage) -> None:
    broken(stage)
    stage.sh("sed -i 's/^Version: 13.9-1/Version: 13.9-2/' /srv/tiny/Packages; apt-get update -q")
    ended = stage.play("apply")
    assert ended.exit == 7 and "13.9-1" in ended.reason, ended
    assert json.dumps(stage.state()["units"]) and stage.sh("ls /var/lib/remedy/transactions") == ""
