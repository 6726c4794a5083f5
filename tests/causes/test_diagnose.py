"""A unit's snapshot to a diagnosis: journal, unit, systemd and jit/ together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remedy.causes import engine
from remedy.causes.types import Diagnosis
from remedy.facts.types import Dist, Driver, Gpu, Interpreter, Snapshot, Toolkit, UnitState
from remedy.jit.types import Problem
from remedy.unit.types import Fault, Place, Service, Setting
from tests.causes.scene import ACTIVE, FAILED, LAUNCH, SERVICE, SM75, TOO_OLD, diagnose, flashinfer, journal


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


def test_a_refused_start_shows_what_the_ones_before_failed_of() -> None:
    before = journal("ValueError: the frobnicator is bent")
    refused = "sglang.service: Start request repeated too quickly."
    after = [replace(line, invocation="later") for line in journal(refused)]
    state = replace(FAILED, invocation="later", result="start-limit-hit")
    root = diagnose((*before, *after), state).root
    assert root.id == "start-limit-hit"
    logged = [one.text for one in root.evidence if one.kind == "log"]
    assert logged == ["ValueError: the frobnicator is bent", refused]


def test_active_is_no_proof_where_it_failed_after_the_start() -> None:
    assert diagnose(journal("torch.OutOfMemoryError: CUDA out of memory."), ACTIVE).root.id == "gpu-out-of-memory"


def test_a_harmless_problem_is_not_the_root() -> None:
    unused = Problem("ninja-missing", "CuPy would want ninja", fatal=False)
    assert diagnose(journal("ValueError: odd"), FAILED, unused).root.id == "unknown"


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
