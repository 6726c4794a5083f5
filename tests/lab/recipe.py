"""The recipe of the lab's root, layer by layer, with every version pinned.

What is real: Debian, systemd as PID 1, apt, torch, FlashInfer, TVM-FFI, gcc, and nvcc 13.0 with its headers and
libraries.  What is replaced, because it can't be had without NVIDIA's hardware or servers: torch's device
queries and its CPU build's CUDA version text, nvidia-smi, libcuda.so.1, nvcc 12.8, and NVIDIA's apt repository
(made here, out of NVIDIA's own wheels).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.lab import host
from tests.lab.layers import Layer, Log, Root
from tests.lab.layers import build as build_layers
from tests.lab.steps import cuda, finish, packages, remedy, service, system

HERE = Path(__file__).resolve().parent
HOOKS = HERE / "hooks"
#: Suites whose Python is older than pyproject.toml's requires-python.
WITHOUT_REMEDY = {"bullseye"}


def build(suite: str = "bookworm", log: Log = print) -> Root:
    """Build what is missing of the root for `suite`, and return it.  Needs root's rights.

    bookworm has everything; another suite gets systemd, Python and remedy only, for a matrix of systemd
    versions: trixie has 257, bullseye 247 (and a Python that is too old for remedy).
    Raises RuntimeError with the output of the step that failed.
    """
    host.check_rights()
    host.install_tools()
    return build_layers(suite, layers(suite), log)


def layers(suite: str) -> tuple[Layer, ...]:
    """The layers of a suite's root, the lowest first."""
    base = Layer("system", lambda root: system.build(root, suite), _source(system.build))
    own = Layer("remedy", remedy.build, _source(remedy.build), pins=remedy.runtime_dependencies())
    last = Layer("finish", finish.build, (*_source(finish.build), *_copied()))
    if suite in WITHOUT_REMEDY:
        return (base, last)
    if suite != "bookworm":
        return (base, own, last)
    venv = Layer("service", service.build, _source(service.build))
    hooks = (HOOKS / "nvcc-12.8", HOOKS / "driver_stub.py")
    toolkit = Layer("cuda", cuda.build, (*_source(cuda.build), *_source(packages.toolkit), *hooks))
    return (base, own, venv, toolkit, last)


def _source(function: Callable[..., object]) -> tuple[Path, ...]:
    return (Path(function.__code__.co_filename),)


def _copied() -> tuple[Path, ...]:
    """The files that the last layer copies as they are."""
    hooks = (path for path in HOOKS.iterdir() if path.is_file())
    return (HERE / "server.py", *sorted(hooks), *sorted(finish.UNITS.iterdir()))
