"""Files that a power cut brings back after their packages were purged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from remedy.change import leftovers

pytestmark = pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg says whose files are")


def test_only_what_was_noted_and_is_nobodys_goes(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "root"
    (root / "cuda/bin").mkdir(parents=True)
    (root / "shared").mkdir()
    for name in ("cuda/bin/nvcc", "cuda/bin/n[v]cc", "shared/theirs", "shared/ours"):
        (root / name).touch()
    (root / "link").symlink_to("shared")
    (root / "cuda/nowhere").symlink_to("nowhere")
    noted = ("cuda", "cuda/bin", "cuda/bin/nvcc", "cuda/nowhere", "cuda/gone", "shared", "shared/ours", "link/theirs")
    lines = [*(str(root / name) for name in noted), str(root / "cuda/bin/n[v]cc")]
    (tmp_path / "leaving").write_text("".join(f"{line}\n" for line in lines))
    leftovers.remove(tmp_path)
    left = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    assert left == ["cuda", "cuda/bin", "cuda/bin/n[v]cc", "link", "shared", "shared/theirs"]


def test_files_are_noted_beside_those_of_an_earlier_try(tmp_path: Path) -> None:
    leftovers.note(tmp_path, [])
    assert not (tmp_path / "leaving").exists()
    (tmp_path / "leaving").write_text("/opt/before\n")
    leftovers.note(tmp_path, ["dpkg:amd64"])
    assert {"/opt/before", "/usr/bin/dpkg-query"} <= set((tmp_path / "leaving").read_text().splitlines())
