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
