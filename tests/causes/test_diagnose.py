"""A unit's snapshot to a diagnosis: journal, unit, systemd and jit/ together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from remedy.causes import engine, facts_file
from remedy.causes.types import Diagnosis
from remedy.facts.types import Dist, Driver, Gpu, Interpreter, LogLine, Snapshot, Toolkit, UnitState
from remedy.jit.types import Problem, Resolution
from remedy.unit.types import Fault, Launch, Place, Service, Setting, Variable

SM75 = "RuntimeError: FlashInfer requires GPUs with sm75 or higher"
TOO_OLD = Problem("nvcc-too-old", "FlashInfer 0.6.8 takes nvcc 12.8 from PATH; GPU 12.0 needs 12.9")
FAILED = UnitState(active_state="failed", result="exit-code", exec_main_code=1, exec_main_status=1, invocation="b")
ACTIVE = UnitState(active_state="active", sub_state="running", result="success", invocation="b")

SERVICE = Service(name="sglang.service", load_state="loaded", environment={})
LAUNCH = Launch(
    argv=("python3",),
    interpreter="/srv/venv/bin/python3",
    environment={"CUDA_HOME": Variable("CUDA_HOME", "/usr/local/cuda-12.8", Place("/etc/default/sglang", 3))},
)


def journal(*texts: str, invocation: str = "b") -> tuple[LogLine, ...]:
    return tuple(
        LogLine(text, realtime=1_777_716_663_000_000, identifier="sglang", pid=8812, invocation=invocation)
        for text in texts
    )


def flashinfer(*problems: Problem) -> Resolution:
    return Resolution(
        "flashinfer",
        "0.6.8.post1",
        toolkit="/usr/local/cuda-12.8",
        found_by="CUDA_HOME",
        variable="CUDA_HOME",
        nvcc_version=(12, 8),
        problems=problems,
    )


def diagnose(
    lines: tuple[LogLine, ...] = (),
    state: UnitState | None = FAILED,
    *problems: Problem,
    service: Service = SERVICE,
    **facts: Any,
) -> Diagnosis:
    snapshot = Snapshot(
        gpus=(Gpu(0, "RTX PRO 6000", (12, 0), None, "nvidia-smi"),),
        toolkits=(
            Toolkit(
                "/usr/local/cuda-12.8", "/usr/local/cuda-12.8/bin/nvcc", (12, 8), (12, 8), frozenset(), "apt", "/x"
            ),
        ),
        journal=lines,
        state=state,
        **facts,
    )
    return engine.diagnose(service, LAUNCH, snapshot, [flashinfer(*problems)])


def test_log_and_foresight_agree() -> None:
    root = diagnose(journal(SM75), FAILED, TOO_OLD).root
    assert (root.id, root.certainty, root.mendable, root.toolchain) == ("nvcc-too-old", "confirmed", True, True)
    assert root.libraries == ("flashinfer",)
    assert root.evidence[0].source == "journal 2026-05-02T10:11:03Z sglang[8812]"
    assert any(evidence.text == TOO_OLD.text for evidence in root.evidence)


def test_what_the_log_says_of_a_gpu_that_is_not_known_stands() -> None:
    bare = Problem("nvcc-not-found", "FlashInfer 0.6.8 needs nvvm/bin/cicc beside nvcc")
    floor = "Failed to get device capability: SM 12.x requires CUDA >= 12.9."
    snapshot = Snapshot(
        toolkits=(
            Toolkit(
                "/usr/local/cuda-12.8", "/usr/local/cuda-12.8/bin/nvcc", (12, 8), (12, 8), frozenset(), "apt", "/x"
            ),
        ),
        journal=journal(floor, SM75),
        state=FAILED,
    )
    found = engine.diagnose(SERVICE, LAUNCH, snapshot, [flashinfer(bare)])
    assert (found.root.id, found.root.certainty) == ("nvcc-too-old", "confirmed")
    assert [cause.id for cause in found.findings[1:]] == ["nvcc-not-found"]


def test_foresight_alone_is_likely() -> None:
    root = diagnose((), UnitState(active_state="inactive"), TOO_OLD).root
    assert (root.id, root.certainty, root.summary) == ("nvcc-too-old", "likely", TOO_OLD.text)


def test_an_ambiguous_line_is_decided_by_foresight() -> None:
    missing = Problem("cuda-headers-missing", "the toolkit has no curand.h")
    root = diagnose(journal("ninja: build stopped: subcommand failed."), FAILED, missing).root
    assert root.id == "cuda-headers-missing" and root.evidence[0].kind == "log"


def test_a_running_unit_is_healthy_and_the_waiting_fault_named() -> None:
    found = diagnose(journal("INFO: Application startup complete."), ACTIVE, TOO_OLD)
    assert [(finding.id, finding.root, finding.certainty) for finding in found.findings] == [
        ("healthy", True, "likely"),
        ("nvcc-too-old", False, "possible"),
    ]


def test_a_start_under_way_is_judged_by_what_awaits_it() -> None:
    """Type=simple is active while the weights load; a service that is up for long has built what it needs."""
    loading = replace(ACTIVE, active_for=120.0)
    assert diagnose((), loading, TOO_OLD).root.id == "nvcc-too-old"
    assert diagnose((), replace(ACTIVE, active_for=86400.0), TOO_OLD).root.id == "healthy"
    assert diagnose((), loading).root.id == "healthy"


def test_active_is_no_proof_where_it_failed_after_the_start() -> None:
    assert diagnose(journal("torch.OutOfMemoryError: CUDA out of memory."), ACTIVE).root.id == "gpu-out-of-memory"


def test_a_harmless_problem_is_not_the_root() -> None:
    unused = Problem("ninja-missing", "CuPy would want ninja", fatal=False)
    assert diagnose(journal("ValueError: odd"), FAILED, unused).root.id == "unknown"


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
        (KILLED, ["INFO: Loading JIT ops: page"], "nvcc-too-old"),
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


def test_what_was_mended_since_is_only_possible() -> None:
    root = diagnose(journal("RuntimeError: SM 12.x requires CUDA >= 12.9", SM75), FAILED).root
    assert (root.id, root.certainty) == ("nvcc-too-old", "possible")
    assert "changed since" in root.evidence[-1].text


def test_an_earlier_invocation_explains_the_last() -> None:
    lines = (
        *journal("torch.OutOfMemoryError: CUDA out of memory.", invocation="a"),
        *journal("[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use"),
    )
    found = diagnose(lines)
    assert [finding.id for finding in found.findings] == ["gpu-out-of-memory", "port-in-use"]


def test_an_earlier_invocation_is_history_where_the_last_says_enough() -> None:
    lines = (*journal("CUDA out of memory", invocation="a"), *journal("ModuleNotFoundError: No module named 'sglang'"))
    assert [finding.id for finding in diagnose(lines).findings] == ["python-package-missing"]


@pytest.mark.parametrize(
    ("status", "cause"),
    [(203, "exec-failed"), (200, "working-directory-missing"), (217, "user-unknown"), (226, "sandbox-denied")],
)
def test_exit_statuses_of_systemd(status: int, cause: str) -> None:
    state = UnitState(active_state="failed", result="exit-code", exec_main_code=1, exec_main_status=status)
    root = diagnose((), state).root
    assert root.id == cause and str(status) in root.evidence[0].text


@pytest.mark.parametrize(
    ("result", "cause"),
    [("oom-kill", "oom-killed"), ("timeout", "start-timeout"), ("start-limit-hit", "start-limit-hit")],
)
def test_results_of_systemd(result: str, cause: str) -> None:
    assert diagnose((), UnitState(active_state="failed", result=result)).root.id == cause


def test_a_refused_start_is_never_the_root_of_a_known_fault() -> None:
    found = diagnose((), UnitState(active_state="failed", result="start-limit-hit"), TOO_OLD)
    assert [finding.id for finding in found.findings] == ["nvcc-too-old", "start-limit-hit"]


@pytest.mark.parametrize(
    ("service", "cause"),
    [
        (Service("x.service", "masked"), "unit-invalid"),
        (Service("x.service", "bad-setting", faults=(Fault("bad-setting", "no", Place("/u", 1)),)), "unit-invalid"),
        (
            Service("x.service", "loaded", faults=(Fault("environment-file-missing", "no", Place("/u", 4)),)),
            "environment-file-missing",
        ),
        (
            Service("x.service", "loaded", faults=(Fault("user-unknown", "no", Place("/u", 4)),)),
            "user-unknown",
        ),
        # systemd ignores the line, or does without the file, and starts the service.
        (
            Service(
                "x.service", "loaded", environment={}, faults=(Fault("bad-setting", "is ignored", Place("/u", 1)),)
            ),
            "unknown",
        ),
        (
            Service(
                "x.service",
                "loaded",
                environment={},
                faults=(Fault("environment-file-unreadable", "bad", Place("/u", 1)),),
            ),
            "unknown",
        ),
    ],
)
def test_faults_of_the_unit(service: Service, cause: str) -> None:
    result = "exit-code" if cause == "user-unknown" else "resources"
    root = diagnose((), UnitState(active_state="failed", result=result), service=service).root
    assert root.id == cause
    assert not service.faults or cause == "unknown" or root.summary == "no, so systemd starts nothing."


def test_a_literal_variable_in_the_unit_is_named_with_its_line() -> None:
    fault = Fault("environment-literal-variable", "CUDA_HOME=$HOME/cuda is taken literally", Place("/etc/u.service", 9))
    service = Service("x.service", "loaded", environment={}, faults=(fault,))
    invalid = Problem("cuda-home-invalid", "CUDA_HOME is $HOME/cuda")
    found = diagnose(journal("/bin/sh: 1: $HOME/cuda/bin/nvcc: not found"), FAILED, invalid, service=service)
    assert found.root.id == "unit-environment"
    assert any(evidence.source == "/etc/u.service:9" for evidence in found.root.evidence)
    assert "cuda-home-invalid" in [finding.id for finding in found.findings]


def test_a_path_that_means_little_comes_behind_a_compiler_that_is_known_to_be_too_old() -> None:
    fault = Fault("home-specifier", "PATH=%h/bin: %h is the manager's home", Place("/etc/u.service", 9))
    service = Service("x.service", "loaded", environment={}, faults=(fault,))
    found = diagnose((), UnitState(active_state="inactive"), TOO_OLD, service=service)
    assert [(one.id, one.certainty) for one in found.findings] == [
        ("nvcc-too-old", "likely"),
        ("unit-environment", "possible"),
    ]


def test_driver_parts_that_differ() -> None:
    root = diagnose(
        journal("RuntimeError: No CUDA GPUs are available"),
        FAILED,
        driver=Driver("580.95.05", "570.133.20", None, "/proc"),
    ).root
    assert root.id == "driver-mismatch" and root.certainty == "likely"


def test_nothing_known_of_a_failed_unit() -> None:
    found = engine.diagnose(SERVICE, None, Snapshot(state=FAILED), [])
    assert found.root.id == "unknown"


def test_an_inactive_unit_without_faults() -> None:
    interpreter = Interpreter("/p", "/", None, (), {})
    assert diagnose((), UnitState(active_state="inactive"), interpreter=interpreter).root.id == "healthy"


def test_a_unit_in_a_restart_loop_is_not_starting_well() -> None:
    looping = UnitState(active_state="activating", sub_state="auto-restart", result="exit-code")
    assert diagnose((), looping).root.id == "unknown"
    assert diagnose((), UnitState(active_state="activating", sub_state="start", result="success")).root.id == "healthy"


def test_the_sandbox_setting_behind_a_refusal_is_named() -> None:
    setting = Setting("Service", "ProtectHome", "yes", Place("/etc/systemd/system/x.service", 7), 7)
    service = Service("x.service", "loaded", environment={}, settings=(setting,))
    root = diagnose(journal("PermissionError: [Errno 13] Permission denied: '/home/a/models'"), service=service).root
    assert (root.id, root.certainty) == ("sandbox-denied", "confirmed")
    assert root.evidence[-1].text == "ProtectHome=yes" and root.evidence[-1].source.endswith("x.service:7")
    root = diagnose(journal("PermissionError: [Errno 13] Permission denied: '/root/.triton'"), service=service).root
    assert root.id == "jit-cache-unwritable" and root.evidence[-1].text == "ProtectHome=yes"


OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of"
READY = "The server is fired up and ready to roll!"


def restarted(state: str, seconds: float | None, *last: str) -> Diagnosis:
    """A start made by systemd after one that died of ``OUT_OF_MEMORY`` in its hundredth second."""
    first = replace(journal("Load weight begin.", invocation="a")[0], realtime=1_777_716_563_000_000)
    lines = (first, *journal(OUT_OF_MEMORY, invocation="a"), *journal("Load weight begin.", *last))
    return diagnose(lines, replace(ACTIVE, active_state=state, n_restarts=3, active_for=seconds))


@pytest.mark.parametrize(("state", "seconds"), [("active", 40.0), ("active", 110.0), ("activating", None)])
def test_a_start_after_a_failed_one_is_not_well_yet(state: str, seconds: float | None) -> None:
    root = restarted(state, seconds).root
    assert root.id == "gpu-out-of-memory"
    assert root.evidence[-1].text == "systemd restarts the service again and again (NRestarts=3)"


def test_a_start_that_lives_longer_than_the_failed_one_is_well() -> None:
    assert restarted("active", 130.0).root.id == "healthy"
    assert restarted("active", 40.0, READY).root.id == "healthy"


def test_a_start_by_hand_after_a_failed_one_has_nothing_against_it() -> None:
    lines = (*journal(OUT_OF_MEMORY, invocation="a"), *journal("Load weight begin."))
    assert diagnose(lines, replace(ACTIVE, active_for=1.0)).root.id == "healthy"


@pytest.mark.parametrize(
    ("seconds", "lines", "said"),
    [
        (12.3, (), "Nothing is wrong so far: the service is active, for 12 s now."),
        (12.3, (READY,), "Nothing is wrong: the service came up."),
        (90000.0, (), "Nothing is wrong: the service is running."),
        (None, (), "Nothing is wrong: the service is running."),
    ],
)
def test_how_sure_it_is_that_nothing_is_wrong(seconds: float | None, lines: tuple[str, ...], said: str) -> None:
    assert diagnose(journal(*lines), replace(ACTIVE, active_for=seconds)).root.summary == said


@pytest.mark.parametrize(("result", "cause"), [("success", "healthy"), ("signal", "jit-cold-start")])
def test_a_service_that_finished_its_work_waits_for_no_kernel(result: str, cause: str) -> None:
    toolkit = Toolkit("/cuda", "/cuda/bin/nvcc", (13, 0), (13, 0), frozenset(), "apt", "/x")
    dist = Dist("flashinfer-python", "0.6.8.post1", "/p")
    snapshot = Snapshot(
        gpus=(Gpu(0, "RTX PRO 6000", (12, 0), None, "nvidia-smi"),),
        toolkits=(toolkit,),
        interpreter=Interpreter("/p", "/", None, (), {"flashinfer-python": dist}, torch="2.13.0", torch_cuda="13.0"),
        journal=journal("all is done"),
        state=UnitState(active_state="inactive" if result == "success" else "failed", result=result, invocation="b"),
    )
    found = engine.diagnose(SERVICE, LAUNCH, snapshot, [replace(flashinfer(), toolkit="/cuda", nvcc_version=(13, 0))])
    assert found.root.id == cause
