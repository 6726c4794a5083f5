"""A few fresh cases against the systemd of every suite that the lab boots; scripts/conformance does many."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.lab import recipe
from tests.lab.machine import Machine
from tests.unit import generate, live


@pytest.mark.machine
@pytest.mark.parametrize("suite", ["bullseye", "bookworm", "trixie"])
def test_reads_units_as_systemd_does(suite: str, tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    with Machine(recipe.build(suite)) as machine:
        wrong = live.compare(machine, list(generate.cases(seed, 80)), tmp_path)
    assert not wrong, f"seed {seed}:\n" + "\n".join(map(str, wrong[:3]))
