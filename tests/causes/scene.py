"""A unit as the tests of its diagnosis see it: SGLang with FlashInfer on nvcc 12.8, and a GPU that wants 12.9."""

from __future__ import annotations

from typing import Any

from remedy.causes import engine
from remedy.causes.types import Diagnosis
from remedy.facts.types import Gpu, LogLine, Snapshot, Toolkit, UnitState
from remedy.jit.types import Problem, Resolution
from remedy.unit.types import Launch, Place, Service, Variable

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
