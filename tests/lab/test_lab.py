"""The lab shows what it is for: the story's failure, with the real parts, and the real repair."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.layers import Root
from tests.lab.machine import PROJECT, Machine, MachineError

pytestmark = pytest.mark.machine

UNIT = "sglang-k26.service"
REPAIR = """\
[Service]
Environment=CUDA_HOME=/usr/local/cuda-13.0
Environment=PATH=/usr/local/cuda-13.0/bin:/root/venv_sglang211/bin:/usr/local/bin:/usr/bin:/bin
"""
#: Seconds; a compile shares two cores with whatever else runs.
START = 400.0


def log_of_this_start(machine: Machine, unit: str) -> str:
    invocation = machine.exec(["systemctl", "show", "-P", "InvocationID", unit]).stdout.strip()
    return machine.journal(unit, f"_SYSTEMD_INVOCATION_ID={invocation}")


def start(machine: Machine, unit: str, ready: str) -> tuple[bool, str]:
    """Start a unit; whether it came to the line `ready` (else it ended, or time was up), and its log."""
    machine.exec(["systemctl", "start", unit])
    deadline = time.monotonic() + START
    while time.monotonic() < deadline:
        log = log_of_this_start(machine, unit)
        if ready in log:
            return True, log
        if machine.exec(["systemctl", "is-active", unit], check=False).stdout.strip() not in {"active", "activating"}:
            return False, log_of_this_start(machine, unit)
        time.sleep(0.2)
    return False, log_of_this_start(machine, unit)


def status(machine: Machine, url: str) -> str:
    script = f"import urllib.request as u; print(u.urlopen({url!r}).status)"
    return machine.exec(["python3", "-c", script]).stdout.strip()


def test_the_story(fresh_machine: Machine) -> None:
    machine = fresh_machine

    healthy, log = start(machine, UNIT, "ready to roll")
    assert not healthy
    assert log.count("Failed to get device capability: SM 12.x requires CUDA >= 12.9.") == 2
    assert log.index("requires CUDA >= 12.9") < log.index("Load weight end") < log.index("sm75 or higher")
    assert machine.exec(["systemctl", "show", "-P", "Result", UNIT]).stdout == "exit-code\n"

    machine.exec("apt-get install -y -q cuda-nvcc-13-0")
    machine.write(f"/etc/systemd/system/{UNIT}.d/repair.conf", REPAIR)
    machine.exec(["systemctl", "daemon-reload"])
    healthy, log = start(machine, UNIT, "ready to roll")
    assert not healthy
    assert "fatal error: cuda_runtime.h: No such file or directory" in log

    machine.exec("apt-get install -y -q cuda-cudart-dev-13-0 libcurand-dev-13-0")
    healthy, log = start(machine, UNIT, "ready to roll")
    assert healthy, log
    assert status(machine, "http://127.0.0.1:30000/health") == "200"
    cached = machine.exec("find /root/.cache -name '*.so'").stdout
    assert "/flashinfer/0.6.8.post1/120f/cached_ops/page/page.so" in cached
    assert "/tvm-ffi/sgl_kernel_jit_add_constant_1_" in cached


def test_vllm_takes_its_toolkit_from_the_environment_file(machine: Machine) -> None:
    # It restarts for ever (Restart=on-failure): the first failure is what is waited for.
    failed, log = start(machine, "vllm-qwen.service", "Engine core initialization failed")
    assert failed, log
    assert "SM 12.x requires CUDA >= 12.9" in log
    machine.exec(["systemctl", "stop", "vllm-qwen.service"])


def test_server_can_fail_on_purpose(machine: Machine) -> None:
    extra = "--module none --load-seconds 0 --listen-but-unhealthy --port 30001"
    drop_in = f"[Service]\nEnvironment='LAB_SERVER_ARGS={extra}'\n"
    machine.write(f"/run/systemd/system/{UNIT}.d/break.conf", drop_in)
    machine.exec(["systemctl", "daemon-reload"])
    healthy, log = start(machine, UNIT, "ready to roll")
    assert healthy, log
    with pytest.raises(MachineError, match="HTTP Error 503"):
        status(machine, "http://127.0.0.1:30001/health")
    machine.exec(["systemctl", "stop", UNIT])


def test_usr_local_cuda_is_nvidias_alternative(machine: Machine) -> None:
    # Auto mode: the highest release wins, though only its config-common package is here.
    assert machine.exec(["readlink", "-f", "/usr/local/cuda"]).stdout == "/usr/local/cuda-13.2\n"
    simulated = machine.exec("apt-get install -s -q cuda-cudart-dev-13-0").stdout
    assert "Inst cuda-driver-dev-13-0" in simulated
    assert "Inst cuda-toolkit-13-0-config-common" in simulated


def test_commands_and_files(machine: Machine) -> None:
    assert machine.exec("pwd").stdout == "/\n"
    assert machine.exec(["id", "-un"], user="llm").stdout == "llm\n"
    assert machine.exec("echo $HOME", user="llm").stdout == "/var/lib/llm\n"
    assert machine.exec("echo $A", env={"A": "b c"}, user="llm").stdout == "b c\n"
    machine.write("/srv/new/file", b"\x00\xff", mode=0o640, owner="llm:llm")
    assert machine.read("/srv/new/file") == b"\x00\xff"
    assert machine.exec(["stat", "-c", "%a %U:%G", "/srv/new/file"]).stdout == "640 llm:llm\n"
    with pytest.raises(FileNotFoundError):
        machine.read("/srv/none")
    with pytest.raises(MachineError, match=r"exit status 3\nwhy"):
        machine.exec("echo why; exit 3")


def test_a_power_cut_leaves_the_disk(lab_root: Root) -> None:
    with Machine(lab_root) as machine:
        folder = machine.folder
        machine.exec("echo kept >/etc/kept; systemd-cat -t before echo line")
        machine.exec(["journalctl", "--sync"])
        machine.kill()
        assert not machine.running
        with pytest.raises(MachineError, match="is not running"):
            machine.exec("true")
        machine.boot()
        assert machine.read("/etc/kept") == b"kept\n"
        assert "line" in machine.exec("journalctl -t before -o cat --no-pager").stdout
        machine.reboot()
        assert machine.read("/etc/kept") == b"kept\n"
    assert not folder.exists()
    with Machine(lab_root) as other:
        assert other.exec("cat /etc/kept", check=False).returncode != 0


def test_a_power_cut_loses_what_was_not_written_out(lab_root: Root) -> None:
    with Machine(lab_root, disk="ext4") as machine:
        machine.exec("echo one >/etc/synced; sync /etc/synced; echo two >/etc/not-synced")
        machine.cut_power()
        machine.boot()
        assert machine.read("/etc/synced") == b"one\n"
        assert machine.exec("cat /etc/not-synced", check=False).stdout == ""


def test_a_killed_owner_takes_its_machine_along(lab_root: Root) -> None:
    program = (
        "import time; from tests.lab import recipe; from tests.lab.machine import Machine\n"
        "with Machine(recipe.build()) as m: print(m.folder, m.leader, flush=True); time.sleep(600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    folder, leader = owner.stdout.readline().split()
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + 10
    while Path("/proc", leader).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path("/proc", leader).exists()
    with Machine(lab_root):
        assert not Path(folder).exists()


def test_machines_side_by_side_are_apart(lab_root: Root, machine: Machine) -> None:
    listen = ["python3", "-m", "http.server", "30000", "--bind", "127.0.0.1"]
    with Machine(lab_root) as other:
        for each in (machine, other):
            each.exec(["systemd-run", "--unit=same-name", *listen])
        for each in (machine, other):
            assert each.exec(["systemctl", "is-active", "same-name"]).stdout == "active\n"
            group = each.exec(
                "cat /sys/fs/cgroup/systemd/system.slice/same-name.service/cgroup.procs"
                " || cat /sys/fs/cgroup/system.slice/same-name.service/cgroup.procs"
            ).stdout
            assert len(group.split()) == 1
    machine.exec(["systemctl", "stop", "same-name"])
