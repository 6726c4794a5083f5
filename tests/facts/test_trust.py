from __future__ import annotations

import os
from pathlib import Path

import pytest

from remedy.facts.files import Files
from remedy.facts.trust import distrusted

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A root of its own, so that the folders above the test's own don't count."""
    for folder in ("etc", "usr/local/cuda/bin", "usr/bin", "home/llm", "tmp"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nllm:x:1001:1001::/home/llm:/bin/sh\n")
    (tmp_path / "etc/group").write_text("root:x:0:\nstaff:x:50:\ndocker:x:60:llm\n")
    program = tmp_path / "usr/local/cuda/bin/nvcc"
    program.write_text("#!/bin/sh\n")
    sh = tmp_path / "bin"
    sh.mkdir()
    (sh / "sh").write_bytes(b"\x7fELF")
    for path in tmp_path.rglob("*"):
        path.chmod(0o755)
    (tmp_path / "home/llm").chmod(0o755)
    os.chown(tmp_path / "home/llm", 1001, 1001)
    (tmp_path / "tmp").chmod(0o1777)
    return tmp_path


NVCC = "/usr/local/cuda/bin/nvcc"


def test_root_s_own_program(tree: Path) -> None:
    assert distrusted(Files(str(tree)), NVCC, 0) is None


@pytest.mark.parametrize(
    ("path", "uid", "gid", "mode", "why"),
    [
        ("usr/local/cuda/bin/nvcc", 1001, 0, 0o755, "/usr/local/cuda/bin/nvcc belongs to uid 1001"),
        ("usr/local/cuda/bin", 1001, 0, 0o755, "/usr/local/cuda/bin belongs to uid 1001"),
        ("usr/local", 0, 0, 0o777, "/usr/local is writable by everyone"),
        ("usr/local", 0, 60, 0o775, "/usr/local is writable by llm"),
        ("usr/local", 0, 1001, 0o775, "/usr/local is writable by llm"),
        ("usr/local/cuda/bin/nvcc", 0, 0, 0o757, "/usr/local/cuda/bin/nvcc is writable by everyone"),
        ("bin/sh", 1001, 1001, 0o755, "/bin/sh belongs to uid 1001"),
        # Debian's group staff has no members as it comes.
        ("usr/local", 0, 50, 0o2775, None),
        ("usr/local", 0, 0, 0o775, None),
    ],
)
def test_who_could_change_the_program(tree: Path, path: str, uid: int, gid: int, mode: int, why: str | None) -> None:
    os.chown(tree / path, uid, gid)
    (tree / path).chmod(mode)
    assert distrusted(Files(str(tree)), NVCC, 0) == why


def test_a_symlink_that_leads_into_someone_s_home(tree: Path) -> None:
    (tree / "home/llm/nvcc").write_text("")
    (tree / "usr/bin/nvcc").symlink_to("/home/llm/nvcc")
    assert distrusted(Files(str(tree)), "/usr/bin/nvcc", 0) == "/home/llm belongs to uid 1001"
    os.chown(tree / "usr/bin/nvcc", 1001, 1001, follow_symlinks=False)
    assert distrusted(Files(str(tree)), "/usr/bin/nvcc", 0) == "/usr/bin/nvcc belongs to uid 1001"


def test_a_symlink_in_the_middle_of_the_way(tree: Path) -> None:
    (tree / "home/llm/cuda").symlink_to("/usr/local/cuda")
    assert distrusted(Files(str(tree)), "/home/llm/cuda/bin/nvcc", 0) == "/home/llm belongs to uid 1001"


def test_a_sticky_folder_is_as_safe_as_what_lies_in_it(tree: Path) -> None:
    program = tree / "tmp/nvcc"
    program.write_text("")
    program.chmod(0o755)
    assert distrusted(Files(str(tree)), "/tmp/nvcc", 0) is None
    (tree / "tmp").chmod(0o777)
    assert distrusted(Files(str(tree)), "/tmp/nvcc", 0) == "/tmp is writable by everyone"


def test_one_s_own_program_may_run_with_one_s_own_rights(tree: Path) -> None:
    program = tree / "home/llm/nvcc"
    program.write_text("")
    os.chown(program, 1001, 1001)
    assert distrusted(Files(str(tree)), "/home/llm/nvcc", 1001) is None


def test_a_program_that_is_not_there(tree: Path) -> None:
    assert distrusted(Files(str(tree)), "/usr/bin/nothing", 0) == "/usr/bin/nothing can't be seen"
