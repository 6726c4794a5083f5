"""Dry runs on a real machine: real apt, real units of many shapes; nothing changes and no root is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.machine import PROJECT, Machine

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


def test_no_unit_of_the_system_is_told_of_a_toolchain(machine: Machine) -> None:
    """Every service that systemd has loaded, on a machine whose nvcc is too old for its GPUs."""
    listed = machine.exec("systemctl list-units --type=service --all --plain --no-legend").stdout
    names = [line.split()[0] for line in listed.splitlines() if " not-found " not in line]
    own = [name for name in names if not name.startswith(("shape", "sglang", "vllm"))]
    assert len(own) > 10
    look = "for unit; do remedy diagnose $unit --json; done"
    told = machine.exec(["sh", "-c", look, "sh", *own], check=False, timeout=300).stdout
    for name, seen in zip(own, map(json.loads, told.splitlines()), strict=True):
        assert not any(cause["toolchain"] for cause in seen["causes"]), (name, seen["causes"])
        assert seen["causes"][0]["id"] in ("healthy", "unknown"), (name, seen["causes"])
    for name in own[:3]:
        done = machine.exec(["remedy", "fix", name, "--dry-run", "--json"], check=False)
        assert json.loads(done.stdout.splitlines()[0])["steps"] == [], (name, done.stdout)


def test_a_service_that_runs_is_not_restarted_without_a_word(machine: Machine) -> None:
    """It has no kernel to build, so that it runs; whoever starts it cold meets the nvcc that is too old."""
    machine.exec("rm -rf /etc/systemd/system/shape.service*; systemctl reset-failed")
    command = COMMAND.format("/root/venv_sglang211").replace("/models/m", "/models/m --module none")
    machine.write(UNIT, f"[Service]\nEnvironment=PATH={OLD}/bin:{BASE}\n{command}".encode())
    machine.exec("systemctl daemon-reload; systemctl start shape")
    machine.exec("for i in $(seq 100); do journalctl -qu shape | grep -q 'ready to roll' && exit; sleep 0.1; done")
    before = machine.exec(STATE).stdout, machine.exec("systemctl show -P MainPID shape").stdout
    for words in ("--yes", "--dry-run"):
        done = machine.exec(["remedy", "fix", "shape", words], check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "+Environment=CUDA_HOME=/usr/local/cuda-13.0" in done.stdout
        assert "shape.service runs well now" in done.stdout and "remedy fix shape.service --restart" in done.stdout
    assert (machine.exec(STATE).stdout, machine.exec("systemctl show -P MainPID shape").stdout) == before
    done = machine.exec(["remedy", "fix", "shape", "--dry-run", "--restart", "--json"], check=False)
    assert (done.returncode, json.loads(done.stdout.splitlines()[-1])["outcome"]) == (3, "planned")
    machine.exec("systemctl stop shape")


NOISE = r"""#!/bin/bash
echo 'WARNING Failed to get device capability: SM 12.x requires CUDA >= 12.9.'
echo 'RuntimeError: FlashInfer requires GPUs with sm75 or higher'
for i in {1..4000}; do echo "line $i with HF_TOKEN=hf_ThisIsNoToken00000000"; done
printf 'bytes \xff\xfe \x80, password: hunter2hunter2\nhttps://user:s3cr3tword@mirror/x\n'
head -c 40000 /dev/zero | tr '\0' x; echo ' sk-abcdefghijklmnop123456'
exit 1
"""
SECRETS = ("hf_ThisIs", "hunter2", "s3cr3tword", "sk-abcdef")


def test_a_snapshot_gives_the_same_verdict_elsewhere(machine: Machine, tmp_path: Path) -> None:
    """A start that logged more than is read at first, bytes that are no text, an environment of 300 KB, and secrets in
    all of them: diagnosed here, on a machine that has none of it."""
    machine.write("/opt/noise.sh", NOISE.encode())
    large = [f"Environment=LARGE_{number}={'v' * 500}" for number in range(600)]
    lines = ("LogRateLimitIntervalSec=0", "ExecStartPre=/opt/noise.sh", "EnvironmentFile=/etc/default/shape", *large)
    text = service(f"Environment=PATH={OLD}/bin:{BASE}", *lines).replace("30007", "30007 --api-key sk-abcdefghijklmnop")
    machine.write(UNIT, text.encode())
    machine.write("/etc/default/shape", b"API_PASSWORD='hunter2hunter2'\n")
    machine.exec("chmod 755 /opt/noise.sh; systemctl daemon-reload; systemctl start shape", check=False)
    machine.exec("for i in $(seq 100); do systemctl is-failed -q shape && exit; sleep 0.1; done; exit 1")
    live = machine.exec("remedy diagnose shape --json", check=False).stdout
    snapshot = tmp_path / "facts.json"
    snapshot.write_text(machine.exec("remedy snapshot shape").stdout)
    command = [sys.executable, "-m", "remedy", "diagnose", "shape", "--snapshot", str(snapshot), "--json"]
    there = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (there.returncode, there.stderr) == (3, "")
    assert json.loads(there.stdout) == json.loads(live)
    assert json.loads(live)["causes"][0]["id"] == "nvcc-too-old"
    assert [secret for secret in SECRETS if secret in live + snapshot.read_text()] == []
