"""Runs Triton's own ``knobs.py`` for each case: which ptxas would it use for a GPU, given the environment.

The compiled module that Triton reads variables through is replaced by the standard library's ``os.getenv``; the
assemblers are scripts that say a version, at the places where the wheel has its own.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import pathlib
import sys
import types
from typing import Any


def enter(root: str) -> Any:
    """The knobs module of the release."""
    for name in ("triton", "triton._C", "triton._C.libtriton"):
        module: Any = types.ModuleType(name)
        module.__path__ = [os.path.join(root, *name.split("."))]
        module.getenv = os.getenv
        module.getenv_bool = lambda name, default: os.getenv(name, "1" if default else "0") == "1"
        sys.modules[name] = module
    return importlib.import_module("triton.knobs")


def chosen(root: str, knobs: Any, architecture: int) -> str:
    """The path that ``get_ptxas`` gives."""
    tree = ast.parse(pathlib.Path(root, "triton/backends/nvidia/compiler.py").read_text())
    (node,) = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "get_ptxas"]
    found: dict[str, Any] = {"knobs": knobs}
    exec(compile(ast.Module(body=[node], type_ignores=[]), "compiler.py", "exec"), found)
    arguments = [architecture] if node.args.args else []
    return str(found["get_ptxas"](*arguments).path)


def main() -> None:
    root = sys.argv[1]
    folder = pathlib.Path(root, "triton/backends/nvidia/bin")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("ptxas", "ptxas-blackwell"):
        (folder / name).write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.8, V12.8.93'\n")
        (folder / name).chmod(0o755)
    knobs, answers = enter(root), []
    for case in json.load(sys.stdin):
        os.environ.clear()
        os.environ.update(case["env"])
        answers.append({"path": chosen(root, knobs, case["architecture"])})
    print("\n" + json.dumps(answers))


main()
