"""What stands ready for the next boot while a transaction is open."""

from __future__ import annotations

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


def test_there_while_open_and_gone_after(etc: Path, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "state", Plan("a.service", "x"))
    with boot.open_transaction(tmp_path / "state", ledger, etc):
        assert (tmp_path / "state/unfinished").read_text().startswith(ledger.id + "\n")
        assert names(etc) == ["basic.target.wants", f"basic.target.wants/{boot.NAME}", boot.NAME]
        assert (etc / "basic.target.wants" / boot.NAME).resolve() == etc / boot.NAME
        assert '\nExecStart="/usr/bin/env" -I -m remedy recover\n' in (etc / boot.NAME).read_text()
    assert names(etc) == [] and not (tmp_path / "state/unfinished").exists()


def test_both_stay_where_the_work_breaks_off_and_go_with_the_next(etc: Path, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "state", Plan("a.service", "x"))
    with pytest.raises(KeyError), boot.open_transaction(tmp_path / "state", ledger, etc):
        raise KeyError
    assert (tmp_path / "state/unfinished").exists() and (etc / boot.NAME).exists()
    with boot.open_transaction(tmp_path / "state", ledger, etc):
        pass
    assert names(etc) == [] and not (tmp_path / "state/unfinished").exists()


@pytest.mark.parametrize("enabled", [True, False])
def test_a_unit_that_was_installed_for_good_stays(etc: Path, tmp_path: Path, enabled: bool) -> None:
    ledger = Ledger.create(tmp_path / "state", Plan("a.service", "x"))
    (etc / boot.NAME).write_text("[Unit]\n")
    if enabled:
        (etc / "basic.target.wants").mkdir()
        (etc / "basic.target.wants" / boot.NAME).symlink_to(etc / boot.NAME)
    before = names(etc)
    with boot.open_transaction(tmp_path / "state", ledger, etc):
        assert names(etc) == ["basic.target.wants", f"basic.target.wants/{boot.NAME}", boot.NAME]
    assert names(etc) == before and (etc / boot.NAME).read_text() == "[Unit]\n"


def test_an_interpreter_that_others_can_write_is_not_run_at_boot(
    etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "state", Plan("a.service", "x"))
    (tmp_path / "python").touch(0o777)
    (tmp_path / "python").chmod(0o777)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with boot.open_transaction(tmp_path / "state", ledger, etc):
        assert names(etc) == []


def test_what_a_crash_left_after_the_end_is_cleared(etc: Path, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "state", Plan("a.service", "x"))
    with pytest.raises(KeyError), boot.open_transaction(tmp_path / "state", ledger, etc):
        (etc / "basic.target.wants" / boot.NAME).unlink()
        raise KeyError
    boot.clear(tmp_path / "state")
    assert names(etc) == [] and not (tmp_path / "state/unfinished").exists()
    boot.clear(tmp_path / "state")


def test_the_packaged_unit_is_the_same() -> None:
    packaged = Path(__file__).parents[2] / "units" / boot.NAME
    assert packaged.read_text() == boot.TEXT.format(command="remedy")
