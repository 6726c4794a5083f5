"""FlashInfer's model against FlashInfer: its own lookup, run on its own files under many environments."""

from __future__ import annotations

import itertools
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from remedy.facts.files import Files
from remedy.facts.types import Dist, Gpu, Interpreter, Snapshot, Toolkit
from remedy.jit import flashinfer, flashinfer_cache, lookup
from remedy.jit.types import Context
from remedy.jit.versions import at_least, cuda, dotted
from tests.jit.real import store

pytestmark = pytest.mark.machine

VERSIONS = (
    "0.2.5",
    "0.2.6.post1",
    "0.3.1",
    "0.4.0",
    "0.4.1",
    "0.5.3",
    "0.6.4",
    "0.6.6",
    "0.6.7.post3",
    "0.6.8.post1",
    "0.6.11",
    "0.6.11.post1",
    "0.6.12",
    "0.7.0.post1",
    "0.7.1",
)

ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"PATH": "{old}/bin:{system}"},
    {"PATH": "{new}/bin:{old}/bin:{system}"},
    {"PATH": "{system}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{new}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{new}/"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": ""},
    {"PATH": "{old}/bin:{system}", "CUDA_PATH": "{new}"},
    {"PATH": "{old}/bin:{system}", "CUDA_PATH": ""},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{new}", "CUDA_PATH": "{old}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "/dev/null"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "/nowhere"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": ":{old}"},
    {"PATH": "{old}/bin:{system}", "CUDA_HOME": "{hollow}"},
    {"PATH": "{links}:{system}"},
    {"PATH": "{old}/bin", "CUDA_HOME": ""},
    {"PATH": "{system}", "CUDA_HOME": "{locked}"},
)
LISTS = (None, "12.0", "12.0f", "9.0a 12.0f", "8.9", "12.1", "12.0,9.0", "12.0 ", "12.0+PTX", "nonsense", "")
GPUS: tuple[tuple[tuple[int, int], ...], ...] = (
    ((12, 0), (12, 0)),
    ((12, 1),),
    ((9, 0),),
    ((8, 9),),
    ((10, 0),),
    ((9, 0), (12, 0)),
    ((12, 0), (8, 0)),
)


@dataclass(frozen=True)
class Case:
    """One environment, GPUs and torch build."""

    env: dict[str, str]
    gpus: tuple[tuple[int, int], ...]
    torch_cuda: str

    def as_question(self, version: str) -> dict[str, object]:
        return {"env": self.env, "gpus": self.gpus, "torch_cuda": self.torch_cuda, "version": version}


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Toolkits that can say their version, as the lab's stand-in for the old one does."""
    base = tmp_path_factory.mktemp("cuda")
    for name, release in (("old", "12.8"), ("new", "13.0"), ("locked", "13.0")):
        nvcc = base / name / "bin/nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.93'\n")
        # A folder is readable and not searchable for nobody but root, whom no mode stops: no execute bit stops both.
        nvcc.chmod(0o644 if name == "locked" else 0o755)
    (base / "hollow/bin").mkdir(parents=True)
    (base / "links").mkdir()
    (base / "links/nvcc").symlink_to(base / "new/bin/nvcc")
    found = {name: str(base / name) for name in ("old", "new", "locked", "hollow", "links")}
    return {**found, "system": "/usr/bin:/bin"}


def cases(roots: dict[str, str]) -> list[Case]:
    """Every environment with one GPU set, and every list and every GPU set with the two toolkits."""
    found: list[Case] = []
    for env in ENVIRONMENTS:
        filled = {"HOME": "/home/llm", **{name: value.format(**roots) for name, value in env.items()}}
        found.append(Case(filled, ((12, 0),), "13.0"))
        found.append(Case(filled, ((12, 0),), "12.8"))
        found.append(Case({**filled, "FLASHINFER_CUDA_ARCH_LIST": "12.0"}, ((9, 0),), "13.0"))
    lists = itertools.product(LISTS, GPUS[:1], ("old", "new"))
    for text, gpus, kit in (*lists, *itertools.product((None,), GPUS[1:], ("old", "new"))):
        env = {"HOME": "/home/llm", "PATH": f"{roots[kit]}/bin:/usr/bin:/bin", "FLASHINFER_WORKSPACE_BASE": "/srv/fi"}
        if text is not None:
            env["FLASHINFER_CUDA_ARCH_LIST"] = text
        found.append(Case(env, gpus, "13.0"))
    return found


@cache
def _default_kit() -> tuple[Toolkit, ...]:
    """The toolkit behind /usr/local/cuda, where this machine has one."""
    root = lookup.DEFAULT_ROOT
    try:
        said = subprocess.run([f"{root}/bin/nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    release = cuda(said.partition("release ")[2].partition(",")[0])
    return (Toolkit(root, f"{root}/bin/nvcc", release, release, frozenset({"nvcc"}), "unknown", root),)


def context(case: Case, version: str, roots: dict[str, str]) -> Context:
    """The same case as facts."""
    kits = tuple(
        Toolkit(roots[name], f"{roots[name]}/bin/nvcc", release, release, frozenset({"nvcc"}), "unknown", roots[name])
        for name, release in (("old", (12, 8)), ("new", (13, 0)))
    )
    kits += _default_kit()
    dists = {
        "flashinfer-python": Dist("flashinfer-python", version, "/site"),
        "torch": Dist("torch", "2.13.0", "/site"),
    }
    python = Interpreter("/venv/bin/python", "/venv", (3, 11), ("/site",), dists, "2.13.0", case.torch_cuda)
    gpus = tuple(Gpu(index, "GPU", found, None, "test") for index, found in enumerate(case.gpus))
    return Context(case.env, Snapshot(gpus=gpus, toolkits=kits, interpreter=python), Files("/"), home="/home/llm")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_model_agrees_with_the_library(version: str, roots: dict[str, str]) -> None:
    every = cases(roots)
    answers = store.ask(
        "probe_flashinfer.py",
        store.source("flashinfer-python", version),
        [case.as_question(version) for case in every],
    )
    differences = [
        f"{case.env} {case.gpus} torch {case.torch_cuda}: {difference}"
        for case, answer in zip(every, answers, strict=True)
        for difference in compare(version, context(case, version, roots), answer)
    ]
    assert not differences, f"{len(differences)} differences:\n" + "\n".join(differences[:25])


def compare(version: str, machine: Context, answer: dict[str, Any]) -> list[str]:
    """What the model says otherwise than the library."""
    case = flashinfer._case(version, machine)
    found: list[str] = []
    if at_least(version, "0.4.0"):
        found += _compare_root(case, answer)
    else:
        expected = answer["torch_root"] or ("/usr/local/cuda" if at_least(version, "0.2.6") else answer["torch_root"])
        if case.found.root != expected:
            found.append(f"root: library {expected}, model {case.found.root}")
    if "archs" in answer:
        found += _compare_archs(case, answer["archs"])
    if "value" in answer["workspace"] and not case.archs.error:
        folder = flashinfer_cache.folder(version, machine, case.archs)
        if folder != answer["workspace"]["value"]:
            found.append(f"workspace: library {answer['workspace']['value']}, model {folder}")
    return found


def _compare_root(case: Any, answer: dict[str, Any]) -> list[str]:
    found: list[str] = []
    root = answer["root"].get("value")
    if root != case.found.root:
        found.append(f"root: library {answer['root']}, model {case.found.root}")
    version = cuda(answer["version"].get("value"))
    if version is not None and case.seen != version:
        found.append(f"version: library {dotted(version)}, model {case.seen}")
    return found


def _compare_archs(case: Any, archs: dict[str, Any]) -> list[str]:
    if "error" in archs:
        said = (case.archs.error or "").partition(":")[0]
        return [] if said == archs["error"] else [f"archs: library raises {archs}, model {case.archs}"]
    if case.archs.error or list(case.archs.targets) != archs["value"]:
        return [f"archs: library {archs['value']}, model {case.archs}"]
    return []


def test_the_files_are_the_libraries_own() -> None:
    folder = store.source("flashinfer-python", "0.6.8.post1")
    assert (Path(folder) / "flashinfer/compilation_context.py").is_file()
