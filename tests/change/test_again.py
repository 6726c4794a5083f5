"""A fresh interpreter runs the remedy that this one runs, wherever it was imported from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from remedy.change.again import ROOT, command, line


@pytest.mark.parametrize("python", [sys.executable, "/usr/bin/python3"])
def test_it_is_found_without_the_caller_s_folder_and_variables(
    python: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    (tmp_path / "remedy.py").write_text("raise SystemExit('not this one')")
    again = subprocess.run(
        command("remedy", "explain", "nvcc-too-old"),
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (again.returncode, again.stderr) == (0, "")
    assert "nvcc-too-old" in again.stdout


def test_nothing_in_a_unit_s_line_is_systemd_s() -> None:
    assert line(["/opt/50%/py", 'a"b', "\\$x"]) == '"/opt/50%%/py" "a\\"b" "\\\\$$x"'
    assert f'"{ROOT}/remedy/change/again.py"' in line(command("remedy"))
