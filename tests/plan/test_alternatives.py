"""/usr/local/cuda stays where it is, and those who use it are named."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remedy.plan.alternatives import keep_links
from remedy.plan.types import InstallPackages
from tests.memory import MemoryView

STEP = InstallPackages(("cuda-nvcc-13-0=13.0.88-1",), (), "/usr/local/cuda-13.0")
UNITS = "/etc/systemd/system"
LINK = {"/usr/local/cuda": "/etc/alternatives/cuda", "/etc/alternatives/cuda": "/usr/local/cuda-12.8"}


@pytest.mark.parametrize(
    ("links", "files", "held", "words"),
    [
        # No link: nothing to keep, nothing to say.
        ({}, {f"{UNITS}/a.service": "[Service]\nEnvironment=A=/usr/local/cuda-12.8\n"}, (), []),
        # No link, but a unit that waits for one.
        (
            {},
            {f"{UNITS}/a.service": "Environment=PATH=/usr/local/cuda/bin\n"},
            (),
            ["does not exist", "a.service name it"],
        ),
        # A link that would move.
        (LINK, {}, (("cuda", "/usr/local/cuda-12.8"),), ["/usr/local/cuda stays on /usr/local/cuda-12.8"]),
        (
            LINK,
            {
                f"{UNITS}/a.service": "Environment=CUDA_HOME=/usr/local/cuda\n",
                f"{UNITS}/b.service.d/x.conf": '[Service]\nEnvironment="PATH=/usr/local/cuda/bin:/bin"\n',
                f"{UNITS}/mine.service": "Environment=CUDA_HOME=/usr/local/cuda\n",
                f"{UNITS}/c.timer": "/usr/local/cuda\n",
            },
            (("cuda", "/usr/local/cuda-12.8"),),
            ["a.service, b.service use"],
        ),
        # Already there: nothing moves.
        ({"/usr/local/cuda": "/usr/local/cuda-13.0"}, {}, (), []),
        ({"/usr/local/cuda-13": "/usr/local/cuda-13.2"}, {}, (("cuda-13", "/usr/local/cuda-13.2"),), []),
    ],
)
def test_links(links: Mapping[str, str], files: Mapping[str, str], held: object, words: list[str]) -> None:
    kept = keep_links(MemoryView(files, links), STEP, "mine.service")
    assert kept.step.hold_alternatives == held
    said = " ".join(kept.warnings)
    assert all(word in said for word in words) and bool(said) == bool(words)
    assert "mine.service" not in said
