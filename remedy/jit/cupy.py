"""CuPy 12 to 14: NVRTC from its wheels; the toolkit only lends headers (``cupy/_environment.py``)."""

from __future__ import annotations

import posixpath

from remedy.hints import Final
from remedy.jit import judge, lookup, pathfinder
from remedy.jit.lookup import Found
from remedy.jit.types import Context, Requirement, Resolution
from remedy.jit.versions import at_least
from remedy.value import replace
from remedy.view import is_executable


def root(version: str, context: Context) -> Found:
    """``get_cuda_path``: CUDA_PATH where it exists (up to 14.0), then nvcc on PATH (up to 13) or the root of the NVRTC
    that cuda-pathfinder loads (14.0 and later), then /usr/local/cuda. Only pathfinder ever looks at CUDA_HOME.
    """
    path = context.env.get("CUDA_PATH")
    if path and not at_least(version, "14.1") and context.view.stat(path) is not None:
        return lookup.at(context, path, "CUDA_PATH", "CUDA_PATH")
    default = lookup.from_default(context) or lookup.NOTHING
    if not at_least(version, "14.0"):
        return lookup.from_path(context) or default
    hit = pathfinder.library(context, pathfinder.NVRTC)
    if hit is None:
        return default
    if hit.by == "CONDA_PREFIX":
        machine = context.snapshot.host.architecture or "x86_64"
        target = f"targets/{'sbsa' if machine == 'aarch64' else machine}-linux"
        return lookup.at(context, posixpath.join(context.env["CONDA_PREFIX"], target), hit.by, hit.variable)
    folder = posixpath.dirname(posixpath.dirname(hit.path))
    if hit.by == "wheel" and posixpath.basename(folder) == "cuda_nvrtc":
        return Found(None, "wheel", why="the wheels of CUDA 12 lie in folders of their own")
    return lookup.at(context, folder, hit.by, hit.variable)


def nvcc(version: str, context: Context, found: Found) -> str | None:
    """``get_nvcc_path``: NVCC as it is written, then cuda-pathfinder's (14.1 and later), then the root's own."""
    named = context.env.get("NVCC")
    if named is not None:
        return named
    hit = pathfinder.nvcc(context) if at_least(version, "14.1") else None
    if hit is not None:
        return hit.path
    return found.nvcc if found.nvcc and is_executable(context.view, found.nvcc) else None


class CuPy:
    """Arrays on the GPU. Its compiler is a library in a wheel, so that no toolkit's fault stops it."""

    name = "cupy"
    rank = 80
    frames = ("/cupy/", "/cupy_backends/")

    def resolve(self, version: str, context: Context) -> Resolution:
        """Where it would take headers from; nothing here is required of a toolkit."""
        found = root(version, context)
        program = nvcc(version, context, found)
        found = replace(found, nvcc=program, exists=bool(program) and is_executable(context.view, program or ""))
        return judge.resolution(
            judge.build(f"CuPy {version}", found, Requirement(), context),
            self.name,
            version,
            problems=(),
            cache=context.env.get("CUPY_CACHE_DIR") or posixpath.join(lookup.home(context), ".cupy/kernel_cache"),
            variables=("CUDA_PATH", "CUDA_HOME", "NVCC", "CUPY_CACHE_DIR"),
        )


LIBRARY: Final = CuPy()
