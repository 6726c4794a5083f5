"""Cache entries moved aside and back, in folders that another user controls."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remedy.change import caches
from remedy.errors import Refused

ID = "20261202T013000Z-a"
USER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="other users' folders need root")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A user's folder below folders that everybody may pass."""
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    path = tmp_path / "home"
    path.mkdir()
    if os.geteuid() == 0:
        os.chown(path, USER, USER)
    yield path
    assert os.geteuid() == os.getuid()


def own(path: Path) -> None:
    for each in (path, *path.rglob("*")):
        if os.geteuid() == 0:
            os.chown(each, USER, USER, follow_symlinks=False)


def entry(home: Path, name: str = "sampling") -> Path:
    path = home / "cached_ops" / name
    (path / "deep").mkdir(parents=True)
    (path / "build.ninja").write_text("old")
    (path / "deep" / "a.o").write_text("o")
    (path / "link").symlink_to("deep")
    own(home)
    return path


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_aside_and_back(home: Path) -> None:
    path = entry(home)
    before = caches.look(str(path), ID, 2)
    inode = path.stat().st_ino
    assert not caches.moved(before)
    caches.move(before)
    caches.move(before)
    assert caches.moved(before)
    assert names(path.parent) == [f".remedy-{ID}-2"]
    assert caches.restore(before) == () and caches.restore(before) == ()
    assert path.stat().st_ino == inode and names(path) == ["build.ninja", "deep", "link"]


def test_what_was_built_meanwhile_makes_way(home: Path) -> None:
    path = entry(home)
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    (path / "sub").mkdir(parents=True)
    (path / "sub" / "build.ninja").write_text("new")
    own(home)
    assert caches.restore(before) == ()
    assert (path / "build.ninja").read_text() == "old" and names(path.parent) == ["sampling"]


def test_kept_means_deleted(home: Path) -> None:
    path = entry(home)
    (path / "locked").mkdir()
    (path / "locked" / "file").write_text("x")
    own(home)
    (path / "locked").chmod(0o555)
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    path.mkdir()
    assert caches.forget(before) == () and caches.forget(before) == ()
    assert names(path.parent) == ["sampling"] and names(path) == []


def test_an_entry_that_is_not_there(home: Path) -> None:
    before = caches.look(str(home / "nowhere/at/all"), ID, 0)
    caches.move(before)
    assert caches.moved(before) and caches.restore(before) == () and caches.forget(before) == ()


def test_an_entry_that_came_after_the_look_goes_on_the_way_back(home: Path) -> None:
    path = home / "cached_ops" / "page"
    path.parent.mkdir()
    own(home)
    before = caches.look(str(path), ID, 0)
    entry(home, "page/inner")
    assert caches.restore(before) == ()
    assert not path.exists()


def test_an_exchanged_entry_is_left_alone(home: Path) -> None:
    path = entry(home)
    before = caches.look(str(path), ID, 0)
    path.rename(home / "other")
    path.mkdir()
    with pytest.raises(Refused, match="replaced by someone else"):
        caches.move(before)
    assert names(path.parent) == ["sampling"]


@needs_root
def test_a_link_laid_by_the_user_leads_only_where_the_user_could_go(home: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    (precious / "sampling").mkdir(parents=True)
    (home / "cached_ops").symlink_to(precious)
    own(home)
    with pytest.raises(Refused, match="may not move"):
        caches.look(str(home / "cached_ops/sampling"), ID, 0)
    assert names(precious) == ["sampling"]


@needs_root
def test_a_link_to_the_users_own_disk_is_followed(home: Path, tmp_path: Path) -> None:
    path = entry(home)
    data = tmp_path / "data"
    path.parent.rename(data)
    (home / "cached_ops").symlink_to(data)
    own(home)
    own(data)
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    assert names(data) == [f".remedy-{ID}-0"]
    assert caches.restore(before) == ()
    assert names(data) == ["sampling"]


@needs_root
def test_what_a_service_of_roots_built_meanwhile_makes_way_too(home: Path) -> None:
    path = entry(home)
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    path.mkdir()
    (path / "built").write_text("x")
    assert caches.restore(before) == ()
    assert names(path.parent) == ["sampling"] and names(path) == ["build.ninja", "deep", "link"]


def test_a_tree_deeper_than_any_cache_is_reported(home: Path) -> None:
    path = entry(home)
    os.makedirs(path / "/".join(["d"] * 150))
    own(home)
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    (left,) = caches.forget(before)
    assert f"rm -r {path.parent / before.aside}" in left


@needs_root
def test_deletion_never_leaves_the_tree_through_a_link(home: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    path = entry(home)
    (path / "out").symlink_to(precious)
    (path / "file-out").symlink_to(precious / "file")
    own(home)
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    assert caches.forget(before) == ()
    assert names(precious) == ["file"]


@needs_root
def test_links_swapped_in_all_the_time_never_reach_what_is_roots(home: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    for name in ("sampling", "keep"):
        (precious / name).mkdir(parents=True)
    real = home / "cached_ops"
    entry(home)
    moved = 0

    def swap() -> None:
        spare = home / "spare"
        while True:
            real.rename(spare)
            real.symlink_to(precious)
            real.unlink()
            spare.rename(real)

    # A process of its own: the rights that are taken on are those of the whole process.
    swapper = multiprocessing.get_context("fork").Process(target=swap)
    swapper.start()
    try:
        for number in range(300):
            with contextlib.suppress(OSError, Refused):
                before = caches.look(str(real / "sampling"), ID, number)
                caches.move(before)
                moved += 1
                caches.restore(before)
        assert swapper.is_alive()
    finally:
        swapper.kill()
        swapper.join()
    assert moved
    assert names(precious) == ["keep", "sampling"]


@needs_root
def test_a_folder_of_roots_that_others_can_change_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "sampling").mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.raises(Refused, match="others can change it"):
        caches.look(str(shared / "sampling"), ID, 0)


@needs_root
def test_a_link_in_a_sticky_folder_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (tmp_path / "precious" / "sampling").mkdir(parents=True)
    (shared / "torchinductor_llm").symlink_to(tmp_path / "precious")
    with pytest.raises(Refused, match="symlink in a folder that everybody"):
        caches.look(str(shared / "torchinductor_llm/sampling"), ID, 0)


def test_a_huge_tree_moves_at_once(home: Path) -> None:
    path = entry(home)
    for number in range(2000):
        (path / f"{number}.o").write_text("")
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    assert len(names(path.parent / before.aside)) == 2003
