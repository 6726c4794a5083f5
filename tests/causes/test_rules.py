"""What the facts alone say."""

from __future__ import annotations

from typing import Any

import pytest

from remedy.causes import rules
from remedy.causes.types import PartialFacts


def facts(**known: Any) -> PartialFacts:
    return PartialFacts(**known)


@pytest.mark.parametrize(
    ("known", "flashinfer", "old"),
    [
        ({"sm": (12, 0), "nvcc": (12, 8)}, True, True),
        ({"sm": (12, 0), "nvcc": (12, 8)}, False, False),
        ({"sm": (12, 0), "nvcc": (12, 8), "flashinfer": "0.7.1"}, True, False),
        ({"sm": (12, 0), "nvcc": (12, 8), "flashinfer": "0.6.6"}, True, False),
        ({"sm": (12, 1), "nvcc": (12, 8)}, False, True),
        ({"sm": (12, 0), "nvcc": (12, 9, 41)}, True, False),
        ({"sm": (9, 0), "nvcc": (11, 8)}, False, True),
        ({"sm": (8, 9), "nvcc": (11, 8)}, False, False),
        ({"sm": (8, 9), "nvcc": (11, 5)}, False, True),
        ({"sm": (12, 0)}, True, False),
        ({"nvcc": (11, 5)}, True, False),
    ],
)
def test_nvcc_too_old(known: dict[str, Any], flashinfer: bool, old: bool) -> None:
    assert (rules.nvcc_too_old(facts(**known), flashinfer) is not None) is old


@pytest.mark.parametrize(
    ("rule", "known", "wrong"),
    [
        (rules.nvcc_dropped_gpu, {"sm": (7, 0), "nvcc": (13, 0)}, True),
        (rules.nvcc_dropped_gpu, {"sm": (7, 0), "nvcc": (12, 9)}, False),
        (rules.majors_differ, {"nvcc": (12, 8), "torch_cuda": (13, 0)}, True),
        (rules.majors_differ, {"nvcc": (12, 4), "torch_cuda": (12, 8)}, False),
        (rules.headers_differ, {"nvcc": (13, 3), "cuda_headers": (13, 0)}, True),
        (rules.headers_differ, {"nvcc": (13, 0, 88), "cuda_headers": (13, 0)}, False),
        (rules.gcc_too_new, {"nvcc": (12, 1), "gcc": (13, 3)}, True),
        (rules.gcc_too_new, {"nvcc": (12, 8), "gcc": (14, 2)}, False),
        (rules.driver_lacks, {"driver": (570, 86, 10), "torch_cuda": (13, 0)}, True),
        (rules.driver_lacks, {"driver": (560,), "torch_cuda": (12, 8)}, False),
        (rules.driver_parts_differ, {"kernel_module": (550, 90, 7), "driver_packages": (550, 107, 2)}, True),
        (rules.driver_parts_differ, {"kernel_module": (550, 90, 7)}, False),
        (rules.glibc_conflicts, {"os": "Debian 13", "nvcc": (12, 4)}, True),
        (rules.glibc_conflicts, {"os": "Debian 13", "nvcc": (13, 0)}, False),
        (rules.glibc_conflicts, {"os": "Ubuntu 24.04"}, False),
        (rules.glibc_conflicts, {"os": "Ubuntu 25.04 (glibc 2.41)"}, True),
        (rules.glibc_conflicts, {"os": "Debian 12 (glibc 2.36)"}, False),
        (rules.nvcc_newer_than_driver, {"nvcc": (13, 3), "driver": (580, 159, 3)}, True),
        (rules.nvcc_newer_than_driver, {"nvcc": (12, 4), "driver": (580, 65)}, False),
    ],
)
def test_rules(rule: Any, known: dict[str, Any], wrong: bool) -> None:
    assert (rule(facts(**known)) is not None) is wrong


@pytest.mark.parametrize(
    ("root", "wrong"),
    [
        (":/usr/local/cuda-12.8", True),
        ("/usr/local/cuda:", True),
        ("$HOME/cuda", True),
        ("~/cuda", True),
        ("/dev/null", True),
        ("'/usr/local/cuda'", True),
        ("/usr/local/cuda/bin", True),
        ("cuda", True),
        ("/usr/local/cuda-13.0", False),
        ("/usr/local/cuda/", False),
        ("", False),
        (None, False),
    ],
)
def test_root_fault(root: str | None, wrong: bool) -> None:
    assert (rules.root_fault(root) is not None) is wrong


@pytest.mark.parametrize(
    ("name", "value", "sm", "wrong"),
    [
        ("FLASHINFER_CUDA_ARCH_LIST", "9.0a;10.0a", None, True),
        ("FLASHINFER_CUDA_ARCH_LIST", "12.0f ", None, True),
        ("FLASHINFER_CUDA_ARCH_LIST", "12.0f", (12, 0), False),
        ("FLASHINFER_CUDA_ARCH_LIST", "9.0a", (12, 0), True),
        ("TORCH_CUDA_ARCH_LIST", "12.0f", None, True),
        ("TORCH_CUDA_ARCH_LIST", "8.0;8.6", (8, 9), False),
        ("TORCH_CUDA_ARCH_LIST", "8.0+PTX", (9, 0), False),
        ("TORCH_CUDA_ARCH_LIST", "8.0", (9, 0), True),
        ("TORCH_CUDA_ARCH_LIST", "Ampere", (9, 0), False),
    ],
)
def test_arch_list_fault(name: str, value: str, sm: tuple[int, int] | None, wrong: bool) -> None:
    assert (rules.arch_list_fault(name, value, facts(sm=sm)) is not None) is wrong


@pytest.mark.parametrize(
    ("path", "cache"),
    [
        ("/.cache", True),
        ("/.triton", True),
        ("/home/u/.triton/cache/ab", True),
        ("/root/.cache/flashinfer/0.6.8", True),
        ("/srv/venv/lib/python3.12/site-packages/flashinfer_cubin/cubins", True),
        ("/tmp/torchinductor_vllm", True),
        ("/root/.cache/huggingface/hub", False),
        ("/models/qwen", False),
        ("/home/alice", False),
    ],
)
def test_jit_caches_by_path(path: str, cache: bool) -> None:
    assert rules.is_jit_cache(path) is cache
