"""CuPy 12 to 14: NVRTC from its wheels; the toolkit only lends headers (``cupy/_environment.py``)."""

from __future__ import annotations

import posixpath

from remedy.hints import Final
from remedy.jit import lookup, pathfinder
from remedy.jit.types import Context, Resolution


class CuPy:
    """Arrays on the GPU. Its compiler is a library in a wheel, so that no toolkit's fault stops it."""

    name = "cupy"
    distributions = ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy")
    rank = 80

    def resolve(self, version: str, context: Context) -> Resolution:
        """Where it would take headers from; nothing here is required of a toolkit."""
        found = pathfinder.root(context)
        return pathfinder.resolution(
            self.name,
            version,
            context,
            found,
            cache=context.env.get("CUPY_CACHE_DIR") or posixpath.join(lookup.home(context), ".cupy/kernel_cache"),
            variables=("CUDA_PATH", "CUDA_HOME", "NVCC", "CUPY_CACHE_DIR"),
            nvcc=context.env.get("NVCC") or found.nvcc,
        )


LIBRARY: Final = CuPy()
