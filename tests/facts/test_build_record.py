from __future__ import annotations

import pytest

from remedy.facts.build_record import BuildRecord, parse_build_ninja

FLASHINFER = """\
ninja_required_version = 1.3
name = page
cuda_home = /usr/local/cuda-13.0
cxx = c++
nvcc = $cuda_home/bin/nvcc

common_cflags = -DPy_LIMITED_API=0x03090000 $
    -isystem $cuda_home/include $
    -isystem $cuda_home/include/cccl
cuda_cflags = $common_cflags $
    -static-global-template-stub=false $
    -gencode=arch=compute_120f,code=sm_120f $
    -gencode=arch=compute_90a,code=sm_90a $
    -O3
ldflags = -shared $
    -L$cuda_home/lib64 $
    -lcudart

rule cuda_compile
  command = $nvcc --dependency-output $out.d $cuda_cflags -c $in -o $out
  depfile = $out.d

build page.cuda.o: cuda_compile csrc/page.cu
"""
TORCH = """\
ninja_required_version = 1.3
cxx = c++
nvcc = ccache /usr/local/cuda-12.8/bin/nvcc

cflags = -DTORCH_EXTENSION_NAME=fused -fPIC -std=c++17
cuda_cflags = -gencode=arch=compute_90,code=compute_90 -gencode=arch=compute_90,code=sm_90 -ccbin gcc-12
"""
TVM_FFI = """\
ninja_required_version = 1.3
cxx = c++
nvcc = /usr/local/cuda/bin/nvcc
cuda_cflags = -Xcompiler -fPIC -O2 -gencode=arch=compute_120,code=sm_120
"""


@pytest.mark.parametrize(
    ("text", "record"),
    [
        (
            FLASHINFER,
            BuildRecord("/usr/local/cuda-13.0", "/usr/local/cuda-13.0/bin/nvcc", frozenset({"120f", "90a"})),
        ),
        (TORCH, BuildRecord("/usr/local/cuda-12.8", "/usr/local/cuda-12.8/bin/nvcc", frozenset({"90"}))),
        (TVM_FFI, BuildRecord("/usr/local/cuda", "/usr/local/cuda/bin/nvcc", frozenset({"120"}))),
        ("nvcc = /opt/rocm/bin/hipcc\n", BuildRecord(None, "/opt/rocm/bin/hipcc")),
        ("nvcc = nvcc\n", BuildRecord(None, "nvcc")),
        ("cxx = c++\n", BuildRecord()),
        ("", BuildRecord()),
        # A reference in a circle ends.
        ("cuda_home = $nvcc\nnvcc = ${cuda_home}/bin/nvcc\n", None),
    ],
)
def test_build_record(text: str, record: BuildRecord | None) -> None:
    found = parse_build_ninja(text)
    assert record is None or found == record


def test_crlf_and_long_continuations() -> None:
    assert parse_build_ninja("nvcc = $\n  /a/bin/nvcc\n").cuda_home == "/a"
