"""Code that is brought for one change: on the disk for root alone, and gone with the last that runs from it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from remedy.change import boot
from remedy.change.brought import bring, held
from remedy.errors import Refused
from remedy.remote import archive


@pytest.fixture(autouse=True)
def etc(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("etc")
    monkeypatch.setattr(boot, "_ETC", folder)
    return folder


def packed(*names: str) -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in names:
            file.writestr(name, f"# {name}\n")
    return data.getvalue()


def test_it_is_there_in_full_and_roots_alone(tmp_path: Path) -> None:
    folder = bring(packed("one/__init__.py", "one/two/three.py", "four.py"), tmp_path / "state")
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*.py")}
    assert sorted(files) == ["four.py", "one/__init__.py", "one/two/three.py"]
    assert files["one/two/three.py"].read_text() == "# one/two/three.py\n"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent, folder / "one" / "two")}
    assert modes == {0o700} and {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
    assert os.listdir(folder.parent) == [folder.name]


def test_it_runs_from_there_and_leaves_nothing(tmp_path: Path) -> None:
    folder = bring(archive(), tmp_path)
    code = f"""
import sys; sys.path.insert(0, {str(folder)!r})
from pathlib import Path
from remedy.change import boot
from remedy.change.brought import held
with held(Path({str(folder)!r}), Path({str(tmp_path)!r})):
    from remedy.__main__ import main
    sys.argv[1:] = ["rollback", "--help"]
    main()
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "Undo a change" in done.stdout
    assert os.listdir(tmp_path / "code") == []


def test_the_last_one_takes_it_away(tmp_path: Path) -> None:
    folder = bring(packed("a.py"), tmp_path)
    with held(folder, tmp_path):
        with held(folder, tmp_path):
            pass
        assert folder.exists()
    assert not folder.exists()


def test_an_unfinished_transaction_needs_it(tmp_path: Path, etc: Path) -> None:
    folder = bring(packed("a.py"), tmp_path)
    (tmp_path / "unfinished").touch()
    with held(folder, tmp_path):
        pass
    assert folder.exists()
    (etc / boot.NAME).write_text(f'ExecStart="/usr/bin/python3" "-I" "{folder}/remedy/change/again.py" recover')
    other = bring(packed("a.py"), tmp_path)
    for one in (folder, other):
        with held(one, tmp_path):
            pass
    assert (folder.exists(), other.exists()) == (True, False)
    (tmp_path / "unfinished").unlink()
    with held(folder, tmp_path):
        pass
    assert not folder.exists()


def test_code_from_elsewhere_stays(tmp_path: Path) -> None:
    place = tmp_path / "site-packages"
    place.mkdir()
    with held(place, tmp_path):
        pass
    assert place.exists()


@pytest.mark.parametrize(("used", "unfinished", "later", "stays"), [
    (False, False, 7200, False),
    (False, False, 60, True),
    (True, False, 7200, True),
    (False, True, 7200, True),
])  # fmt: skip
def test_what_nobody_came_to_run_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: bool, unfinished: bool, later: int, stays: bool
) -> None:
    old = bring(packed("a.py"), tmp_path)
    broken_off = old.with_name(".0-partial")
    broken_off.mkdir()
    if unfinished:
        (tmp_path / "unfinished").touch()
    now = old.stat().st_ctime + later
    monkeypatch.setattr("time.time", lambda: now)
    reading = os.open(old, os.O_RDONLY)
    if used:
        import fcntl

        fcntl.flock(reading, fcntl.LOCK_SH)
    new = bring(packed("b.py"), tmp_path)
    os.close(reading)
    assert (old.exists(), new.exists()) == (stays, True)
    assert broken_off.exists() == (unfinished or later == 60)


def test_where_others_can_write_nothing_is_put(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    tmp_path.chmod(0o777)
    with pytest.raises(Refused, match="is writable by everyone"):
        bring(packed("a.py"), state)
    assert os.listdir(state / "code") == []


def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "code").write_text("")
    with pytest.raises(Refused, match="code"):
        bring(packed("a.py"), tmp_path)
