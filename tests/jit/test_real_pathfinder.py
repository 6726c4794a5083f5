"""CuPy, numba-cuda and cuda-pathfinder: their own files under many environments, against the model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from remedy.facts.files import Files
from remedy.facts.types import Dist, Host, Interpreter, Snapshot
from remedy.jit import cupy, lookup, numba_cuda, pathfinder
from remedy.jit.types import Context
from tests.jit import toolchains
from tests.jit.real import store
from tests.jit.toolchains import SYSTEM

pytestmark = pytest.mark.machine

CUPY = ("12.3.0", "13.6.0", "14.0.1", "14.1.0", "14.2.0")
NUMBA = ("0.20.0", "0.24.0", "0.26.0", "0.30.4")
FUNCTIONS = (
    "int nvrtcVersion(void){return 0;} int nvvmVersion(void){return 0;} int cudaRuntimeGetVersion(void){return 0;}"
)
SITES: dict[str, dict[str, tuple[str, ...]]] = {
    "bare": {},
    "cu12": {
        "nvidia/cuda_nvrtc/lib": ("libnvrtc.so.12",),
        "nvidia/cuda_nvcc/nvvm/lib64": ("libnvvm.so",),
        "nvidia_cuda_nvcc_cu12-12.8.93.dist-info": (),
    },
    "cu13": {
        "nvidia/cu13/lib": ("libnvrtc.so.13", "libnvvm.so.4"),
        "nvidia/cu13/bin": ("nvcc",),
        "nvidia_nvvm-13.0.88.dist-info": (),
    },
}
CASES: tuple[tuple[str, dict[str, str]], ...] = (
    ("bare", {}),
    ("bare", {"PATH": "{old}/bin:{system}"}),
    ("bare", {"CUDA_PATH": "{new}"}),
    ("bare", {"CUDA_HOME": "{new}"}),
    ("bare", {"CUDA_HOME": "{new}", "CUDA_PATH": "{old}"}),
    ("bare", {"CUDA_PATH": "", "CUDA_HOME": "{old}"}),
    ("bare", {"CUDA_PATH": "/nowhere", "PATH": "{old}/bin:{system}"}),
    ("bare", {"CUDA_HOME": "{hollow}"}),
    ("bare", {"LD_LIBRARY_PATH": "{old}/lib64", "CUDA_PATH": "{new}"}),
    ("bare", {"LD_LIBRARY_PATH": "{new}/lib64", "NVCC": "ccache nvcc"}),
    ("bare", {"CONDA_PREFIX": "{conda}", "CUDA_PATH": "{new}"}),
    ("cu12", {}),
    ("cu12", {"CUDA_PATH": "{new}", "PATH": "{old}/bin:{system}"}),
    ("cu13", {}),
    ("cu13", {"CUDA_PATH": "{old}", "CUDA_HOME": "{old}"}),
)


@dataclass(frozen=True)
class Machine:
    """Toolkits with libraries that can be loaded, and interpreters with and without NVIDIA's wheels."""

    base: Path

    def filled(self, env: dict[str, str]) -> dict[str, str]:
        places = {name: str(self.base / name) for name in ("old", "new", "hollow", "conda")}
        found = {"PATH": SYSTEM, **{name: text.format(**places, system=SYSTEM) for name, text in env.items()}}
        return {"HOME": toolchains.HOME, **found}

    def site(self, name: str) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.base / name / "lib" / version / "site-packages"

    def context(self, site: str, env: dict[str, str], pathfinder: str) -> Context:
        names = [name.removesuffix(".dist-info").split("-") for name in SITES[site] if name.endswith(".dist-info")]
        dists = {name.replace("_", "-"): version for name, version in [*names, ["cuda-pathfinder", pathfinder]]}
        folder = str(self.site(site))
        held = {name: Dist(name, version, folder) for name, version in dists.items()}
        python = Interpreter(f"{self.base}/{site}/bin/python", f"{self.base}/{site}", (3, 11), (folder,), held)
        return Context(env, Snapshot(host=Host(architecture="x86_64"), interpreter=python), Files("/"))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    base = tmp_path_factory.mktemp("cuda")
    toolchains.build(base)
    for root, major in (("old", "12"), ("new", "13"), ("conda", "13")):
        for folder, names in {
            "lib64": (f"libnvrtc.so.{major}", "libnvrtc.so", f"libcudart.so.{major}"),
            "nvvm/lib64": ("libnvvm.so.4", "libnvvm.so"),
        }.items():
            _libraries(base / root / (folder if root != "conda" else folder.replace("lib64", "lib", 1)), names)
    (base / "conda/targets/x86_64-linux").mkdir(parents=True)
    for name, folders in SITES.items():
        venv.create(base / name, symlinks=True)
        for folder, files in folders.items():
            _libraries(Machine(base).site(name) / folder, files)
    return Machine(base)


def _libraries(folder: Path, names: tuple[str, ...]) -> None:
    """Shared objects that carry their own names; ``nvcc`` a program; a dist-info folder its record."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.suffix == ".dist-info":
        name, _, version = folder.stem.partition("-")
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
    for name in names:
        if name == "nvcc":
            shutil.copy(shutil.which("true") or "/bin/true", folder / name)
            continue
        words = ["gcc", "-shared", "-fPIC", "-xc", "-", f"-Wl,-soname,{name}", "-o", str(folder / name)]
        subprocess.run(words, input=FUNCTIONS, text=True, check=True)


def real(path: object) -> str | None:
    return os.path.realpath(path) if isinstance(path, str) and path else None


@pytest.mark.parametrize("release", ["1.4.4", "1.9.1"])
@pytest.mark.parametrize(("site", "env"), CASES)
def test_the_root_and_compiler_are_the_librarys(machine: Machine, site: str, env: dict[str, str], release: str) -> None:
    filled = machine.filled(env)
    cases: list[dict[str, object]] = [
        {"cupy": str(store.part("cupy-cuda12x", version, CUPY_FILE) / CUPY_FILE)} for version in CUPY
    ]
    cases += [{"numba": str(store.source("numba-cuda", version) / NUMBA_FILE)} for version in NUMBA]
    folder = store.source("cuda-pathfinder", release)
    python = machine.base / site / "bin/python"
    answers = store.ask("probe_cuda_paths.py", folder, cases, interpreter=python, environment=filled)
    where = machine.context(site, filled, release)
    for version, answer in zip(CUPY, answers, strict=False):
        found = cupy.root(version, where)
        assert real(found.root) == real(answer["root"]), f"CuPy {version}"
        assert real(cupy.nvcc(version, where, found)) == real(answer["nvcc"]), f"CuPy {version}"
    for version, answer in zip(NUMBA, answers[len(CUPY) :], strict=True):
        _same_toolkit(numba_cuda.root(version, where), answer, f"numba-cuda {version}")


CUPY_FILE = "cupy/_environment.py"
NUMBA_FILE = "numba_cuda/numba/cuda/cuda_paths.py"


def _same_toolkit(found: lookup.Found, answer: dict[str, object], who: str) -> None:
    """libNVVM is in ``nvvm/lib64`` of the root, in the wheel of CUDA 13 in its ``lib``."""
    nvvm = real(answer["nvvm"])
    folders = [real(found.root + below) for below in ("/nvvm/lib64", "/lib")] if found.root else [None]
    assert (os.path.dirname(nvvm) if nvvm else None) in folders, f"{who}: {answer}, {found}"


CONSTANTS = ("_CUDA_PATH_ENV_VARS_ORDERED", "_paths_differ")


@pytest.mark.parametrize("release", ["1.3.0", "1.4.4", "1.5.0", "1.9.1"])
def test_which_variable_comes_first(machine: Machine, release: str) -> None:
    environments = [
        machine.filled(env) for _, env in CASES if {"CUDA_HOME", "CUDA_PATH"} & set(env) and env.get("CUDA_PATH") != ""
    ]
    name = "get_cuda_path_or_home" if release >= "1.5" else "get_cuda_home_or_path"
    asked: list[dict[str, object]] = [
        {"file": "cuda/pathfinder/_utils/env_vars.py", "functions": [*CONSTANTS, name], "env": env}
        for env in environments
    ]
    answers = store.ask("probe_functions.py", store.source("cuda-pathfinder", release), asked)
    for env, answer in zip(environments, answers, strict=True):
        where = replace(machine.context("bare", env, release), env=env)
        assert pathfinder.variable(where)[1] == answer["value"], env
