"""Whole transactions whose steps need no service manager; those with one are tests/change/test_machine.py's."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from remedy.change import recover as recovery
from remedy.change import steps
from remedy.change.history import history, record
from remedy.change.ledger import Ledger
from remedy.change.lock import Lock
from remedy.change.transaction import apply
from remedy.change.types import Event, Hooks, Outcome
from remedy.errors import Exit, Refused, RemedyError, UsageError
from remedy.plan.types import EditFile, MoveCache, Plan, Step
from remedy.unit.types import FileEdit

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a change needs root")


def no_watch() -> object:
    raise AssertionError("nothing is restarted here")


HOOKS = Hooks(no_watch)  # type: ignore[arg-type]


def quiet(_event: Event) -> None:
    pass


class Disk:
    """Two files, one of them new, and a cache entry; what a plan does to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        (folder / "etc").mkdir()
        (folder / "cache/sampling").mkdir(parents=True)
        (folder / "etc/unit").write_bytes(b"old\n")
        (folder / "cache/sampling/build.ninja").write_bytes(b"x")
        os.utime(folder / "etc/unit", ns=(1, 2))
        self.plan = Plan(
            "a.service",
            "nvcc-too-old",
            (
                MoveCache(str(folder / "cache/sampling"), 1, "flashinfer", "stale"),
                EditFile(FileEdit(str(folder / "etc/unit"), b"old\n", b"new\n", "")),
                EditFile(FileEdit(str(folder / "etc/unit.d/50.conf"), None, b"more\n", "")),
            ),
        )
        self.old = self.look()

    def look(self) -> dict[str, object]:
        """Every path with its bytes and times, but for the state folder."""
        found: dict[str, object] = {}
        for path in sorted(self.folder.rglob("*")):
            if not path.is_relative_to(self.state):
                data = path.read_bytes() if path.is_file() else None
                found[str(path)] = (data, path.stat().st_mode, path.stat().st_mtime_ns if path.is_file() else 0)
        return found

    def apply(self, hooks: Hooks = HOOKS) -> Outcome:
        return apply(self.plan, hooks, quiet, state_dir=self.state)

    def is_new(self) -> bool:
        etc = self.folder / "etc"
        whole = (etc / "unit").read_bytes() == b"new\n" and (etc / "unit.d/50.conf").read_bytes() == b"more\n"
        return whole and os.listdir(self.folder / "cache") == [] and sorted(os.listdir(etc)) == ["unit", "unit.d"]


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_kept_then_rolled_back(disk: Disk) -> None:
    outcome = disk.apply()
    assert (outcome.name, outcome.exit) == ("healthy", Exit.DONE)
    assert disk.is_new()
    (entry,) = history(disk.state)
    assert (entry.id, entry.state, entry.unit) == (outcome.transaction, "healthy", "a.service")
    back = recovery.rollback(quiet, state_dir=disk.state)
    assert (back.name, back.exit, back.left) == ("rolled-back", Exit.DONE, ())
    # The cache was deleted when the change was kept; it is the one thing that is built again instead.
    assert {path: seen for path, seen in disk.old.items() if "sampling" not in path} == disk.look()
    assert record(str(outcome.transaction), disk.state).state == "rolled-back"
    with pytest.raises(UsageError, match="not in force"):
        recovery.rollback(quiet, outcome.transaction, state_dir=disk.state)


@pytest.mark.parametrize("failing", range(3))
@pytest.mark.parametrize("error", [RemedyError("no"), OSError(28, "No space left on device"), ZeroDivisionError()])
def test_a_step_that_fails_leads_back(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, failing: int, error: Exception
) -> None:
    do = steps.do

    def sometimes(step: Step, *rest: object) -> None:
        do(step, *rest)  # type: ignore[arg-type]
        if step is disk.plan.steps[failing]:
            raise error

    monkeypatch.setattr(steps, "do", sometimes)
    outcome = disk.apply()
    assert (outcome.name, outcome.exit, outcome.left) == ("rolled-back", Exit.ROLLED_BACK, ())
    assert disk.look() == disk.old
    assert not (disk.state / "unfinished").exists()


def test_a_proof_that_fails_touches_nothing(disk: Disk) -> None:
    outcome = disk.apply(Hooks(no_watch, prove=lambda say: "nvcc fatal"))  # type: ignore[arg-type]  # noqa: ARG005
    assert (outcome.name, outcome.exit) == ("refused", Exit.REFUSED)
    assert "nvcc fatal" in outcome.reason
    assert disk.look() == disk.old


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leads_back(disk: Disk, number: signal.Signals) -> None:
    def prewarm(_say: Callable[[str], None]) -> str | None:
        os.kill(os.getpid(), number)
        return None

    before = signal.getsignal(number)
    outcome = disk.apply(Hooks(no_watch, prewarm=prewarm))  # type: ignore[arg-type]
    assert (outcome.name, outcome.exit) == ("interrupted", Exit.INTERRUPTED)
    assert number.name in outcome.reason
    assert disk.look() == disk.old and signal.getsignal(number) == before


def test_a_terminal_that_is_gone_changes_nothing(disk: Disk) -> None:
    def broken(_event: Event) -> None:
        raise BrokenPipeError

    assert apply(disk.plan, HOOKS, broken, state_dir=disk.state).name == "healthy"


def test_a_file_changed_since_the_plan_refuses_all(disk: Disk) -> None:
    (disk.folder / "etc/unit").write_bytes(b"mine\n")
    changed = disk.look()
    with pytest.raises(Refused, match="has changed since the plan"):
        disk.apply()
    assert disk.look() == changed and history(disk.state) == ()


def test_a_file_changed_since_the_change_refuses_the_rollback(disk: Disk) -> None:
    disk.apply()
    (disk.folder / "etc/unit").write_bytes(b"mine\n")
    changed = disk.look()
    with pytest.raises(Refused, match="changed by someone else"):
        recovery.rollback(quiet, state_dir=disk.state)
    assert disk.look() == changed


def test_two_at_once(disk: Disk) -> None:
    with Lock(disk.state, "the first"), pytest.raises(Refused, match=rf"pid {os.getpid()}, the first"):
        disk.apply()
    assert disk.apply().name == "healthy"


def test_an_empty_plan_is_nothing_to_do(disk: Disk) -> None:
    assert apply(Plan("a.service", "healthy"), HOOKS, quiet, state_dir=disk.state).name == "nothing-to-do"
    assert not disk.state.exists()


def die_at(disk: Disk, point: int) -> bool:
    """Apply in a child that dies at the given write of the ledger (half-way through it for odd points).

    True where it lived to the end."""

    def child() -> None:
        count = 0
        write = Ledger._write

        def counted(ledger: Ledger, data: bytes) -> None:
            nonlocal count
            if count == point // 3 and point % 3 == 1:
                write(ledger, data[: len(data) // 2])
            if count == point // 3 and point % 3 != 2:
                os._exit(9)
            write(ledger, data)
            if count == point // 3:
                os._exit(9)
            count += 1

        Ledger._write = counted  # type: ignore[method-assign,assignment]
        disk.apply()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    return process.exitcode == 0


def test_death_at_every_boundary_of_the_ledger_leaves_old_or_new(tmp_path: Path) -> None:
    points = 0
    while True:
        folder = tmp_path / str(points)
        folder.mkdir()
        disk = Disk(folder)
        if die_at(disk, points):
            break
        refused = False
        try:
            disk.apply()
        except Refused as error:
            refused = "remedy recover" in str(error.hint)
        outcomes = recovery.recover(quiet, state_dir=disk.state)
        assert all(outcome.exit == Exit.DONE for outcome in outcomes)
        assert disk.look() == disk.old or disk.is_new(), points
        assert refused or disk.is_new(), points
        assert recovery.recover(quiet, state_dir=disk.state) == ()
        points += 1
    assert points == 3 * 8


def test_recover_with_nothing_to_do(tmp_path: Path) -> None:
    assert recovery.recover(quiet, state_dir=tmp_path / "state") == ()
    outcome = recovery.rollback(quiet, state_dir=tmp_path / "state")
    assert (outcome.name, outcome.exit) == ("nothing-to-do", Exit.DONE)


def test_a_damaged_ledger_stops_everything_by_name(disk: Disk) -> None:
    outcome = disk.apply()
    file = disk.state / "transactions" / str(outcome.transaction) / "ledger"
    file.write_bytes(b"x" + file.read_bytes())
    assert history(disk.state)[0].state == "damaged"
    with pytest.raises(Refused, match="is damaged"):
        disk.apply()
    (found,) = recovery.recover(quiet, state_dir=disk.state)
    assert found.exit == Exit.ROLLBACK_INCOMPLETE and "ledger:1" in found.left[0]
    assert disk.is_new()
