"""The lab's GPUs: torch's device queries answer as on a machine with eight RTX PRO 6000 Blackwell.

Loaded by lab_gpus.pth when the service's interpreter starts; it acts once torch has been imported, and changes
nothing but these queries.  It also loads libcudart from the nvidia-cuda-runtime wheel for all to see, as a cu130
build of torch does itself and the CPU build, which the lab has, does not.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from pathlib import Path

COUNT = 8
CAPABILITY = (12, 0)
NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"


def replace_queries(torch: types.ModuleType) -> None:
    """Replace the device queries of an imported torch."""
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: COUNT
    cuda.current_device = lambda: 0
    cuda.get_device_capability = lambda _device=None: CAPABILITY
    cuda.get_device_name = lambda _device=None: NAME
    cuda.set_device = lambda _device: None


def load_runtime(folder: Path) -> None:
    """Load libcudart from the wheel beside torch, where there is one."""
    for library in sorted(folder.glob("nvidia/cu*/lib/libcudart.so.*")):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


class _Loader(importlib.abc.Loader):
    def __init__(self, real: importlib.abc.Loader) -> None:
        self.real = real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self.real.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self.real.exec_module(module)
        load_runtime(Path(str(module.__file__)).parent.parent)
        replace_queries(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
