"""What stands ready for the next boot while a transaction is open."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from remedy.change import boot
from remedy.change.ledger import Ledger
from remedy.plan.types import Plan


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "etc"
    folder.mkdir()
    monkeypatch.setattr("sys.executable", "/usr/bin/env")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "state", Plan("a.service", "x"))


def test_there_while_open_and_gone_after(etc: Path, tmp_path: Path, ledger: Ledger) -> None:
    boot.prepare(tmp_path / "state", ledger, etc)
    assert (tmp_path / "state/unfinished").read_text().startswith(ledger.id + "\n")
    assert names(etc) == ["basic.target.wants", f"basic.target.wants/{boot.NAME}", boot.NAME]
    assert (etc / "basic.target.wants" / boot.NAME).resolve() == etc / boot.NAME
    begin = next(text for text in (etc / boot.NAME).read_text().splitlines() if text.startswith("ExecStart="))
    assert begin.startswith('ExecStart="/usr/bin/env" "-I" ') and begin.endswith('again.py" "remedy" recover')
    boot.prepare(tmp_path / "state", ledger, etc)
    boot.clear(tmp_path / "state")
    assert names(etc) == [] and not (tmp_path / "state/unfinished").exists()


def test_what_a_failing_disk_keeps_is_removed_the_next_time(
    etc: Path, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path))

    boot.prepare(tmp_path / "state", ledger, etc)
    with monkeypatch.context() as disk:
        disk.setattr(Path, "rmdir", fail)
        boot.clear(tmp_path / "state")
    assert "basic.target.wants" in names(etc) and (tmp_path / "state/unfinished").exists()
    boot.clear(tmp_path / "state")
    assert names(etc) == [] and not (tmp_path / "state/unfinished").exists()


@pytest.mark.parametrize("enabled", [True, False])
def test_a_unit_that_was_installed_for_good_stays(etc: Path, tmp_path: Path, ledger: Ledger, enabled: bool) -> None:
    (etc / boot.NAME).write_text("[Unit]\n")
    if enabled:
        (etc / "basic.target.wants").mkdir()
        (etc / "basic.target.wants" / boot.NAME).symlink_to(etc / boot.NAME)
    before = names(etc)
    boot.prepare(tmp_path / "state", ledger, etc)
    assert names(etc) == ["basic.target.wants", f"basic.target.wants/{boot.NAME}", boot.NAME]
    boot.clear(tmp_path / "state")
    assert names(etc) == before and (etc / boot.NAME).read_text() == "[Unit]\n"


def test_an_interpreter_that_others_can_write_is_not_run_at_boot(
    etc: Path, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").touch()
    (tmp_path / "python").chmod(0o777)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    boot.prepare(tmp_path / "state", ledger, etc)
    assert names(etc) == []


def test_what_a_crash_left_in_the_middle_of_clearing(etc: Path, tmp_path: Path, ledger: Ledger) -> None:
    boot.prepare(tmp_path / "state", ledger, etc)
    (etc / "basic.target.wants" / boot.NAME).unlink()
    boot.clear(tmp_path / "state")
    assert names(etc) == [] and not (tmp_path / "state/unfinished").exists()
    boot.clear(tmp_path / "state")


def test_the_packaged_unit_is_the_same() -> None:
    packaged = Path(__file__).parents[2] / "units" / boot.NAME
    assert packaged.read_text() == boot.TEXT.format(command="remedy")


def test_the_mark_is_there_before_the_ledger(etc: Path, tmp_path: Path, ledger: Ledger) -> None:
    boot.announce(tmp_path / "state")
    mark = tmp_path / "state/unfinished"
    assert mark.exists() and names(etc) == []
    boot.prepare(tmp_path / "state", ledger, etc)
    assert mark.read_text().startswith(ledger.id + "\n") and names(etc) != []
    boot.clear(tmp_path / "state")
    assert names(etc) == [] and not mark.exists()
