"""What jit/ foresees, and what the log tells that the start failed of: the log has the first word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remedy.causes import engine, facts_file
from remedy.facts.types import UnitState
from remedy.jit.types import Problem
from tests.causes.scene import ACTIVE, FAILED, SM75, TOO_OLD, diagnose, journal

BEGIN = "Traceback (most recent call last):"
ELSEWHERE = '  File "/srv/venv/lib/python3.12/site-packages/transformers/models/auto.py", line 3, in get'
WITHIN = '  File "/srv/venv/lib/python3.12/site-packages/{}", line 9, in load'
#: One file of each library, as tracebacks name them.
FILES = [
    "flashinfer/compilation_context.py",
    "torch/utils/cpp_extension.py",
    "torch/_inductor/codecache.py",
    "triton/backends/nvidia/compiler.py",
    "tvm_ffi/cpp/extension.py",
    "deep_gemm/jit/compiler.py",
    "sglang/jit_kernel/utils.py",
    "tilelang/jit/kernel.py",
    "cupy/cuda/compiler.py",
    "numba/cuda/cudadrv/nvvm.py",
]


def test_an_exception_from_elsewhere_is_not_the_toolchains() -> None:
    found = diagnose(journal(BEGIN, ELSEWHERE, "    raise KeyError(name)", "KeyError: 'a'"), FAILED, TOO_OLD)
    assert [(one.id, one.root, one.certainty) for one in found.findings] == [
        ("unknown", True, "possible"),
        ("nvcc-too-old", False, "possible"),
    ]
    assert found.root.evidence[0].text == "KeyError: 'a'"


def test_what_was_raised_without_a_failure_says_nothing_of_the_next_start() -> None:
    lines = journal("INFO: Application startup complete.", BEGIN, ELSEWHERE, "asyncio.exceptions.CancelledError")
    stopped = diagnose(lines, UnitState(active_state="inactive", result="success"), TOO_OLD).root
    assert (stopped.id, stopped.certainty) == ("nvcc-too-old", "likely")
    assert [one.id for one in diagnose(lines, ACTIVE, TOO_OLD).findings] == ["healthy", "nvcc-too-old"]


@pytest.mark.parametrize("file", FILES)
def test_an_exception_that_went_through_a_library_may_be(file: str) -> None:
    lines = journal(BEGIN, ELSEWHERE, WITHIN.format(file), "ValueError: invalid literal for int() with base 10: 'x'")
    root = diagnose(lines, FAILED, Problem("arch-list-wrong", "FLASHINFER_CUDA_ARCH_LIST='x'")).root
    assert (root.id, root.certainty) == ("arch-list-wrong", "likely")


FLOOR = "2026-05-02 10:11:03 - WARNING - flashinfer: Failed to get device capability: SM 12.x requires CUDA >= 12.9."


@pytest.mark.parametrize(
    ("last", "roots"),
    [
        (["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB."], ["gpu-out-of-memory"]),
        ([BEGIN, ELSEWHERE, "KeyError: 'a'"], ["unknown"]),
        (["sglang ended for no reason that it told"], ["nvcc-too-old"]),
        ([SM75], ["nvcc-too-old"]),
    ],
)
def test_a_warning_that_the_machine_bears_out_is_not_what_a_start_failed_of(last: list[str], roots: list[str]) -> None:
    found = diagnose(journal(FLOOR, *last), FAILED, TOO_OLD)
    assert [one.id for one in found.findings if one.root] == roots
    assert "nvcc-too-old" in [one.id for one in found.findings]


def test_a_build_that_was_survived_is_not_what_a_start_failed_of() -> None:
    survived = "WARNING 06-10 17:34:34 [flashinfer_all_reduce.py:74] ninja: build stopped: subcommand failed."
    missing = Problem("cuda-headers-missing", "the toolkit has no curand.h")
    lines = journal(survived, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert diagnose(lines, FAILED, missing).root.id == "gpu-out-of-memory"


def test_native_code_crashes_for_want_of_no_compiler() -> None:
    crashed = replace(FAILED, result="core-dump", exec_main_code=3, exec_main_status=11)
    assert diagnose(journal("odd"), crashed, TOO_OLD).root.id == "unknown"


KILLED = replace(FAILED, result="signal", exec_main_code=2, exec_main_status=9)


@pytest.mark.parametrize(
    ("state", "lines", "root"),
    [
        # A server kills itself when a process of it has failed, and says so.
        (KILLED, ["Received sigquit from a child process. It usually means the child failed."], "nvcc-too-old"),
        (KILLED, [FLOOR, "Loading safetensors checkpoint shards: 40% Completed"], "unknown"),
        (KILLED, ["INFO: Loading JIT ops: page"], "jit-cache-locked"),
        (KILLED, ["ptxas said no", "odd"], "nvcc-too-old"),
        (KILLED, ["Loading safetensors checkpoint shards: 40% Completed"], "unknown"),
        (FAILED, ["Loading safetensors checkpoint shards: 40% Completed", "Killed"], "unknown"),
        (FAILED, ["Loading safetensors checkpoint shards: 40% Completed"], "nvcc-too-old"),
        (FAILED, ["Engine core initialization failed. See root cause above.", "Killed"], "nvcc-too-old"),
        (FAILED, ["odd", "Aborted (core dumped)"], "unknown"),
        (FAILED, ["RuntimeError: nvcc said no", "Segmentation fault (core dumped)"], "unknown"),
    ],
)
def test_who_was_killed_failed_of_what_it_told(state: UnitState, lines: list[str], root: str) -> None:
    assert diagnose(journal(*lines), state, TOO_OLD).root.id == root


@pytest.mark.parametrize(
    "lines",
    [
        ["llama_model_load: error loading model: vocabulary is empty", "main: error: unable to load model"],
        ["panic: runtime error: index out of range [3] with length 3", "", "goroutine 1 [running]:"],
        ["thread 'main' panicked at src/main.rs:3:5:", "Error: no such shard"],
        ['time=2026-01-01T10:00:00Z level=ERROR source=sched.go:456 msg="error loading llama server"'],
        ["ERROR:    [Errno 99] error while attempting to bind on address ('::1', 8000, 0, 0)"],
        ["KeyboardInterrupt: terminated"],
    ],
)
def test_an_error_of_any_program_that_speaks_of_no_compiler_is_not_the_toolchains(lines: list[str]) -> None:
    assert not diagnose(journal(*lines), FAILED, TOO_OLD).root.toolchain
    assert diagnose(journal(*lines, "RuntimeError: nvcc said no"), FAILED, TOO_OLD).root.id == "nvcc-too-old"


def test_a_service_that_came_up_ended_of_nothing_that_its_start_needs() -> None:
    lines = journal("INFO:     Application startup complete.", "Segmentation fault (core dumped)")
    assert [one.id for one in diagnose(lines, FAILED, TOO_OLD).findings] == ["unknown", "nvcc-too-old"]
    assert [one.id for one in diagnose(lines, ACTIVE, TOO_OLD).findings] == ["healthy", "nvcc-too-old"]


def test_what_is_foreseen_comes_behind_what_the_log_stands_at() -> None:
    found = diagnose(journal("INFO 05-02 10:11:03 [pynccl.py:70] vLLM is using nccl==2.27.3"), FAILED, TOO_OLD)
    assert [one.id for one in found.findings] == ["nccl-failure", "nvcc-too-old"]


def test_a_program_that_was_never_run_failed_of_no_library() -> None:
    state = replace(FAILED, exec_main_status=126)
    assert diagnose(journal("odd"), state, TOO_OLD).root.id == "unknown"
    assert diagnose(journal("odd"), FAILED, TOO_OLD).root.id == "nvcc-too-old"


@pytest.mark.parametrize(
    ("why", "root"),
    [
        ("Failed to get device capability: No CUDA GPUs are available", "gpu-missing"),
        ("RuntimeError: No CUDA GPUs are available", "gpu-missing"),
        ("UserWarning: CUDA initialization: The NVIDIA driver on your system is too old", "driver-too-old"),
        ("Failed to get device capability: SM 12.x requires CUDA >= 12.9.", "nvcc-too-old"),
    ],
)
def test_an_empty_set_of_targets_is_explained_by_the_line_before_it(why: str, root: str) -> None:
    assert diagnose(journal(why, SM75), FAILED, TOO_OLD).root.id == root


@pytest.mark.parametrize(
    ("failed", "root"),
    [
        ("FAILED: main.o", "unknown"),
        ("FAILED: kernel.cuda.o", "nvcc-too-old"),
    ],
)
def test_an_error_of_the_host_compilers_own_is_not_nvccs(failed: str, root: str) -> None:
    error = "/srv/ops/main.cpp:96:52: error: cannot convert 'long int' to 'const at::Tensor&'"
    lines = (error, failed, "ninja: build stopped: subcommand failed.", BEGIN, ELSEWHERE, "RuntimeError: odd")
    assert diagnose(journal(*lines), FAILED, TOO_OLD).root.id == root


OLD = {"sm": "12.0", "nvcc": "12.4", "torch_cuda": "13.0", "gcc": "15.1"}


@pytest.mark.parametrize(
    "why",
    [
        "nvcc error   : 'ptxas' died due to signal 11 (Invalid memory reference)",
        "FAILED: [code=139] kernel.cuda.o",
        "nvcc fatal   : Unknown option '-Wno-switch-bool'",
        "ptxas error   : Entry function '_Z1k' uses too much shared data (0xc400 bytes, 0xc000 max)",
        "ptxas fatal   : (C7600) Register allocation failed with register count of '64'. Compile the program with more",
        "/srv/ops/kernel.cu:8:10: fatal error: cutlass/bfloat16.h: No such file or directory",
        '/srv/ops/kernel.cuh(234): error: namespace "cutlass::epilogue" has no member "Blockwise"',
    ],
)
def test_a_build_that_says_itself_why_it_failed_is_not_put_down_to_the_machine(why: str) -> None:
    lines = (why, "ninja: build stopped: subcommand failed.", "RuntimeError: Error building extension 'ops'")
    assert [one.id for one in diagnose(journal(*lines), FAILED, TOO_OLD).findings if one.root] == ["unknown"]
    assert engine.explain(lines, facts_file.from_mapping(OLD)).root.id == "unknown"


def test_a_build_that_ran_rocms_compiler_for_an_amd_gpu_had_none_of_nvccs_faults() -> None:
    lines = ["/opt/rocm/bin/hipcc --offload-arch=gfx942 -c kernel.cu", "FAILED: [code=1] kernel.cuda.o"]
    assert engine.explain(lines, facts_file.from_mapping({**OLD, "gpu": "AMD MI300X"})).root.id == "unknown"


def test_a_build_that_failed_quietly_is_not_what_ended_with_an_exception_of_data() -> None:
    lines = ("ninja: build stopped: subcommand failed.", BEGIN, ELSEWHERE, "ValueError: odd")
    assert [one.id for one in diagnose(journal(*lines), FAILED, TOO_OLD).findings] == ["unknown", "nvcc-too-old"]


@pytest.mark.parametrize(
    ("said", "root"),
    [
        ("OSError: [Errno 28] No space left on device: '/root/.cache/flashinfer/0.6.8/90a/cached_ops'", "disk-full"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB.", "gpu-out-of-memory"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_120f'", "nvcc-too-old"),
        ("going on", "nvcc-too-old"),
    ],
)
def test_an_ambiguous_line_is_the_logs_own_before_it_is_the_machines(said: str, root: str) -> None:
    for before in ((), (FLOOR,)):
        found = diagnose(journal(*before, said, "ninja: build stopped: subcommand failed."), FAILED, TOO_OLD)
        assert found.root.id == root
        assert "nvcc-too-old" in [one.id for one in found.findings]


def test_a_warning_of_a_start_that_came_up_is_not_what_the_service_ended_of() -> None:
    survived = "WARNING 06-10 17:34:34 [all_reduce.py:74] nvcc fatal   : Unsupported gpu architecture 'compute_120f'"
    lines = journal(survived, "INFO:     Application startup complete.")
    assert diagnose(lines, FAILED, TOO_OLD).root.id == "unknown"
    assert diagnose(lines, ACTIVE, TOO_OLD).root.id == "healthy"


MANAGED = tuple(
    replace(line, from_manager=True)
    for line in journal(
        "sglang.service: Main process exited, status=1/FAILURE", "sglang.service: Failed with result 'x'"
    )
)


@pytest.mark.parametrize(
    ("refused", "last", "root"),
    [
        ("nvcc fatal   : Unsupported gpu architecture 'compute_120f'", (BEGIN, ELSEWHERE, "KeyError: 'a'"), "unknown"),
        ("ninja: build stopped: subcommand failed.", (BEGIN, ELSEWHERE, "ValueError: odd"), "unknown"),
        # Without its traceback, of a name or None, and in a library's own files it may be of what was refused.
        ("nvcc fatal   : Unsupported gpu architecture 'compute_120f'", ("KeyError: 'a'",), "nvcc-too-old"),
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_120f'",
            (BEGIN, ELSEWHERE, "AttributeError: 'NoneType' object has no attribute 'run'"),
            "nvcc-too-old",
        ),
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_120f'",
            (BEGIN, WITHIN.format(FILES[0]), "KeyError: 'a'"),
            "nvcc-too-old",
        ),
    ],
)
def test_what_was_refused_and_gone_past(refused: str, last: tuple[str, ...], root: str) -> None:
    for after in ((), MANAGED):
        found = diagnose((*journal(refused, *last), *after), FAILED, TOO_OLD)
        assert found.root.id == root
        assert "nvcc-too-old" in [one.id for one in found.findings]


@pytest.mark.parametrize(
    ("lines", "certainty"),
    [
        ((), "likely"),
        (("Loading safetensors checkpoint shards: 40% Completed",), "possible"),
        (("INFO: flashinfer.jit: Loading JIT ops: page",), "likely"),
        ((BEGIN, WITHIN.format(FILES[0])), "likely"),
        ((BEGIN, ELSEWHERE), "possible"),
    ],
)
def test_how_sure_it_is_that_a_start_failed_of_what_is_foreseen(lines: tuple[str, ...], certainty: str) -> None:
    root = diagnose(journal(*lines), FAILED, TOO_OLD).root
    assert (root.id, root.certainty) == ("nvcc-too-old", certainty)


def test_what_is_foreseen_of_a_start_that_did_not_fail_is_likely() -> None:
    lines = journal("Loading safetensors checkpoint shards: 40% Completed")
    assert diagnose(lines, UnitState(active_state="inactive", result="success"), TOO_OLD).root.certainty == "likely"
