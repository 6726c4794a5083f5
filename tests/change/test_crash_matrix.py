"""A sample of scripts/crash-matrix, and a disk that is full from some call on."""

from __future__ import annotations

import errno

import pytest

from tests.change.matrix_host import Series, count, kept, power_cut, rows
from tests.lab.layers import Root
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine
PLAIN = ("packages=no",)
#: Calls that no disk makes fail.
NO_DISK = ("waitpid", "seteuid", "pipe2", "posix_spawn")


@pytest.mark.parametrize("options", [(), PLAIN], ids=["packages", "files"])
def test_death_leaves_old_or_new(machine: Machine, options: tuple[str, ...]) -> None:
    points = list(enumerate(count(machine, options), 1))
    ledger = [(number, call) for number, call in points if call.endswith(":ledger")]
    sample = tuple(sorted({*points[7 :: len(points) // 8], *ledger[:: max(1, len(ledger) // 6)]}))
    found = [row["state"] for row in rows(machine, Series("kill", options, sample))]
    assert len(found) == len(sample) and set(found) <= {"old", "new"}


def test_death_of_the_recovery_leaves_old_or_new(machine: Machine) -> None:
    points = list(enumerate(count(machine, PLAIN, "count-recovery"), 1))
    sample = tuple(points[3 :: len(points) // 6])
    found = [row["state"] for row in rows(machine, Series("again", PLAIN, sample))]
    assert len(found) == len(sample) and set(found) <= {"old", "new"}


def test_death_in_a_unit_of_its_own_leaves_old_or_new(machine: Machine) -> None:
    points = list(enumerate(count(machine, PLAIN, "count-unit"), 1))
    sample = tuple(points[3 :: len(points) // 5])
    found = [row["state"] for row in rows(machine, Series("unit", PLAIN, sample))]
    assert len(found) == len(sample) and set(found) <= {"old", "new"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_from_some_call_on(machine: Machine, number: int) -> None:
    points = [(at, call) for at, call in enumerate(count(machine, PLAIN), 1) if call not in NO_DISK]
    sample = tuple(points[5 :: len(points) // 10])
    for row in rows(machine, Series(f"errno={number}", PLAIN, sample)):
        assert row["state"] in ("old", "new"), f"{row['differences']}\n{row['said']}"
        assert row["exit"] in (0, 5, 6, 7), row["said"]


def test_a_power_cut_leaves_old_or_new(lab_root: Root, machine: Machine) -> None:
    """What was not synced is lost: cut where apt has just ended, and after the end of all."""
    points = list(enumerate(count(machine, ()), 1))
    new = kept(machine)
    saved = max(number for number, call in points if call == "posix_spawn" and number < len(points) * 2 // 3)
    found = []
    for point, call in ((saved, "posix_spawn"), (2 * len(points), "end")):
        with Machine(lab_root, disk="ext4") as other:
            found.append(power_cut(other, point, call, new))
    assert [(cut.state, cut.differences) for cut in found] == [("old", ()), ("new", ())]
