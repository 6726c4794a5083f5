"""Cache entries moved aside and back, in folders that another user controls."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remedy.change import caches
from remedy.errors import Refused

ID = "20261202T013000Z-a"
USER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="other users' folders need root")


@pytest.fixture
def home(passable: Path) -> Iterator[Path]:
    path = passable / "home"
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
def test_a_link_laid_by_the_user_leads_only_where_the_user_could_go(home: Path, passable: Path) -> None:
    precious = passable / "precious"
    (precious / "sampling").mkdir(parents=True)
    (home / "cached_ops").symlink_to(precious)
    own(home)
    with pytest.raises(Refused, match="may not move"):
        caches.look(str(home / "cached_ops/sampling"), ID, 0)
    assert names(precious) == ["sampling"]


@needs_root
def test_a_link_to_the_users_own_disk_is_followed(home: Path, passable: Path) -> None:
    path = entry(home)
    data = passable / "data"
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
def test_deletion_never_leaves_the_tree_through_a_link(home: Path, passable: Path) -> None:
    precious = passable / "precious"
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


#: The calls by which a path or a descriptor is looked at, walked or changed.
CALLS = ("open", "stat", "fstat", "readlink", "rename", "unlink", "rmdir", "listdir", "access", "fsync", "fstatvfs")


class Swapper:
    """The owner of a folder, who exchanges it for a link just before the ``at``-th call, and back before the next but
    ``stays``; 0: only counts."""

    def __init__(self, real: Path, target: Path, at: int, stays: int) -> None:
        self.real, self.target, self.at, self.stays = real, target, at, stays
        self.spare = real.with_name("spare")
        self.calls, self.swapped, self._busy = 0, False, False

    def before_call(self) -> None:
        if self._busy:
            return
        self._busy = True
        self.calls += 1
        if self.calls == self.at:
            self.real.rename(self.spare)
            self.real.symlink_to(self.target)
            self.swapped = True
        elif self.swapped and self.calls == self.at + self.stays:
            self.real.unlink()
            self.spare.rename(self.real)
        self._busy = False

    def __enter__(self) -> Swapper:
        self._patch = pytest.MonkeyPatch()
        for name in CALLS:
            self._patch.setattr(os, name, self._hooked(getattr(os, name)))
        return self

    def _hooked(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def hooked(*arguments: Any, **more: Any) -> Any:
            self.before_call()
            return call(*arguments, **more)

        return hooked

    def __exit__(self, *_error: object) -> None:
        self._patch.undo()


def whole_road(path: Path) -> int:
    """All that is done to a cache entry, as far as it gets; how many parts were done."""
    done = 0
    with contextlib.suppress(OSError, Refused):
        before = caches.look(str(path), ID, 0)
        for part in (caches.move, caches.restore, caches.move, caches.forget):
            part(before)
            done += 1
    return done


@needs_root
@pytest.mark.parametrize("stays", [1, 10_000])
def test_a_link_swapped_in_at_any_call_never_reaches_what_is_roots(home: Path, passable: Path, stays: int) -> None:
    precious = passable / "precious"
    for name in ("sampling", "keep"):
        (precious / name).mkdir(parents=True)
        (precious / name / "file").write_text("x")
    real = home / "cached_ops"

    def played(at: int) -> tuple[Swapper, int]:
        shutil.rmtree(home / "spare", ignore_errors=True)
        if real.is_symlink():
            real.unlink()
        shutil.rmtree(real, ignore_errors=True)
        path = entry(home)
        with Swapper(real, precious, at, stays) as swapper:
            return swapper, whole_road(path)

    before = [(path, path.lstat().st_ino, path.lstat().st_ctime_ns) for path in sorted(precious.rglob("*"))]
    counted, done = played(0)
    assert done == 4 and counted.calls > 50
    ends = set()
    for at in range(1, counted.calls + 1):
        swapper, done = played(at)
        assert swapper.swapped, at
        assert [(path, path.lstat().st_ino, path.lstat().st_ctime_ns) for path in sorted(precious.rglob("*"))] == before
        ends.add(done)
    # Swaps end the road at each part that can't do without the entry; others come too late, or only cost the deletion.
    assert ends == {0, 1, 2, 4}


@needs_root
def test_a_folder_of_roots_that_others_can_change_is_refused(passable: Path) -> None:
    shared = passable / "shared"
    (shared / "sampling").mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.raises(Refused, match="others can change it"):
        caches.look(str(shared / "sampling"), ID, 0)


@needs_root
def test_a_link_in_a_sticky_folder_is_refused(passable: Path) -> None:
    shared = passable / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (passable / "precious" / "sampling").mkdir(parents=True)
    (shared / "torchinductor_llm").symlink_to(passable / "precious")
    with pytest.raises(Refused, match="symlink in a folder that everybody"):
        caches.look(str(shared / "torchinductor_llm/sampling"), ID, 0)


def test_a_huge_tree_moves_at_once(home: Path) -> None:
    path = entry(home)
    for number in range(2000):
        (path / f"{number}.o").write_text("")
    before = caches.look(str(path), ID, 0)
    caches.move(before)
    assert len(names(path.parent / before.aside)) == 2003
