"""What a start that failed has built is told from what was there, what others built and what others use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remedy.change import modules
from remedy.change.types import ModulesBefore
from tests.change.test_caches import USER, home, names, needs_root, own

__all__ = ["home"]
ID = "20261202T013000Z-a"
KIT = "/usr/local/cuda-13.0"


def build(folder: Path, name: str, toolkit: str = KIT) -> Path:
    module = folder / name
    module.mkdir(parents=True)
    (module / "build.ninja").write_text(f"cuda_home = {toolkit}\nnvcc = {toolkit}/bin/nvcc\n")
    (module / f"{name}.so").write_bytes(b"\0" * 4096)
    return module


@pytest.fixture
def before(home: Path) -> ModulesBefore:
    """The cache before the restart: one module, of the new toolkit already."""
    folder = home / "cached_ops"
    build(folder, "old")
    own(home)
    (found,) = modules.look((str(folder), str(folder)))
    assert found == ModulesBefore(str(folder), ("old",))
    return found


@pytest.mark.parametrize(
    ("toolkit", "stays"),
    [
        (KIT, False),
        ("/usr/local/cuda-12.8", True),
        # Another toolkit, although its name begins alike.
        (f"{KIT}.1", True),
    ],
)
def test_only_what_came_since_with_the_new_toolkit_goes(before: ModulesBefore, toolkit: str, stays: bool) -> None:
    folder = Path(before.folder)
    build(folder, "fresh", toolkit)
    (folder / "loose").write_text(KIT)
    (folder / "empty").mkdir()
    own(folder)
    for _ in range(2):
        assert modules.take_away(before, KIT, ID) == ()
    assert names(folder) == ["empty", *(["fresh"] if stays else []), "loose", "old"]


@pytest.mark.parametrize(("rebooted", "left"), [(False, ["bare", "old", "other", "torn"]), (True, ["old", "other"])])
def test_what_a_power_cut_left_without_a_record_goes(before: ModulesBefore, rebooted: bool, left: list[str]) -> None:
    folder = Path(before.folder)
    for name, data in (("torn", b""), ("other", b"nvcc = /usr/local/cuda-12.8/bin/nvcc\n")):
        (build(folder, name) / "build.ninja").write_bytes(data)
    (folder / "bare").mkdir()
    own(folder)
    assert modules.take_away(before, KIT, ID, rebooted=rebooted) == ()
    assert names(folder) == left


def test_a_compiler_behind_a_launcher_is_seen_as_well(before: ModulesBefore) -> None:
    module = build(Path(before.folder), "fresh")
    (module / "build.ninja").write_text(f"nvcc = ccache {KIT}/bin/nvcc\n")
    own(module)
    assert modules.take_away(before, KIT, ID) == ()
    assert names(Path(before.folder)) == ["old"]


def test_a_folder_that_was_not_there(home: Path) -> None:
    (before,) = modules.look((str(home / "later/cached_ops"),))
    assert before.names == ()
    assert modules.take_away(before, KIT, ID) == ()
    build(home / "later/cached_ops", "fresh")
    own(home)
    assert modules.take_away(before, KIT, ID) == ()
    assert names(home / "later/cached_ops") == []


MAPS = "import mmap, os; f = open(os.environ['FILE'], 'rb'); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)"
WORKS = "import os; os.chdir(os.path.dirname(os.environ['FILE']))"


@pytest.mark.parametrize("use", [MAPS, WORKS, None], ids=["mapped", "working-folder", "command-line"])
def test_what_a_process_uses_stays(before: ModulesBefore, use: str | None) -> None:
    module = build(Path(before.folder), "fresh")
    own(module)
    argv = [sys.executable, "-c", f"{use or 'pass'}\nprint(flush=True)\ninput()"]
    file = str(module / "fresh.so")
    env = {**os.environ, "FILE": file}
    user = subprocess.Popen(argv if use else [*argv, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    try:
        assert user.stdout is not None
        user.stdout.readline()
        assert modules.take_away(before, KIT, ID) == (str(module),)
    finally:
        user.communicate(b"\n")
    assert modules.take_away(before, KIT, ID) == ()
    assert not module.exists()


@needs_root
def test_links_of_the_users_lead_nowhere(before: ModulesBefore, tmp_path: Path) -> None:
    precious = build(tmp_path / "precious", "module")
    secret = tmp_path / "secret"
    secret.write_text(f"cuda_home = {KIT}\n")
    secret.chmod(0o600)
    folder = Path(before.folder)
    (folder / "link").symlink_to(precious)
    (folder / "fresh").mkdir()
    (folder / "fresh/build.ninja").symlink_to(secret)
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe/build.ninja")
    own(folder)
    assert modules.take_away(before, KIT, ID) == ()
    assert names(folder) == ["fresh", "link", "old", "pipe"] and names(precious) == ["build.ninja", "module.so"]
    assert (folder / "old").stat().st_uid == USER
