"""TileLang 0.1 (``tilelang/env.py``): kernels of some models (DeepSeek's sparse attention among them)."""

from __future__ import annotations

import posixpath

from remedy.hints import Final
from remedy.jit import caches, devices, judge, lookup, servers, tables, tvm_ffi
from remedy.jit.lookup import Found
from remedy.jit.types import Context, Resolution
from remedy.jit.versions import at_least
from remedy.view import which

_HPC_SDK: Final = "/opt/nvidia/hpc_sdk/Linux_x86_64"


def root(version: str, context: Context) -> Found:
    """CUDA_HOME, CUDA_PATH, nvcc on PATH, from 0.1.8 on the wheel nvidia-cuda-nvcc, /usr/local/cuda, the HPC SDK."""
    named = lookup.from_variables(context, "CUDA_HOME", "CUDA_PATH")
    if named:
        return named
    return _on_path(version, context) or _wheel(version, context) or lookup.from_default(context) or _hpc_sdk(context)


def _on_path(version: str, context: Context) -> Found | None:
    """The nvcc on PATH; inside the HPC SDK the root is one folder higher.

    0.1.15 follows symlinks unless the headers stand beside the unresolved path.
    """
    nvcc = which(context.view, "nvcc", context.env.get("PATH"), lookup.UNSET_PATH)
    if nvcc is None:
        return None
    above = posixpath.dirname(posixpath.dirname(nvcc))
    if at_least(version, "0.1.15") and context.view.stat(posixpath.join(above, "include/cuda_runtime.h")) is None:
        above = posixpath.dirname(posixpath.dirname(context.view.realpath(nvcc)))
    if "cuda" not in nvcc.lower() and "hpc_sdk" in nvcc.lower():
        above = posixpath.dirname(above)
    return lookup.at(context, above, "PATH", "PATH")


def _wheel(version: str, context: Context) -> Found | None:
    """The compiler wheel in the service's own interpreter."""
    interpreter = context.snapshot.interpreter
    if not at_least(version, "0.1.8") or interpreter is None or interpreter.dist_version("nvidia-cuda-nvcc") is None:
        return None
    site = interpreter.dists["nvidia-cuda-nvcc"].location
    for name in ("nvidia/cu13", "nvidia/cuda_nvcc"):
        found = lookup.at(context, posixpath.join(site, name), "wheel")
        if found.exists:
            return found
    return None


def _hpc_sdk(context: Context) -> Found:
    """NVIDIA's HPC SDK at its usual place."""
    return lookup.at(context, _HPC_SDK, _HPC_SDK) if context.view.stat(_HPC_SDK) else lookup.NOTHING


class TileLang:
    """Kernels that few models use: it never stops a service that is not known to use them."""

    name = "tilelang"
    rank = 55
    frames = ("/tilelang/",)

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here."""
        found, capabilities = root(version, context), devices.visible(context)
        targets = frozenset(tables.spelled(one, "a" if one[0] >= 9 else "") for one in capabilities)
        needs = tvm_ffi.requirement(context, targets, capabilities, optional=True)
        one = judge.build(f"TileLang {version}", found, needs, context, fatal=False)
        folder = context.env.get("TILELANG_CACHE_DIR") or posixpath.join(lookup.home(context), ".tilelang/cache")
        used = servers.asks_for(context, "tilelang")
        problems = (*judge.problems(one), *caches.writable(context, one.who, folder, fatal=False)) if used else ()
        return judge.resolution(
            one,
            self.name,
            version,
            problems=problems,
            cache=folder,
            variables=("CUDA_HOME", "CUDA_PATH", "PATH", "TILELANG_CACHE_DIR"),
        )


LIBRARY: Final = TileLang()
