"""FlashInfer's model against FlashInfer: its own lookup, run on its own files under many environments."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from remedy.jit import flashinfer, flashinfer_cache
from remedy.jit.types import Context
from remedy.jit.versions import at_least, cuda, dotted
from tests.jit import toolchains
from tests.jit.real import store
from tests.jit.toolchains import Roots

pytestmark = pytest.mark.machine

# The last release of each way to look and the first of the next.
VERSIONS = (
    "0.2.5",
    "0.2.6.post1",
    "0.3.1",
    "0.4.0",
    "0.4.1",
    "0.5.3",
    "0.6.6",
    "0.6.7.post3",
    "0.6.8.post1",
    "0.6.11.post1",
    "0.6.18",
    "0.7.0.post1",
    "0.7.1",
)
RECORDS = ("0.2.6.post1", "0.3.1", "0.4.0", "0.6.8.post1", "0.6.11", "0.6.11.post1", "0.7.1")
OPTIONS = ("0.2.6.post1", "0.4.1", "0.6.8.post1", "0.6.17", "0.6.18", "0.7.0.post1", "0.7.1")
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
def roots(tmp_path_factory: pytest.TempPathFactory) -> Roots:
    return toolchains.build(tmp_path_factory.mktemp("cuda"))


def cases(roots: Roots) -> list[Case]:
    """Every environment with one GPU set, and every list and every GPU set with the two toolkits."""
    found: list[Case] = []
    for env in toolchains.ENVIRONMENTS:
        filled = roots.filled(env)
        found.append(Case(filled, ((12, 0),), "13.0"))
        found.append(Case(filled, ((12, 0),), "12.8"))
        found.append(Case({**filled, "FLASHINFER_CUDA_ARCH_LIST": "12.0"}, ((9, 0),), "13.0"))
    lists = itertools.product(LISTS, GPUS[:1], ("old", "new"))
    for text, gpus, kit in (*lists, *itertools.product((None,), GPUS[1:], ("old", "new"))):
        env = roots.filled({"PATH": f"{{{kit}}}/bin:{{system}}", "FLASHINFER_WORKSPACE_BASE": "/srv/fi"})
        if text is not None:
            env["FLASHINFER_CUDA_ARCH_LIST"] = text
        found.append(Case(env, gpus, "13.0"))
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_model_agrees_with_the_library(version: str, roots: Roots) -> None:
    every = cases(roots)
    answers = store.ask(
        "probe_flashinfer.py",
        store.source("flashinfer-python", version),
        [case.as_question(version) for case in every],
    )
    differences = [
        f"{case.env} {case.gpus} torch {case.torch_cuda}: {difference}"
        for case, answer in zip(every, answers, strict=True)
        for difference in compare(version, toolchains.context(roots, case.env, case.gpus, case.torch_cuda), answer)
    ]
    assert not differences, f"{len(differences)} differences:\n" + "\n".join(differences[:25])


def compare(version: str, machine: Context, answer: dict[str, Any]) -> list[str]:
    """What the model says otherwise than the library."""
    case = flashinfer.case_of(version, machine)
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


def _compare_root(case: flashinfer.Case, answer: dict[str, Any]) -> list[str]:
    found: list[str] = []
    root = answer["root"].get("value")
    if root != case.found.root:
        found.append(f"root: library {answer['root']}, model {case.found.root}")
    version = cuda(answer["version"].get("value"))
    if version is not None and case.seen != version:
        found.append(f"version: library {dotted(version)}, model {case.seen}")
    return found


def _compare_archs(case: flashinfer.Case, archs: dict[str, Any]) -> list[str]:
    if "error" in archs:
        said = (case.archs.error or "").partition(":")[0]
        return [] if said == archs["error"] else [f"archs: library raises {archs}, model {case.archs}"]
    if case.archs.error or list(case.archs.targets) != archs["value"]:
        return [f"archs: library {archs['value']}, model {case.archs}"]
    return []


@pytest.mark.parametrize("version", RECORDS)
def test_an_old_build_record_is_kept_where_the_model_says_so(version: str, roots: Roots, tmp_path: Path) -> None:
    ninja = tmp_path / "bin/ninja"
    ninja.parent.mkdir()
    ninja.write_text("#!/bin/sh\n")
    ninja.chmod(0o755)
    path = f"{ninja.parent}:{{system}}"
    env = roots.filled({"PATH": path, "CUDA_HOME": "{new}", "FLASHINFER_WORKSPACE_BASE": str(tmp_path)})
    source = store.source("flashinfer-python", version)
    (answer,) = store.ask("probe_record.py", source, [{"env": env, "version": version}])
    assert flashinfer_cache.keeps_records(version) is answer["kept"]
    machine = toolchains.context(roots, env, flashinfer_python=version)
    folder = flashinfer.LIBRARY.resolve(version, machine).cache
    assert answer["record"] == f"{folder}/probe/build.ninja"


@pytest.mark.parametrize("version", OPTIONS)
def test_the_option_that_needs_nvcc_12_8_is_passed_where_the_model_says_so(version: str, roots: Roots) -> None:
    passed = "--compress-mode" in (store.source("flashinfer-python", version) / "flashinfer/jit/core.py").read_text()
    machine = toolchains.context(roots, roots.filled({"PATH": "{new}/bin:{system}"}), ((8, 9),))
    minimum = flashinfer.LIBRARY.resolve(version, machine).requires.nvcc_minimum
    assert passed is (minimum == (12, 8))
