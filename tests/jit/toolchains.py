"""Toolkits and environments on the real file system, for tests that ask real libraries."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from remedy.facts.files import Files
from remedy.facts.types import Dist, Gpu, Interpreter, Snapshot, Toolkit
from remedy.jit import lookup
from remedy.jit.types import Context
from remedy.jit.versions import cuda

HOME = "/home/llm"
SYSTEM = "/usr/bin:/bin"

ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"PATH": "{old}/bin:{system}"},
    {"PATH": "{new}/bin:{old}/bin:{system}"},
    {"PATH": "{system}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{new}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{new}/"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": ""},
    {"PATH": "{old}/bin:{system}", "CUDA_PATH": "{new}"},
    {"PATH": "{old}/bin:{system}", "CUDA_PATH": ""},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{new}", "CUDA_PATH": "{old}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "/dev/null"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "/nowhere"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": ":{old}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{hollow}"},
    {"PATH": "{links}:{system}"},
    {"PATH": "{old}/bin", "CUDA_HOME": ""},
    {"PATH": "{system}", "CUDA_HOME": "{locked}"},
)


@dataclass(frozen=True)
class Roots:
    """Where the toolkits stand: 12.8, 13.0, one whose nvcc can't be run, one without, and a folder of links."""

    base: Path

    def filled(self, env: Mapping[str, str]) -> dict[str, str]:
        """An environment with the places put in, and a home."""
        places = {name: str(self.base / name) for name in ("old", "new", "locked", "hollow", "links")}
        return {"HOME": HOME, **{name: text.format(**places, system=SYSTEM) for name, text in env.items()}}

    def kits(self) -> tuple[Toolkit, ...]:
        """The toolkits as facts, with that of this machine where it has one."""
        made = ((str(self.base / "old"), (12, 8)), (str(self.base / "new"), (13, 0)))
        return tuple(_kit(root, release) for root, release in made) + _default_kit()


def _kit(root: str, release: tuple[int, int] | None) -> Toolkit:
    return Toolkit(root, f"{root}/bin/nvcc", release, release, frozenset({"nvcc"}), "unknown", root)


@cache
def _default_kit() -> tuple[Toolkit, ...]:
    """The toolkit behind /usr/local/cuda, where this machine has one."""
    nvcc = f"{lookup.DEFAULT_ROOT}/bin/nvcc"
    try:
        said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    return (_kit(lookup.DEFAULT_ROOT, cuda(said.partition("release ")[2].partition(",")[0])),)


def build(base: Path) -> Roots:
    """Toolkits that can say their version, as the lab's stand-in for the old one does."""
    for name, release in (("old", "12.8"), ("new", "13.0"), ("locked", "13.0")):
        nvcc = base / name / "bin/nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.93'\n")
        nvcc.chmod(0o644 if name == "locked" else 0o755)
    (base / "hollow/bin").mkdir(parents=True)
    (base / "links").mkdir()
    (base / "links/nvcc").symlink_to(base / "new/bin/nvcc")
    return Roots(base)


def context(
    roots: Roots,
    env: Mapping[str, str],
    gpus: tuple[tuple[int, int], ...] = ((12, 0),),
    torch_cuda: str = "13.0",
    server: str = "",
    **dists: str,
) -> Context:
    """The same case as facts, read through the real file system."""
    names = {"torch": "2.13.0", **{name.replace("_", "-"): version for name, version in dists.items()}}
    held = {name: Dist(name, version, "/site") for name, version in names.items()}
    python = Interpreter("/venv/bin/python", "/venv", (3, 11), ("/site",), held, "2.13.0", torch_cuda)
    cards = tuple(Gpu(index, "GPU", found, None, "test") for index, found in enumerate(gpus))
    snapshot = Snapshot(gpus=cards, toolkits=roots.kits(), interpreter=python)
    return Context(env, snapshot, Files("/"), home=HOME, server=server)
