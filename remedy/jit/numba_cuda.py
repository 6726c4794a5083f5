"""numba-cuda 0.20 to 0.30: libNVVM or NVRTC, no gcc and no nvcc (``numba/cuda/cuda_paths.py``)."""

from __future__ import annotations

import posixpath

from remedy.hints import Final
from remedy.jit import judge, lookup, pathfinder, servers
from remedy.jit.lookup import Found
from remedy.jit.types import Context, Requirement, Resolution
from remedy.jit.versions import at_least
from remedy.view import is_file


def root(version: str, context: Context) -> Found:
    """The toolkit whose libNVVM it loads: cuda-pathfinder's from 0.26 on, until then by its own steps."""
    if not at_least(version, "0.26"):
        return _own_steps(context)
    hit = pathfinder.library(context, pathfinder.NVVM)
    if hit is None:
        return lookup.NOTHING
    folder = posixpath.dirname(hit.path)
    above = posixpath.dirname(folder)
    # A toolkit has it in nvvm/lib64, the wheel of CUDA 13 beside its other libraries.
    toolkit = posixpath.dirname(above) if posixpath.basename(above) == "nvvm" else above
    return lookup.at(context, toolkit, hit.by, hit.variable)


def _own_steps(context: Context) -> Found:
    """conda's environment, the wheels, CUDA_HOME or CUDA_PATH unchecked, /usr/local/cuda."""
    interpreter, view = context.snapshot.interpreter, context.view
    prefix = interpreter.prefix if interpreter else ""
    in_conda = prefix and view.stat(posixpath.join(prefix, "conda-meta")) is not None
    if in_conda and is_file(view, posixpath.join(prefix, "nvvm/lib64/libnvvm.so.4")):
        return lookup.at(context, prefix, "conda")
    wheel = _wheel(context)
    if wheel is not None:
        return lookup.at(context, wheel, "wheel")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if name in context.env:
            return lookup.at(context, context.env[name], name, name)
    default = lookup.from_default(context)
    return default if default and view.stat(f"{lookup.DEFAULT_ROOT}/nvvm") else lookup.NOTHING


def _wheel(context: Context) -> str | None:
    """The root in the wheel with libNVVM: of CUDA 12 where that is installed, whole or not, else of CUDA 13."""
    interpreter = context.snapshot.interpreter
    folder, file = "nvidia/cuda_nvcc", "nvvm/lib64/libnvvm.so"
    if servers.version(context, "nvidia-cuda-nvcc-cu12") is None:
        folder, file = "nvidia/cu13", "lib/libnvvm.so.4"
        if not (servers.version(context, "nvidia-nvvm") or "").startswith("13."):
            return None
    roots = [posixpath.join(site, folder) for site in (interpreter.site_packages if interpreter else ())]
    return next((root for root in roots if is_file(context.view, posixpath.join(root, file))), None)


class NumbaCuda:
    """Kernels from Python functions. Its compilers are libraries, mostly in wheels."""

    name = "numba-cuda"
    rank = 85
    frames = ("/numba_cuda/", "/numba/cuda/")

    def resolve(self, version: str, context: Context) -> Resolution:
        """Where it would take libNVVM and libdevice from; nothing here is required of a toolkit."""
        return judge.resolution(
            judge.build(f"numba-cuda {version}", root(version, context), Requirement(), context),
            self.name,
            version,
            problems=(),
            cache=context.env.get("NUMBA_CACHE_DIR") or None,
            variables=("CUDA_HOME", "CUDA_PATH", "NUMBA_CACHE_DIR", "NUMBA_CUDA_INCLUDE_PATH"),
        )


LIBRARY: Final = NumbaCuda()
