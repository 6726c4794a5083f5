"""CuPy 12 to 14: NVRTC from its wheels; the toolkit only lends headers (``cupy/_environment.py``)."""

from __future__ import annotations

import posixpath

from remedy.hints import Final
from remedy.jit import lookup, pathfinder
from remedy.jit.types import Context, Requirement, Resolution


class CuPy:
    """Arrays on the GPU. Its compiler is a library in a wheel, so that no toolkit's fault stops it."""

    name = "cupy"
    distributions = ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy")
    rank = 80

    def resolve(self, version: str, context: Context) -> Resolution:
        """Where it would take headers from; nothing here is required of a toolkit."""
        found = pathfinder.root(context)
        return Resolution(
            library=self.name,
            version=version,
            toolkit=found.root,
            found_by=found.by,
            variable=found.variable,
            nvcc=context.env.get("NVCC") or found.nvcc,
            nvcc_version=lookup.version_of(context, found),
            requires=Requirement(),
            cache=context.env.get("CUPY_CACHE_DIR") or posixpath.join(lookup.home(context), ".cupy/kernel_cache"),
            variables=("CUDA_PATH", "CUDA_HOME", "NVCC", "CUPY_CACHE_DIR"),
        )


LIBRARY: Final = CuPy()
