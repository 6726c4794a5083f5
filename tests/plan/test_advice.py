"""Every cause that remedy only names: nothing is planned, and the next step is one that can be typed as it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from remedy.causes import catalogue
from remedy.facts.types import Driver, UnitState
from remedy.plan.make import make
from tests.plan.cases import NEW, Scene, interpreter, machine
from tests.plan.rows import FAILED, inputs_of, log_lines
from tests.plan.test_every_mend import service

PYTHON = "/root/venv/bin/python3"
PASSWD = {"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n", "/etc/machine-id": "0" * 32 + "\n"}
OLD_DRIVER = replace(machine(NEW), driver=Driver("550.54.14", "550.54.14", (12, 4), "test"))


@dataclass(frozen=True)
class Named:
    """A service that failed of one cause, and words of the advice that only this machine's facts or log give."""

    cause: str
    log: Sequence[str]
    says: str
    scene: Scene = field(default_factory=service)
    state: UnitState = FAILED


def exited(status: int) -> UnitState:
    return replace(FAILED, exec_main_status=status)


ROWS = [
    Named("unit-invalid", (), "sglang-k26.service", Scene("[Service]\nType=simple\n", machine(NEW))),
    Named(
        "environment-file-missing",
        (),
        "create /etc/default/k26, or write EnvironmentFile=-/etc/default/k26",
        service("EnvironmentFile=/etc/default/k26"),
        replace(FAILED, result="resources"),
    ),
    Named("user-unknown", (), "useradd --system llm", service("User=llm", files=PASSWD), exited(217)),
    Named(
        "working-directory-missing",
        ("Changing to the requested working directory failed: No such file or directory",),
        "install -d -o root /srv/k26",
        service("WorkingDirectory=/srv/k26"),
        exited(200),
    ),
    Named(
        "exec-failed",
        ("sglang-k26.service: Failed at step EXEC spawning /root/venv/bin/python3: No such file or directory",),
        "ls -l /root/venv/bin/python3",
        state=exited(203),
    ),
    Named("disk-full", ("OSError: [Errno 28] No space left on device",), "df -h"),
    Named("driver-mismatch", ("Failed to initialize NVML: Driver/library version mismatch",), "systemctl reboot"),
    Named("libcuda-missing", ("OSError: libcuda.so.1: cannot open shared object file: No such file",), "ldconfig -p"),
    Named("gpu-missing", ("RuntimeError: No CUDA GPUs are available",), "nvidia-smi"),
    Named(
        "driver-too-old",
        ("The NVIDIA driver on your system is too old (found version 12040).",),
        "CUDA 13 needs 580",
        service(on=OLD_DRIVER),
    ),
    Named(
        "library-version-mismatch",
        ("RuntimeError: flashinfer-cubin version (0.6.7) does not match flashinfer version (0.6.8.post1).",),
        f"{PYTHON} -m pip check",
    ),
    Named(
        "artifact-download-failed",
        ("trtllmGen/BatchedGemmEnums.h: No such file or directory",),
        "flashinfer-cubin",
    ),
    Named("gpu-out-of-memory", ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",), "nvidia-smi"),
    Named("nccl-failure", ("torch.distributed.DistBackendError: NCCL error: unhandled system error",), "NCCL_DEBUG"),
    Named(
        "oom-killed",
        ("sglang-k26.service: A process of this unit has been killed by the OOM killer.",),
        "journalctl -k",
        state=replace(FAILED, result="oom-kill"),
    ),
    Named(
        "kernel-image-missing",
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device",),
        "torch",
        service(on=machine(NEW, python=interpreter())),
    ),
    Named(
        "python-package-conflict",
        ("ImportError: cannot import name 'AutoProcessor' from 'transformers' (/x/transformers/__init__.py)",),
        f"{PYTHON} -m pip check",
    ),
    Named(
        "python-package-missing",
        ("ModuleNotFoundError: No module named 'sgl_kernel'",),
        f"{PYTHON} -m pip install sgl_kernel",
    ),
    Named("model-access-denied", ("Cannot access gated repo for url https://huggingface.co/x",), "HF_TOKEN"),
    Named(
        "model-not-found",
        ("OSError: /models/k26 is not a local folder and is not a valid model identifier",),
        "sudo -u root ls -ld /models/k26",
    ),
    Named(
        "sandbox-denied",
        ("PermissionError: [Errno 13] Permission denied: '/srv/models/k26/config.json'",),
        "namei -l /srv/models/k26/config.json",
    ),
    Named("port-in-use", ("OSError: [Errno 98] port 30000 is already in use",), "sport = :30000"),
    Named(
        "start-limit-hit",
        ("sglang-k26.service: Start request repeated too quickly.",),
        "systemctl reset-failed sglang-k26.service",
        state=replace(FAILED, result="start-limit-hit", exec_main_code=0, exec_main_status=0),
    ),
    Named("unknown", ("ERROR: the frobnicator is out of bounds",), "journalctl -u sglang-k26.service"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cause)
def test_nothing_is_planned_and_the_next_step_is_told(row: Named) -> None:
    inputs = inputs_of(row.scene, log_lines(row.log, row.state.invocation), row.state)
    root = inputs.diagnosis.root
    assert (root.id, root.mendable) == (row.cause, False), root
    plan = make(inputs)
    assert plan.steps == () and plan.impossible == root.advice
    assert row.says in root.advice
    assert not re.search(r"\b(?:NAME|USER|UNIT|PYTHON|MODULE)\b|\{|\|\||EnvironmentFile=-…", root.advice)


def test_every_advised_cause_has_a_row() -> None:
    advised = {cause.id for cause in catalogue.causes() if cause.handling == "advise"}
    assert {row.cause for row in ROWS} == advised
