"""The recording that README.md shows is what a terminal shows today."""

from __future__ import annotations

import pytest

from tests.lab.machine import PROJECT, Machine
from tests.lab.recording import lasting, play


@pytest.mark.machine
def test_the_recording_is_current(fresh_machine: Machine) -> None:
    kept = lasting((PROJECT / "docs/story.cast").read_text())
    assert lasting(play(fresh_machine)) == kept, "scripts/picture.py records it anew"
