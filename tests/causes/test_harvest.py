"""Facts that stand in a pasted log."""

from __future__ import annotations

from remedy.causes import harvest
from remedy.causes.scan import Scanner
from remedy.causes.types import PartialFacts

SGLANG = """\
Python: 3.10.20 (main, Mar 11 2026, 17:46:40) [GCC 14.3.0]
CUDA available: True
GPU 0,1,2,3: NVIDIA A100-SXM4-40GB
GPU 0,1,2,3 Compute Capability: 8.0
CUDA_HOME: /usr/local/cuda
NVCC: Cuda compilation tools, release 12.8, V12.8.93
CUDA Driver Version: 595.58.03
PyTorch: 2.11.0+cu130
flashinfer_python: 0.6.11.post1
"""
VLLM = """\
OS                           : Ubuntu 24.04.3 LTS (x86_64)
GCC version                  : (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0
Libc version                 : glibc-2.39
PyTorch version              : 2.9.0+cu128
CUDA used to build PyTorch   : 12.8
CUDA runtime version         : 13.0.88
GPU models and configuration : GPU 0: NVIDIA GeForce RTX 5090
Nvidia driver version        : 580.126.09
[pip3] flashinfer-python==0.6.8.post1
TORCH_CUDA_ARCH_LIST=8.0 8.6
"""
FLASHINFER = """\
flashinfer                   : 0.7.0.dev20260922
Driver version       : 595.91.07
GPU 0 (CUDA order)   : NVIDIA RTX PRO 6000 Blackwell Max-Q | SM120 | 188 SMs
FLASHINFER_CUDA_ARCH_LIST: {(12, '0f')}
"""


def harvested(text: str, facts: PartialFacts | None = None) -> tuple[PartialFacts, dict[str, str]]:
    scan = Scanner(harvest.SIGNATURES).scan(text.splitlines())
    return harvest.completed(
        facts or PartialFacts(), {signature: tuple(hits) for signature, hits in scan.found.items()}
    )


def test_sglangs_report() -> None:
    facts, places = harvested(SGLANG)
    assert (facts.sm, facts.nvcc, facts.torch_cuda, facts.driver) == ((8, 0), (12, 8), (13, 0), (595, 58, 3))
    assert (facts.cuda_home, facts.flashinfer) == ("/usr/local/cuda", "0.6.11.post1")
    assert places["nvcc"] == "log:6"


def test_vllms_report() -> None:
    facts, _ = harvested(VLLM)
    assert (facts.sm, facts.nvcc, facts.torch_cuda, facts.gcc) == ((12, 0), (13, 0, 88), (12, 8), (13, 3, 0))
    assert (facts.os, facts.driver, facts.flashinfer) == ("glibc-2.39", (580, 126, 9), "0.6.8.post1")
    assert facts.env == {"TORCH_CUDA_ARCH_LIST": "8.0 8.6"}


def test_flashinfers_report_prints_no_variable_but_what_it_resolved() -> None:
    facts, _ = harvested(FLASHINFER)
    assert (facts.sm, facts.driver, facts.flashinfer, facts.env) == ((12, 0), (595, 91, 7), "0.7.0.dev20260922", {})


def test_what_is_given_wins() -> None:
    facts, places = harvested(SGLANG, PartialFacts(nvcc=(13, 0), env={"A": "b"}))
    assert facts.nvcc == (13, 0) and "nvcc" not in places and facts.env == {"A": "b"}


def test_nothing_to_harvest() -> None:
    given = PartialFacts(sm=(9, 0))
    assert harvested("RuntimeError: odd", given) == (given, {})


def test_a_call_in_a_traceback_is_no_value() -> None:
    assert harvested("    CUDA_HOME = _find_cuda_home()\n    CUDA_HOME = os.environ.get('CUDA_HOME')") == (
        PartialFacts(),
        {},
    )
