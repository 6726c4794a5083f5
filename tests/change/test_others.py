"""What others do while a change is on its way: what packages start, what an administrator stops."""

from __future__ import annotations

import pytest

from tests.change.compare import changed
from tests.change.stage import Stage
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine
BUILT = "/files//home/demo/.cache/flashinfer/cached_ops/sampling/built"


@pytest.fixture
def stage(machine: Machine) -> Stage:
    """One machine for all of this file: each test sets the scene anew."""
    stage = Stage(machine)
    stage.sh("touch /etc/demo-old-works; systemctl start demo demo-child; sleep 0.5")
    return stage


def test_a_daemon_that_a_package_starts_holds_nothing_up(stage: Stage) -> None:
    """It has apt's output open, and with it the log of the transaction, for as long as it lives."""
    old = stage.state()
    stage.sh("touch /etc/demo-daemon /etc/demo-new-fails")
    ended = stage.finish(stage.begin("detached"))
    assert stage.sh("pgrep -x -f 'sleep 999'")
    stage.sh("pkill -x -f 'sleep 999'")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 5, ()), ended
    assert changed(old, stage.state(), but=(BUILT,)) == []


@pytest.mark.parametrize("moment", ["Unpacking demo-crt", "progress running"])
def test_an_administrator_stops_the_unit_of_the_change(stage: Stage, moment: str) -> None:
    """A stop is the wish to go back: it waits until all is as before."""
    stage.sh("sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 3\\n&/' /usr/local/bin/demo")
    old = stage.state()
    process = stage.begin("detached")
    stage.wait_for(process, moment)
    stage.sh("systemctl stop 'remedy-apply-*'")
    ended = stage.finish(process)
    assert (ended.name, ended.exit, ended.left) == ("interrupted", 130, ()), ended
    assert changed(old, stage.state(), but=(BUILT,)) == []
    assert stage.play("recover").name == "nothing"


@pytest.mark.parametrize("victim", ["apt-get", "dpkg"])
def test_apt_is_killed_under_the_change(stage: Stage, victim: str) -> None:
    """By the kernel, out of memory, or by hand: dpkg's half of the work is taken back like all else."""
    old = stage.state()
    process = stage.begin("detached")
    stage.wait_for(process, "Unpacking demo-crt")
    stage.sh(f"pkill -KILL -x {victim}")
    ended = stage.finish(process)
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 5, ()), ended
    assert changed(old, stage.state(), but=(BUILT,)) == []


def test_the_recovery_is_killed_as_well(stage: Stage) -> None:
    """Who kills the change and what recovers it has a transaction left, which is named and can be recovered."""
    stage.sh("sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 3\\n&/' /usr/local/bin/demo")
    old = stage.state()
    process = stage.begin("detached")
    stage.wait_for(process, "progress running")
    recovery = "[a]gain.py remedy recover"
    stage.sh(
        "pkill -KILL -f '[t]ests.change.scene worker'; "
        f"timeout 20 sh -c 'until pgrep -f \"{recovery}\"; do sleep 0.01; done'; pkill -KILL -f '{recovery}'"
    )
    ended = stage.finish(process)
    assert ended.exit == 6 and "remedy recover" in str(ended.left), ended
    refused = stage.play("apply")
    assert refused.exit == 7 and "unfinished" in refused.reason, refused
    assert stage.play("recover").exit == 0
    assert changed(old, stage.state(), but=(BUILT,)) == []
