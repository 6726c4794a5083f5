"""Lines that only follow from what another said."""

from __future__ import annotations

import pytest

from remedy.causes import engine


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The NVIDIA driver on your system is too old (found version 12040).", "driver-too-old"),
        ("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", "gpu-not-ready"),
        ("Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display", "driver-mismatch"),
        ("CUDA unknown error - this may be due to an incorrectly set up environment", "gpu-missing"),
    ],
)
def test_no_gpu_is_what_follows_from_the_answer_of_the_driver(answer: str, expected: str) -> None:
    warned = f"UserWarning: CUDA initialization: {answer} (Triggered internally at CUDAFunctions.cpp:109.)"
    for failed in ("Failed to infer device type", "No accelerator (CUDA, XPU, HPU, NPU) is available."):
        assert engine.explain([warned, f"RuntimeError: {failed}"]).root.id == expected


def test_a_loader_s_last_word_is_no_mismatch_where_a_library_was_not_there() -> None:
    gave_up = "[sgl_kernel] CRITICAL: Could not load any common_ops library!"
    lacking = "- ImportError: libnuma.so.1: cannot open shared object file: No such file or directory"
    symbol = "- ImportError: sm90/common_ops.abi3.so: undefined symbol: _ZNK3c106SymInt6sym_neERKS0_"
    assert engine.explain([gave_up]).root.id == "library-version-mismatch"
    assert engine.explain([gave_up, symbol]).root.id == "library-version-mismatch"
    assert engine.explain([gave_up, lacking]).root.id == "shared-library-missing"


def test_a_watchdog_s_word_of_any_error_is_no_failure_of_nccl() -> None:
    any_error = "[PG ID 2 Rank 1] Exception (either an error or timeout) detected by watchdog at work: 9, last enqueued"
    assert engine.explain([any_error, "CUDA error: an illegal memory access was encountered"]).root.id == "unknown"
    timeout = "[PG ID 2 Rank 1] Timeout at NCCL work: 9, last enqueued NCCL work: 9, last completed NCCL work: 8."
    assert engine.explain([any_error, timeout]).root.id == "nccl-failure"


def test_how_nccl_hands_a_result_up_tells_nothing_beside_another_error() -> None:
    handed = [f"gpu-1:4707:5232 [2] NCCL INFO {place} -> 2" for place in ("transport/shm.cc:101", "init.cc:813")]
    assert engine.explain([*handed, "Traceback (most recent call last):"]).root.id == "nccl-failure"
    other = "ValueError: The size of tensor a (4096) must match the size of tensor b (5120)"
    assert engine.explain([*handed, other]).root.id == "unknown"
    assert engine.explain([other, *handed]).root.id == "unknown"


def test_a_fetch_that_the_program_went_on_from_did_not_fail() -> None:
    fetch = "INFO trtllm_cubin_loader: Downloading cubin: https://edge.urm.nvidia.com/artifactory/a//Bmm_sm100f.cubin"
    assert engine.explain([fetch]).root.id == "artifact-download-failed"
    ran = "flashinfer_fused_moe_fp8 failed: Error in function 'run': Error occurred when running GEMM!"
    assert engine.explain([fetch, ran]).root.id == "unknown"
