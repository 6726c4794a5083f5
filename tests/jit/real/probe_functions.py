"""Runs a library's own functions, cut out of its own file, for each case on standard input.

Only the named functions are executed, without their decorators (which remember answers); what they use of the
standard library is there, and ``torch`` is a stand-in with a version and device queries.
"""

from __future__ import annotations

import ast
import functools
import glob
import importlib.metadata
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types
from typing import Any


def stand_in(case: dict[str, Any]) -> Any:
    """torch, as far as these functions look at it."""
    gpus = [tuple(gpu) for gpu in case.get("gpus", [])]
    devices = types.SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: len(gpus),
        current_device=lambda: 0,
        get_device_capability=lambda index=0: gpus[index],
        get_arch_list=lambda: ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"],
    )
    version = types.SimpleNamespace(cuda=case.get("torch_cuda"), hip=None)
    distributed = types.SimpleNamespace(is_available=lambda: False)
    return types.SimpleNamespace(cuda=devices, version=version, distributed=distributed)


def namespace(path: str, names: list[str], case: dict[str, Any]) -> dict[str, Any]:
    """The named functions, and what they refer to."""
    tree = ast.parse(pathlib.Path(path).read_text())
    picked = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in picked:
        node.decorator_list = []
    torch = stand_in(case)
    sys.modules["torch"] = torch
    import collections
    import typing

    found: dict[str, Any] = {
        **vars(typing),
        **{module.__name__: module for module in (ast, collections, functools, glob, logging, os, pathlib, re)},
        **{module.__name__: module for module in (shutil, subprocess, sys)},
        "importlib": importlib,
        "Path": pathlib.Path,
        "IS_WINDOWS": False,
        "IS_MACOS": False,
        "BACKEND_STR": str,
        "ArchInfo": object,
        "torch": torch,
        "logger": logging.getLogger("probe"),
        "is_hip_runtime": lambda: False,
        "_get_package_version": lambda _: None,
    }
    code = ast.Module(body=[ast.parse("from __future__ import annotations").body[0], *picked], type_ignores=[])
    exec(compile(ast.fix_missing_locations(code), path, "exec"), found)
    return found


def answer(root: str, case: dict[str, Any]) -> dict[str, object]:
    os.environ.clear()
    os.environ.update(case["env"])
    found = namespace(os.path.join(root, case["file"]), case["functions"], case)
    call = found[case["functions"][-1]]
    try:
        return {"value": call(*case.get("arguments", []))}
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}


def main() -> None:
    cases = json.load(sys.stdin)
    print("\n" + json.dumps([answer(sys.argv[1], case) for case in cases]))


main()
