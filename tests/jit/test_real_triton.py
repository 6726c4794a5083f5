"""Triton's choice of ptxas, by its own code, against the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from remedy.jit import triton
from remedy.jit.tables import Capability
from tests.jit.real import store

pytestmark = pytest.mark.machine


@pytest.mark.parametrize("version", ["3.4.0", "3.6.0"])
def test_the_variable_that_counts_is_the_one_that_the_model_names(version: str, tmp_path: Path) -> None:
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
    ptxas.chmod(0o755)
    gpus: tuple[Capability, ...] = ((8, 9), (9, 0), (10, 0), (12, 0), (12, 1))
    names = (triton.PLAIN, triton.BLACKWELL)
    asked = [(gpu, name) for gpu in gpus for name in names]
    cases: list[dict[str, object]] = [
        {"env": {"PATH": "/usr/bin:/bin", name: str(ptxas)}, "architecture": gpu[0] * 10 + gpu[1]}
        for gpu, name in asked
    ]
    answers = store.ask("probe_triton.py", store.source("triton", version), cases)
    for (gpu, name), answer in zip(asked, answers, strict=True):
        assert (answer["path"] == str(ptxas)) is (triton.variable(version, gpu) == name), (gpu, name)


@pytest.mark.parametrize("version", ["3.4.0", "3.6.0"])
def test_a_path_that_is_not_there_is_passed_over(version: str) -> None:
    name = triton.variable(version, (12, 0)) or ""
    case: dict[str, object] = {"env": {"PATH": "/usr/bin:/bin", name: "/nowhere/ptxas"}, "architecture": 120}
    folder = store.source("triton", version)
    (answer,) = store.ask("probe_triton.py", folder, [case])
    assert str(answer["path"]).startswith(f"{folder}/triton/backends/nvidia/bin/ptxas")
