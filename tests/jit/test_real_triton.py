"""Triton's choice of ptxas, by its own code, against the model; and the proof with all of Triton, without a GPU."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import resources
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


@pytest.fixture(scope="module")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcuda.so.1 that has every function that Triton links, as on a machine whose GPU is busy."""
    folder = tmp_path_factory.mktemp("driver")
    backend = store.whole("triton", "3.6.0") / "triton/backends/nvidia"
    text = "".join((backend / name).read_text() for name in ("driver.c", "driver.py"))
    names = sorted(set(re.findall(r"\bcu[A-Z]\w+", text)))
    (folder / "cuda.c").write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in names))
    words = ["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", "cuda.c"]
    subprocess.run(words, cwd=folder, check=True)
    (folder / "libcuda.so").symlink_to("libcuda.so.1")
    return folder


REFUSING = """#!/bin/sh
case $* in *--version*) echo 'release 12.8, V12.8.93'; exit;; esac
echo "ptxas fatal   : no" >&2
exit 255
"""
PROOFS: dict[str, tuple[list[int], dict[str, str], str]] = {
    "Blackwell": ([12, 0], {}, ""),
    "Hopper": ([9, 0], {}, ""),
    "no compiler": ([12, 0], {"CC": "/nowhere/gcc"}, "No such file or directory: '/nowhere/gcc'"),
    "no driver": ([12, 0], {"TRITON_LIBCUDA_PATH": "/nowhere"}, "cannot find -l:libcuda.so.1"),
    "a ptxas that refuses": ([12, 0], {"TRITON_PTXAS_BLACKWELL_PATH": "ptxas"}, "ptxas fatal   : no"),
}


@pytest.mark.parametrize("kind", PROOFS)
def test_the_probe_builds_and_loads_without_a_gpu(kind: str, libcuda: Path, tmp_path: Path) -> None:
    capability, environment, refusal = PROOFS[kind]
    (tmp_path / "ptxas").write_text(REFUSING)
    (tmp_path / "ptxas").chmod(0o755)
    source = resources.files("remedy.jit").joinpath("probes/triton.py").read_text()
    orders = {
        "probes": {"triton": source},
        "arguments": {"triton": {"capability": capability}},
        "caches": [],
        "real": False,
        "side_by_side": 1,
        "jobs": 1,
    }
    driver = resources.files("remedy.change").joinpath("twin_driver.py").read_text()
    done = subprocess.run(
        [sys.executable, "-"],
        input=f"{driver}\nmain({json.dumps(orders)!r})\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(store.whole("triton", "3.6.0")),
            "TRITON_LIBCUDA_PATH": str(libcuda),
            "LD_LIBRARY_PATH": str(libcuda),
            **{name: str(tmp_path / value) if value == "ptxas" else value for name, value in environment.items()},
        },
    )
    (said,) = [found for line in done.stdout.splitlines() if "ok" in (found := json.loads(line))]
    assert said["ok"] is not bool(refusal), said
    assert refusal in said.get("error", ""), said["error"]
