"""Runs a library's own functions, cut out of its own file, for each case on standard input.

Only the named functions are executed, without their decorators (which remember answers); what they use of the
standard library is there, and ``torch`` is a stand-in with a version and device queries. ``modules`` names whole files
of the library that they use, ``path`` folders in which they may find other libraries, and ``expression`` what is asked
in place of the last function's value.
"""

from __future__ import annotations

import ast
import functools
import glob
import importlib.metadata
import importlib.util
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


class Silent:
    """A logger of whatever methods."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


@functools.cache
def whole(path: str) -> Any:
    """A file of the library as a module of its own."""
    spec = importlib.util.spec_from_file_location("whole", path)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


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
    """The named functions and constants, and what they refer to."""
    tree = ast.parse(pathlib.Path(path).read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in functions:
        node.decorator_list = []
    values = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names]
    picked = [*values, *functions]
    torch = stand_in(case)
    sys.modules["torch"] = torch
    import collections
    import typing
    import warnings

    found: dict[str, Any] = {
        **vars(typing),
        **{module.__name__: module for module in (ast, collections, functools, glob, logging, os, pathlib, re)},
        **{module.__name__: module for module in (shutil, subprocess, sys, warnings)},
        "importlib": importlib,
        "Path": pathlib.Path,
        "IS_WINDOWS": False,
        "IS_MACOS": False,
        "BACKEND_STR": str,
        "ArchInfo": object,
        "torch": torch,
        "logger": Silent(),
        "is_hip_runtime": lambda: False,
        "_get_package_version": lambda _: None,
    }
    found.update({name: whole(os.path.join(sys.argv[1], file)) for name, file in case.get("modules", {}).items()})
    code = ast.Module(body=[ast.parse("from __future__ import annotations").body[0], *picked], type_ignores=[])
    exec(compile(ast.fix_missing_locations(code), path, "exec"), found)
    return found


STANDARD = sys.path[1:]


def answer(root: str, case: dict[str, Any]) -> dict[str, object]:
    os.environ.clear()
    os.environ.update(case["env"])
    sys.path[1:] = [*case.get("path", []), *STANDARD]
    found = namespace(os.path.join(root, case["file"]), case["functions"], case)
    try:
        if "expression" in case:
            return {"value": eval(case["expression"], found)}
        return {"value": found[case["functions"][-1]](*case.get("arguments", []))}
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}


def main() -> None:
    cases = json.load(sys.stdin)
    print("\n" + json.dumps([answer(sys.argv[1], case) for case in cases]))


main()
