"""Files replaced and put back, on a real disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from remedy.change import files
from remedy.change.types import FileBefore
from remedy.errors import Refused
from remedy.unit.types import FileEdit
from tests.change.disk import done, fill, small_disk

OLD, NEW = b"[Service]\nEnvironment=A=1\n", b"[Service]\nEnvironment=A=2\n"
ID = "20261202T013000Z-a"


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


def seen(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    data = path.read_bytes()
    return (data, stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns, attributes)


def existing(folder: Path) -> tuple[Path, FileEdit]:
    path = folder / "a.service"
    path.write_bytes(OLD)
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 0, 12)
    os.setxattr(path, "user.note", b"kept\0")
    os.utime(path, ns=(1_600_000_000_123_456_789, 1_500_000_000_987_654_321))
    return path, FileEdit(str(path), OLD, NEW, "")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "backups")


def test_the_new_bytes_have_the_old_mode_owner_and_attributes(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    old = seen(path)
    before = files.look(edit, backups, 0)
    assert not files.replaced(edit)
    files.replace(edit, before, ID)
    assert files.replaced(edit)
    new = seen(path)
    assert new[0] == NEW
    assert (new[1:4], new[5]) == (old[1:4], old[5])


def test_back_to_the_byte_mode_owner_time_and_attributes(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    old, inode = seen(path), path.stat().st_ino
    before = files.look(edit, backups, 0)
    files.replace(edit, before, ID)
    assert files.restore(edit, before, backups, ID) == ()
    assert seen(path) == old and path.stat().st_ino == inode
    assert files.restore(edit, before, backups, ID) == ()
    assert seen(path) == old and names(tmp_path) == ["a.service"]


def test_back_after_the_change_was_kept(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    old = seen(path)
    before = files.look(edit, backups, 0)
    files.replace(edit, before, ID)
    files.forget(edit, ID)
    assert names(tmp_path) == ["a.service"]
    assert files.restore(edit, before, backups, ID) == ()
    assert seen(path) == old


def test_a_new_file_and_its_folders_come_and_go(tmp_path: Path, backups: Path) -> None:
    path = tmp_path / "etc/a.service.d/50-remedy.conf"
    edit = FileEdit(str(path), None, NEW, "")
    before = files.look(edit, backups, 0)
    files.replace(edit, before, ID)
    files.replace(edit, before, ID)
    assert path.read_bytes() == NEW and stat.S_IMODE(path.stat().st_mode) == 0o644
    assert files.restore(edit, before, backups, ID) == ()
    assert names(tmp_path) == []
    assert files.restore(edit, before, backups, ID) == ()


def test_a_folder_that_someone_uses_since_stays(tmp_path: Path, backups: Path) -> None:
    path = tmp_path / "a.service.d/50-remedy.conf"
    edit = FileEdit(str(path), None, NEW, "")
    before = files.look(edit, backups, 0)
    files.replace(edit, before, ID)
    (path.parent / "other.conf").write_text("x")
    assert files.restore(edit, before, backups, ID) == ()
    assert names(path.parent) == ["other.conf"]


def test_undo_where_the_step_never_acted(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    old = seen(path)
    before = files.look(edit, backups, 0)
    assert files.restore(edit, before, backups, ID) == ()
    assert seen(path) == old


@pytest.mark.parametrize("where", ["new", "was"])
def test_undo_of_what_a_crash_left_beside(tmp_path: Path, backups: Path, where: str) -> None:
    path, edit = existing(tmp_path)
    old = seen(path)
    before = files.look(edit, backups, 0)
    neighbour = tmp_path / files._tag(ID, "a.service", where)
    if where == "new":
        neighbour.write_bytes(NEW[:5])
    else:
        os.link(path, neighbour)
    assert files.restore(edit, before, backups, ID) == ()
    assert seen(path) == old and names(tmp_path) == ["a.service"]


def test_a_file_changed_since_the_plan_is_refused(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    path.write_bytes(b"else")
    with pytest.raises(Refused, match="has changed since the plan"):
        files.look(edit, backups, 0)
    with pytest.raises(Refused, match="changed by someone else"):
        files.replace(edit, FileBefore(str(path), "0"), ID)
    assert path.read_bytes() == b"else"


def test_a_file_that_appeared_since_the_plan_is_refused(tmp_path: Path, backups: Path) -> None:
    path = tmp_path / "new.conf"
    path.write_bytes(b"")
    with pytest.raises(Refused, match="has changed since the plan"):
        files.look(FileEdit(str(path), None, NEW, ""), backups, 0)


def test_another_persons_edit_survives_the_way_back(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    before = files.look(edit, backups, 0)
    files.replace(edit, before, ID)
    path.write_bytes(b"mine")
    assert files.conflict(edit, before, backups) != ()
    (left,) = files.restore(edit, before, backups, ID)
    assert path.read_bytes() == b"mine"
    assert f"cp {backups}/0 {path}" in left and (backups / "0").read_bytes() == OLD


def test_a_symlink_in_the_files_place_is_never_followed(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="symlink"):
        files.look(edit, backups, 0)


def test_a_fifo_in_the_files_place_is_never_waited_for(tmp_path: Path, backups: Path) -> None:
    path = tmp_path / "a.service"
    os.mkfifo(path)
    with pytest.raises(Refused, match="no regular file"):
        files.look(FileEdit(str(path), OLD, NEW, ""), backups, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="chattr needs root")
def test_an_immutable_file_is_refused_with_the_command(tmp_path: Path, backups: Path) -> None:
    path, edit = existing(tmp_path)
    if not done("chattr", "+i", str(path)):
        pytest.skip("this file system knows no immutable files")
    try:
        with pytest.raises(Refused, match="immutable") as refused:
            files.look(edit, backups, 0)
        assert refused.value.hint == f"chattr -i -a {path}"
    finally:
        done("chattr", "-i", str(path))


@pytest.mark.parametrize(
    ("options", "full", "words"),
    [("ro", False, "read-only"), ("size=2m", True, "no space"), ("nr_inodes=8", False, "no inodes")],
)
def test_a_disk_that_takes_nothing_is_refused_first(
    tmp_path: Path, backups: Path, options: str, full: bool, words: str
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        path, edit = existing_plain(disk)
        done("mount", "-o", f"remount,{options}", str(disk))
        if full:
            (disk / "filler").write_bytes(bytes(1_500_000))
        with pytest.raises(Refused, match=words):
            files.look(edit, backups, 0)
        assert path.read_bytes() == OLD


def existing_plain(folder: Path) -> tuple[Path, FileEdit]:
    path = folder / "a.service"
    path.write_bytes(OLD)
    return path, FileEdit(str(path), OLD, NEW, "")


def test_the_way_back_needs_no_space(tmp_path: Path, backups: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        path, edit = existing_plain(disk)
        old = seen(path)
        before = files.look(edit, backups, 0)
        files.replace(edit, before, ID)
        fill(disk)
        assert files.restore(edit, before, backups, ID) == ()
        assert seen(path) == old
