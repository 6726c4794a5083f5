"""A short run of the benchmark: each measure that takes seconds still finds its number."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent / "scripts/bench"
#: The names of the figures, with bounds that no host is too busy for.
FIGURES = {
    "diagnose / python3 -c pass": (1, 15),
    "check": (5, 1000),
    "from a fatal line to the verdict": (0, 1000),
    "from the ready line to the verdict": (0, 1000),
    "memory of watch": (10, 60),
    "explain": (0.05, 5),
    "explain of a pipe / wc -l of it": (1, 100),
    "memory of explain": (10, 60),
    "diagnose of a failure before a flood": (0.01, 5),
    "diagnose of a start that flooded": (0.01, 10),
}


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(BENCH), *words], capture_output=True, text=True)


@pytest.mark.machine
def test_a_quick_run() -> None:
    done = bench("--quick", "prompt", "verdicts", "watching", "explaining", "journals")
    assert done.returncode == 0, done.stderr
    found = dict(re.findall(r"^(\S.*?)\s{2,}([\d.]+) (?:x|ms|s|MB) ", done.stdout, re.MULTILINE))
    for name, (least, most) in FIGURES.items():
        assert least <= float(found[name]) <= most, done.stdout


def test_a_measure_that_is_none() -> None:
    done = bench("nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no such measure: nothing" in done.stderr
