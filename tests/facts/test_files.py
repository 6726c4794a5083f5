from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from remedy.facts.files import Files
from remedy.view import Stat


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/passwd").write_text("inside\n")
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/deep").write_bytes(b"0123456789")
    (root / "lib").symlink_to("usr/lib")
    (root / "absolute").symlink_to("/etc/passwd")
    (root / "escape").symlink_to("../../../../../../etc/passwd")
    (root / "loop").symlink_to("pool")
    (root / "pool").symlink_to("loop")
    (root / "dangling").symlink_to("/nowhere/at/all")
    os.mkfifo(root / "fifo")
    return root


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/passwd", b"inside\n"),
        ("/absolute", b"inside\n"),
        ("/escape", b"inside\n"),
        ("/lib/deep", b"0123456789"),
        ("/lib/../etc/passwd", b""),
        ("/usr/lib/../../etc/passwd", b"inside\n"),
        ("//etc/./passwd", b"inside\n"),
    ],
)
def test_symlinks_stay_inside_the_root(tree: Path, path: str, expected: bytes) -> None:
    if expected:
        assert Files(str(tree)).read(path) == expected
    else:
        # /lib leads to /usr/lib, whose parent is /usr.
        with pytest.raises(FileNotFoundError):
            Files(str(tree)).read(path)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/nowhere", FileNotFoundError),
        ("/dangling", FileNotFoundError),
        ("/etc", IsADirectoryError),
        ("/loop", OSError),
        ("/fifo", OSError),
        ("/etc/pass\0wd", OSError),
    ],
)
@pytest.mark.parametrize("rooted", [True, False])
def test_what_can_not_be_read_is_an_oserror(tree: Path, path: str, error: type[OSError], rooted: bool) -> None:
    view, path = (Files(str(tree)), path) if rooted else (Files(), f"{tree}{path}")
    with pytest.raises(error):
        view.read(path)


def test_sockets_and_devices_are_never_opened(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="not a regular file"):
            Files().read(str(tmp_path / "socket"))
    with pytest.raises(OSError, match="not a regular file"):
        Files().read("/dev/zero")


def test_a_file_longer_than_the_limit(tree: Path) -> None:
    assert Files(str(tree)).read("/lib/deep", 10) == b"0123456789"
    with pytest.raises(OSError, match="longer than 9 bytes"):
        Files(str(tree)).read("/lib/deep", 9)


def test_files_without_a_true_size_are_read_to_their_end() -> None:
    assert Files().read("/proc/self/status").startswith(b"Name:")
    with pytest.raises(OSError, match="longer than 16 bytes"):
        Files().read("/proc/self/status", 16)


def test_a_part_of_a_file(tree: Path) -> None:
    view = Files(str(tree))
    assert view.read_range("/lib/deep", 3, 4) == b"3456"
    assert view.read_range("/lib/deep", 8, 100) == b"89"
    assert view.read_range("/lib/deep", 20, 4) == b""


def test_stat_and_lstat(tree: Path) -> None:
    view = Files(str(tree))
    followed, itself = view.stat("/absolute"), view.lstat("/absolute")
    assert isinstance(followed, Stat) and (followed.kind, followed.size) == ("file", 7)
    assert itself is not None and itself.kind == "symlink"
    assert view.stat("/loop") is None and view.stat("/dangling") is None and view.stat("/nowhere") is None
    assert view.lstat("/lib/deep") == view.stat("/usr/lib/deep")
    fifo = view.stat("/fifo")
    assert fifo is not None and fifo.kind == "other"


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("/lib/deep", "/usr/lib/deep"),
        ("/escape", "/etc/passwd"),
        ("/dangling", "/nowhere/at/all"),
        ("/lib/missing/tail", "/usr/lib/missing/tail"),
        ("/loop", "/loop"),
        ("/", "/"),
    ],
)
def test_realpath(tree: Path, path: str, real: str) -> None:
    assert Files(str(tree)).realpath(path) == real


def test_listing_and_links(tree: Path) -> None:
    view = Files(str(tree))
    assert view.list("/lib") == ("deep",)
    assert view.readlink("/lib") == "usr/lib"
    with pytest.raises(OSError):
        view.readlink("/etc")
    with pytest.raises(FileNotFoundError):
        view.list("/nowhere")


def test_the_live_machine_and_a_root_agree(tree: Path) -> None:
    live, rooted = Files(), Files(str(tree))
    for path in ("/lib/deep", "/lib", "/etc/passwd", "/fifo", "/nowhere"):
        assert live.stat(f"{tree}{path}") == rooted.stat(path)
        assert live.lstat(f"{tree}{path}") == rooted.lstat(path)
