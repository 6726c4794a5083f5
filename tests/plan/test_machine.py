"""Dry runs on a real machine: real apt, real units of many shapes; nothing changes and no root is needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.machine import Machine

pytestmark = pytest.mark.machine

UNIT = "/etc/systemd/system/shape.service"
OLD = "/usr/local/cuda-12.8"
BASE = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMMAND = "ExecStart={}/bin/python3 /opt/sglang/launch_server.py --model-path /models/m --port 30007\n"
STATE = "find /etc /var/lib/dpkg /var/cache/apt/archives /usr/local -type f -printf '%p %s %T@\\n' | sort | md5sum"


def service(*lines: str, venv: str = "/root/venv_sglang211") -> str:
    return "\n".join(["[Service]", *lines, COMMAND.format(venv)])


SHAPES: dict[str, dict[str, str]] = {
    "environment-file": {
        UNIT: service("EnvironmentFile=/etc/default/shape"),
        "/etc/default/shape": f"# CUDA\nPATH={OLD}/bin:{BASE}\nHF_TOKEN=hf_NotATokenButLooksLikeOne0000000\n",
    },
    "drop-in": {
        UNIT: service(),
        f"{UNIT}.d/cuda.conf": f"[Service]\nEnvironment=CUDA_HOME={OLD}\nEnvironment=PATH={OLD}/bin:{BASE}\n",
    },
    "one-line": {UNIT: service(f'Environment="CUDA_HOME={OLD}" "PATH={OLD}/bin:{BASE}" NCCL_DEBUG=WARN')},
    "no-nvcc-on-path": {UNIT: service(f"Environment=PATH=/root/venv_sglang211/bin:{BASE}")},
    "dev-null": {UNIT: service("Environment=CUDA_HOME=/dev/null")},
    "other-user": {
        UNIT: service("User=llm", f"Environment=PATH={OLD}/bin:/opt/venv/bin:{BASE}", venv="/opt/venv"),
    },
}


def dry_run(machine: Machine, user: str = "root") -> tuple[dict[str, Any], int]:
    done = machine.exec(["remedy", "fix", "shape", "--dry-run", "--json"], check=False, user=user)
    return json.loads(done.stdout.splitlines()[0]), done.returncode


@pytest.mark.parametrize("shape", SHAPES)
def test_the_plan_for_a_shape(machine: Machine, shape: str) -> None:
    machine.exec("rm -rf /etc/systemd/system/shape.service*")
    for path, text in SHAPES[shape].items():
        machine.write(path, text.encode())
    machine.exec("systemctl daemon-reload")
    before = machine.exec(STATE).stdout
    plan, code = dry_run(machine)
    assert code == 3 and plan["event"] == "plan" and plan["impossible"] is None
    kinds = [step["kind"] for step in plan["steps"]]
    assert kinds[0] == "install-packages" and kinds[-1] == "restart-unit" and "edit-file" in kinds
    requested = {name.partition("=")[0] for name in plan["steps"][0]["requested"]}
    assert {"cuda-nvcc-13-0", "cuda-cudart-dev-13-0", "libcurand-dev-13-0"} <= requested
    assert plan["steps"][0]["download"] > 10**8
    assert plan["wanted"]["CUDA_HOME"] == "/usr/local/cuda-13.0"
    assert plan["wanted"]["PATH"].split(":")[0] == "/usr/local/cuda-13.0/bin"
    assert plan["wanted"]["FLASHINFER_CUDA_ARCH_LIST"] == "12.0f"
    assert "hf_Not" not in json.dumps(plan)
    assert machine.exec(STATE).stdout == before


def test_anyone_may_ask(machine: Machine) -> None:
    machine.exec("rm -rf /etc/systemd/system/shape.service*")
    machine.write(UNIT, SHAPES["other-user"][UNIT].encode())
    machine.exec("systemctl daemon-reload")
    plan, code = dry_run(machine, user="llm")
    assert code == 3 and plan["toolkit"] == "/usr/local/cuda-13.0"
