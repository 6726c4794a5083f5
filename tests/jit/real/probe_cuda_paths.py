"""Runs CuPy's and numba-cuda's own lookups, and the cuda-pathfinder in a folder, under this process's environment.

Standard input: a list of ``{"cupy": FILE}`` and ``{"numba": FILE}``; the argument: the folder with ``cuda/pathfinder``.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from typing import Any


def module(name: str, path: str) -> Any:
    """A module of its own file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def stand_in(name: str, **values: object) -> None:
    """A module of numba's that its lookup only takes names from."""
    found = types.ModuleType(name)
    vars(found).update(values)
    sys.modules[name] = found


def answer(case: dict[str, str]) -> dict[str, object]:
    if "cupy" in case:
        cupy = module("environment", case["cupy"])
        return {"root": cupy.get_cuda_path(), "nvcc": cupy.get_nvcc_path()}
    numba = module("cuda_paths", case["numba"])
    try:
        return {"nvvm": numba._get_nvvm_path().info}
    except Exception as error:
        return {"nvvm": None, "error": str(error)}


def main() -> None:
    sys.path.append(sys.argv[1])
    config = types.SimpleNamespace(CUDA_INCLUDE_PATH="")
    stand_in("numba")
    stand_in("numba.cuda", config=config)
    stand_in("numba.cuda.core")
    stand_in("numba.cuda.core.config", IS_WIN32=False)
    stand_in("numba.cuda.misc")
    stand_in("numba.cuda.misc.findlib", find_lib=lambda *_: [])
    print("\n" + json.dumps([answer(case) for case in json.load(sys.stdin)]))


main()
