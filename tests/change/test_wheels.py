"""A toolkit laid out from wheels: the shape that nvcc and the linker expect."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from remedy.change import wheels
from remedy.change.types import ToolkitBefore
from remedy.errors import Refused
from remedy.plan.types import BuildToolkit
from tests.lab.layers import Root
from tests.lab.machine import Machine

MEMBERS = {
    "nvidia/cu13/bin/nvcc": b"#!/bin/sh\n",
    "nvidia/cu13/bin/crt/link.stub": b"x",
    "nvidia/cu13/include/cuda.h": b"CUresult CUDAAPI cuInit(unsigned int Flags);\nCUresult cuMemAlloc_v2(void);\n",
    "nvidia/cu13/lib/libcudart.so.13": b"lib",
    "nvidia/cuda_nvcc/nvvm/bin/cicc": b"cicc",
    "nvidia/cu13/bin/../../../escape": b"no",
    "nvidia_cuda_nvcc-13.0.88.dist-info/RECORD": b"",
}


def wheel(folder: Path) -> Path:
    path = folder / "nvidia_cuda_nvcc-13.0.88-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in MEMBERS.items():
            archive.writestr(name, data)
    return path


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stub needs gcc")
def test_what_the_wheels_lack_is_made(tmp_path: Path) -> None:
    root = tmp_path / "cuda-13.0"
    root.mkdir()
    wheels._unpack(wheel(tmp_path), root)
    wheels._finish(root)
    assert (root / "bin/nvcc").stat().st_mode & 0o777 == 0o755
    assert (root / "lib/libcudart.so.13").stat().st_mode & 0o777 == 0o644
    assert (root / "lib64/libcudart.so").read_bytes() == b"lib"
    assert (root / "nvvm/bin/cicc").read_bytes() == b"cicc"
    assert not list(tmp_path.rglob("escape")) and not list(root.rglob("RECORD"))
    stub = str(root / "lib64/stubs/libcuda.so")
    symbols = subprocess.run(["nm", "-D", stub], capture_output=True, text=True).stdout
    assert "T cuInit" in symbols and "T cuMemAlloc_v2" in symbols
    dynamic = subprocess.run(["readelf", "-d", stub], capture_output=True, text=True).stdout
    assert "[libcuda.so.1]" in dynamic


def test_a_folder_without_nvcc_in_its_place_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "cuda-13.0"
    root.mkdir()
    with pytest.raises(Refused, match="holds no nvcc") as refused:
        step = BuildToolkit(("x==1",), str(root))
        wheels.build(step, ToolkitBefore(str(root), True), tmp_path / "log", lambda *_: None, None)
    assert refused.value.hint == f"move it away: mv {root} {root}.old"


def test_undo_takes_away_what_was_made_and_nothing_else(tmp_path: Path) -> None:
    root = tmp_path / "cuda-13.0"
    for name in ("cuda-13.0", ".cuda-13.0.partial", ".cuda-13.0.wheels", "cuda-12.9"):
        (tmp_path / name / "bin").mkdir(parents=True)
    assert wheels.remove(ToolkitBefore(str(root), True)) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cuda-12.9", "cuda-13.0"]
    assert wheels.remove(ToolkitBefore(str(root), False)) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cuda-12.9"]


PROGRAM = """
from pathlib import Path
from remedy.change import wheels
from remedy.plan.types import BuildToolkit
names = "cuda-nvcc==13.0.88 cuda-crt==13.0.88 nvvm==13.0.88 cuda-runtime==13.0.96 cuda-cccl==13.0.85 curand==10.4.0.35"
step = BuildToolkit(tuple("nvidia-" + name for name in names.split()), "/var/lib/remedy/toolkits/cuda-13.0")
Path("/var/lib/remedy").mkdir(mode=0o700)
wheels.build(step, wheels.look(step), Path("/root/pip.log"), lambda *_: None, None)
"""
KERNEL = """
#include <cuda.h>
#include <curand_kernel.h>
__global__ void kernel(float *x) { *x = 1; }
int main() { cuInit(0); kernel<<<1, 1>>>(0); return 0; }
"""


@pytest.mark.machine
def test_the_real_wheels_compile_and_link_for_the_services_user(lab_root: Root) -> None:
    with Machine(lab_root, network=True) as machine:
        machine.exec(["/opt/remedy-venv/bin/python", "-c", PROGRAM])
        machine.write("/tmp/kernel.cu", KERNEL)
        root = "/var/lib/remedy/toolkits/cuda-13.0"
        target = "-gencode=arch=compute_120f,code=sm_120f"
        libraries = f"-L{root}/lib64 -L{root}/lib64/stubs -lcudart -lcuda"
        machine.exec(f"cd /tmp && {root}/bin/nvcc {target} -o kernel kernel.cu {libraries}", user="llm")
        assert machine.exec("ls /var/lib/remedy/toolkits -A").stdout == "cuda-13.0\n"
        assert machine.exec("stat -c %a /var/lib/remedy").stdout == "711\n"
