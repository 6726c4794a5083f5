"""apt's marks after a run of apt that was broken off."""

from __future__ import annotations

from pathlib import Path

import pytest

from remedy.change import marks
from remedy.change.types import Package, PackagesBefore

OLD = b"Package: base\nArchitecture: amd64\nAuto-Installed: 1\n\n"
BEFORE = PackagesBefore(("base", "crt", "nvcc"), (Package("base:amd64", "1"),), (), ())


@pytest.fixture
def backups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(marks, "MARKS", tmp_path / "extended_states")
    marks.MARKS.write_bytes(OLD)
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups"


@pytest.mark.parametrize(
    ("after", "then"),
    [
        (b"", OLD),
        (None, OLD),
        (b"\0" * 64, OLD),
        (OLD[:20], OLD),
        # Whole, but from before: the new packages are marked all the same.
        (OLD, OLD),
    ],
)
def test_a_run_that_was_broken_off(backups: Path, after: bytes | None, then: bytes) -> None:
    with pytest.raises(KeyError), marks.kept(backups):
        marks.MARKS.unlink()
        if after is not None:
            marks.MARKS.write_bytes(after)
        raise KeyError
    assert marks.mend(backups, BEFORE, ["nvcc=2"]) == {"crt"}
    assert marks.MARKS.read_bytes() == then


def test_a_run_that_ended_leaves_the_marks_to_apt_and_people(backups: Path) -> None:
    with marks.kept(backups):
        marks.MARKS.write_bytes(b"")
    assert marks.mend(backups, BEFORE, ["nvcc=2"]) == frozenset()
    assert marks.MARKS.read_bytes() == b""


def test_where_nothing_was_marked_before(backups: Path) -> None:
    marks.MARKS.unlink()
    with pytest.raises(KeyError), marks.kept(backups):
        raise KeyError
    assert marks.mend(backups, BEFORE, ["nvcc=2"]) == {"crt"}
    assert not marks.MARKS.exists()
