"""Runs in the real interpreter: FlashInfer's own lookup for each case on standard input, answers on standard output.

Only its own files are executed; ``flashinfer`` and ``flashinfer.jit`` are entered as empty packages, since their
``__init__`` import every kernel. torch is real, but for its device queries.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

torch: Any = importlib.import_module("torch")
cpp_extension: Any = importlib.import_module("torch.utils.cpp_extension")


def package(name: str, path: str) -> None:
    module: Any = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module


def replace_devices(case: dict[str, Any]) -> None:
    torch.version.cuda = case["torch_cuda"]
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: len(case["gpus"])
    torch.cuda.get_device_capability = lambda index=0: tuple(case["gpus"][index])
    torch.cuda.get_arch_list = lambda: ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]


def attempt(call: Callable[[], object]) -> dict[str, object]:
    try:
        return {"value": call()}
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}


def forget_modules() -> None:
    """Forget what was imported and what functions remembered, but not the two empty packages."""
    keep = ("flashinfer", "flashinfer.jit", "flashinfer.version")
    for name in [name for name in sys.modules if name.startswith("flashinfer") and name not in keep]:
        del sys.modules[name]


def answer(root: str, case: dict[str, Any]) -> dict[str, object]:
    os.environ.clear()
    os.environ.update(case["env"])
    replace_devices(case)
    cpp_extension.CUDA_HOME = cpp_extension._find_cuda_home()
    forget_modules()
    package("flashinfer", os.path.join(root, "flashinfer"))
    package("flashinfer.jit", os.path.join(root, "flashinfer/jit"))
    if not os.path.exists(os.path.join(root, "flashinfer/version.py")) or case["version"]:
        version: Any = types.ModuleType("flashinfer.version")
        version.__version__ = case["version"]
        sys.modules["flashinfer.version"] = version
    found: dict[str, object] = {}
    workspace = attempt(lambda: str(importlib.import_module("flashinfer.jit.env").FLASHINFER_WORKSPACE_DIR))
    found["workspace"] = workspace
    if os.path.exists(os.path.join(root, "flashinfer/jit/cpp_ext.py")):
        # The workspace is not what is asked here, and a malformed list would stop its import.
        os.environ.pop("FLASHINFER_CUDA_ARCH_LIST", None)
        forget_modules()
        module = importlib.import_module("flashinfer.jit.cpp_ext")
        found["root"] = attempt(module.get_cuda_path) if hasattr(module, "get_cuda_path") else None
        found["version"] = attempt(lambda: str(module.get_cuda_version()))
        os.environ.update(case["env"])
        forget_modules()
    if os.path.exists(os.path.join(root, "flashinfer/compilation_context.py")):
        context = importlib.import_module("flashinfer.compilation_context").CompilationContext
        found["archs"] = attempt(lambda: [f"{a}{b}" for a, b in sorted(context().TARGET_CUDA_ARCHS)])
    found["torch_root"] = cpp_extension.CUDA_HOME
    found["torch_flags"] = attempt(cpp_extension._get_cuda_arch_flags)
    return found


def main() -> None:
    cases = json.load(sys.stdin)
    print("\n" + json.dumps([answer(sys.argv[1], case) for case in cases]))


main()
