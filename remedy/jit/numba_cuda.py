"""numba-cuda 0.20 to 0.30: libNVVM or NVRTC through cuda-pathfinder, no gcc and no nvcc."""

from __future__ import annotations

from remedy.hints import Final
from remedy.jit import pathfinder
from remedy.jit.types import Context, Resolution


class NumbaCuda:
    """Kernels from Python functions. Its compilers are libraries, mostly in wheels."""

    name = "numba-cuda"
    distributions = ("numba-cuda",)
    rank = 85

    def resolve(self, version: str, context: Context) -> Resolution:
        """Where it would take libNVVM and libdevice from; nothing here is required of a toolkit."""
        return pathfinder.resolution(
            self.name,
            version,
            context,
            pathfinder.root(context),
            cache=context.env.get("NUMBA_CACHE_DIR"),
            variables=("CUDA_HOME", "CUDA_PATH", "NUMBA_CACHE_DIR", "NUMBA_CUDA_INCLUDE_PATH"),
        )


LIBRARY: Final = NumbaCuda()
