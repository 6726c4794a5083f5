"""Whatever ends ``fix --json``, its last line is the result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("fix no-such-unit --json --dry-run", 2),
        ("fix no-such.socket --json --dry-run", 2),
        ("rollback no-such-transaction --json", 7),
    ],
)
def test_a_refusal_is_a_result(line: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "remedy", *line.split()], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    last = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == last["exit"] == code
    assert (last["event"], last["outcome"]) == ("result", "refused")
    assert last["reason"].partition(";")[0] in done.stderr
