"""Runs in the real interpreter: what FlashInfer does with a module's build record that an earlier start left.

For each case a record is put in place, the module is built with a ninja that does nothing, and the record's own
``nvcc`` line is read again.
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import sys
import types
from typing import Any

torch: Any = importlib.import_module("torch")
cpp_extension: Any = importlib.import_module("torch.utils.cpp_extension")


def main() -> None:
    root, case = sys.argv[1], json.load(sys.stdin)[0]
    os.environ.update(case["env"])
    torch.version.cuda = "13.0"
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.get_device_capability = lambda *_: (12, 0)
    torch.cuda.get_arch_list = lambda: ["sm_90", "sm_120"]
    cpp_extension.CUDA_HOME = case["env"]["CUDA_HOME"]
    for name, path in (("flashinfer", "flashinfer"), ("flashinfer.jit", "flashinfer/jit")):
        module: Any = types.ModuleType(name)
        module.__path__ = [os.path.join(root, path)]
        sys.modules[name] = module
    version: Any = types.ModuleType("flashinfer.version")
    version.__version__ = case["version"]
    sys.modules["flashinfer.version"] = version

    env = importlib.import_module("flashinfer.jit.env")
    record = pathlib.Path(env.FLASHINFER_JIT_DIR) / "probe" / "build.ninja"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text("nvcc = /old/bin/nvcc\n")
    core = importlib.import_module("flashinfer.jit.core")
    source = record.parent / "probe.cu"
    source.touch()
    core.gen_jit_spec("probe", [source]).build(False)
    kept = "/old/bin/nvcc" in record.read_text()
    print("\n" + json.dumps([{"record": str(record), "kept": kept}]))


main()
