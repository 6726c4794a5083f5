"""The stand-ins answer as what they stand for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.hooks import driver_stub

HOOKS = Path(__file__).parent / "hooks"
FATAL = "nvcc fatal   : "
UNSUPPORTED = FATAL + "Unsupported gpu architecture "


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HOOKS / program, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--version"], 0, "Cuda compilation tools, release 12.8, V12.8.93"),
        (["-V"], 0, "release 12.8,"),
        (["--list-gpu-arch"], 0, "compute_120\n"),
        (
            ["-gencode=arch=compute_120f,code=sm_120f", "-c", "x.cu"],
            1,
            UNSUPPORTED + "'compute_120f'",
        ),
        (["-arch=sm_103a", "-c", "x.cu"], 1, UNSUPPORTED + "'sm_103a'"),
        (["-gencode=arch=compute_120a,code=sm_120a", "-c", "x.cu"], 1, "does not compile"),
        ([], 1, FATAL + "No input files specified"),
    ],
)
def test_nvcc(arguments: list[str], status: int, said: str) -> None:
    done = run("nvcc-12.8", *arguments)
    assert done.returncode == status
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("query", "formats", "first"),
    [
        ("compute_cap", "csv,noheader", "12.0"),
        ("index,name,driver_version", "csv,noheader", "0, NVIDIA RTX PRO 6000 Blackwell Server Edition, 580.95.05"),
        ("memory.total", "csv,noheader", "97887 MiB"),
        ("memory.total", "csv,noheader,nounits", "97887"),
        ("memory.total", "csv", "memory.total [MiB]"),
    ],
)
def test_nvidia_smi(query: str, formats: str, first: str) -> None:
    done = subprocess.run(
        [sys.executable, HOOKS / "nvidia-smi", f"--query-gpu={query}", f"--format={formats}"],
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == first
    assert len(lines) == (8 if "noheader" in formats else 9)


def test_driver_stub_covers_versioned_names() -> None:
    functions = "CUresult CUDAAPI cuInit(unsigned int Flags);\nCUresult CUDAAPI cuMemAlloc(void);\n"
    source = driver_stub.source("#define cuMemAlloc cuMemAlloc_v2\n" + functions, 100)
    assert "int cuInit(void) { return 100; }" in source
    assert "int cuMemAlloc_v2(void) { return 100; }" in source
    assert "int cuDriverGetVersion(int *version) { *version = 13000; return 0; }" in source
