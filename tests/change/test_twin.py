"""Proofs on a booted machine: real units, real sandboxes, FlashInfer, TVM-FFI, gcc and nvcc 13.0 as they are."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.jit.real import store
from tests.lab.layers import Root
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine

PROGRAM = ("/opt/remedy-venv/bin/python", "-m", "tests.change.twin_scene")
KIT = "/usr/local/cuda-13.0"
BASE = "/usr/local/bin:/usr/bin:/bin"
SECRET = "hf_NotATokenButLooksLikeOne0000000"
PACKAGES = "cuda-nvcc-13-0 cuda-cudart-dev-13-0 libcurand-dev-13-0 cuda-cccl-13-0 cuda-driver-dev-13-0"
#: Seconds: ten are promised, the rest is for a machine that does other things.
PROMISED = 20
#: What a proof leaves: units, files in memory or on disk, processes.
LEFT = """systemctl list-units --all --plain --no-legend 'remedy-proof-*'
ls /run/remedy 2>/dev/null
ls -d /tmp/remedy-proof-* /tmp/systemd-private-*/tmp/remedy-proof-* 2>/dev/null
pgrep -ax 'nvcc|cicc|ptxas|cc1plus'
true"""


@pytest.fixture(scope="module")
def machine(lab_root: Root) -> Iterator[Machine]:
    with Machine(lab_root) as booted:
        booted.exec(f"apt-get -qq update; apt-get install -y -qq {PACKAGES}")
        mix(booted)
        yield booted


def mix(machine: Machine) -> None:
    """A compiler of 13.3 with the headers and libraries of 13.0, and a gcc that says that it is of the next year."""
    for name in ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt"):
        wheel = store.whole(name, "13.3.73") / "nvidia/cu13"
        shutil.copytree(wheel, machine.disk / "opt/mixed", dirs_exist_ok=True)
    machine.exec(f"rm -rf /opt/mixed/include; ln -s {KIT}/include {KIT}/lib64 /opt/mixed/; chmod -R a+rx /opt/mixed")
    machine.write("/opt/gcc-99/gcc", '#!/bin/sh\nexec gcc -U__GNUC__ -D__GNUC__=99 "$@"\n', mode=0o755)


@pytest.fixture
def triton(machine: Machine) -> Iterator[None]:
    """Triton in the service's interpreter, all of it."""
    site = machine.disk / "root/venv_sglang211/lib/python3.11/site-packages"
    whole = store.whole("triton", "3.6.0")
    names = [folder.name for folder in whole.iterdir() if folder.name.startswith("triton")]
    for name in names:
        shutil.copytree(whole / name, site / name)
    yield
    for name in names:
        shutil.rmtree(site / name)


def unit(machine: Machine, *lines: str, venv: str = "/root/venv_sglang211", home: str = KIT, path: str = "") -> None:
    text = [
        "[Service]",
        f"Environment=CUDA_HOME={home}",
        f"Environment=PATH={path or f'{home}/bin:{venv}/bin:{BASE}'}",
        "Environment=FLASHINFER_CUDA_ARCH_LIST=12.0f",
        f"Environment=HF_TOKEN={SECRET}",
        *lines,
        f"ExecStart={venv}/bin/python3 /opt/sglang/launch_server.py --model-path m --module none",
    ]
    machine.write("/etc/systemd/system/twin.service", "\n".join(text) + "\n")
    machine.exec(["systemctl", "daemon-reload"])


def prove(machine: Machine, toolkit: str = KIT) -> dict[str, Any]:
    done = machine.exec([*PROGRAM, "twin.service", toolkit], check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_a_whole_toolkit_is_proven_and_nothing_is_left(machine: Machine) -> None:
    unit(machine)
    before = machine.exec(
        "find /root -type f -newer /etc/systemd/system/twin.service -not -path '*/__pycache__*'"
    ).stdout
    process = machine.start([*PROGRAM, "twin.service", KIT])
    seen = ""
    while process.poll() is None:
        seen += machine.exec(
            "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; systemctl show 'remedy-proof-*'", check=False
        ).stdout
        time.sleep(0.3)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    said = json.loads(out)
    assert said["why"] is None, said
    assert sorted(line.split(":")[0] for line in said["told"]) == ["flashinfer", "tvm-ffi"]
    assert "remedy-proof-" in seen and SECRET not in seen
    assert SECRET not in machine.exec("journalctl -q --no-pager -o verbose").stdout
    assert machine.exec(LEFT).stdout == ""
    after = machine.exec(
        "find /root -type f -newer /etc/systemd/system/twin.service -not -path '*/__pycache__*'"
    ).stdout
    assert after == before


REFUSED = {
    "nothing": ({"home": "/dev/null"}, (), "NotADirectoryError"),
    "the old compiler": ({"home": "/usr/local/cuda-12.8"}, (), "compute_120f"),
    "no ninja": ({"path": f"{KIT}/bin:/opt/tools"}, (), "ninja"),
    "a read-only cache": ({}, ("ReadOnlyPaths=/root/.cache",), "can't write /root/.cache/flashinfer"),
    "another compiler's headers": (
        {"home": "/opt/mixed"},
        (),
        "CUDA compiler and CUDA toolkit headers are incompatible",
    ),
    "a gcc of later": ({}, ("Environment=NVCC_CCBIN=/opt/gcc-99/gcc",), "unsupported GNU version"),
    "no home": ({}, ("ProtectHome=yes",), ""),
    "no programs": ({}, (f"NoExecPaths={KIT}",), "Permission denied"),
    "a user without rights": ({"venv": "/opt/venv"}, ("User=llm",), "can't write /var/lib/llm/.cache"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_in_seconds(machine: Machine, kind: str) -> None:
    more, lines, words = REFUSED[kind]
    tools = "for one in gcc g++ c++ cc as ld sh which ar; do ln -sf $(which $one) /opt/tools/$one; done"
    machine.exec(f"mkdir -p /opt/tools /root/.cache/flashinfer /var/lib/llm/.cache/flashinfer; {tools}")
    machine.exec("chown -R root:root /var/lib/llm/.cache")
    unit(machine, *lines, **more)
    said = prove(machine)
    assert said["why"] and words in said["why"], said
    assert said["seconds"] < PROMISED, said
    assert machine.exec(LEFT).stdout == ""


def test_a_missing_header_is_told_with_the_compiler_s_own_line(machine: Machine) -> None:
    header = f"{KIT}/targets/x86_64-linux/include/curand_kernel.h"
    unit(machine)
    machine.exec(["mv", header, f"{header}.away"])
    try:
        said = prove(machine)
    finally:
        machine.exec(["mv", f"{header}.away", header])
    assert "fatal error: curand_kernel.h: No such file or directory (cuda-headers-missing)" in said["why"], said


@pytest.mark.usefixtures("triton")
def test_triton_is_proven_as_well_and_needs_the_header_of_python(machine: Machine) -> None:
    header = "/usr/include/python3.11/Python.h"
    unit(machine)
    said = prove(machine)
    assert said["why"] is None, said
    assert sorted(line.split(":")[0] for line in said["told"]) == ["flashinfer", "triton", "tvm-ffi"]
    machine.exec(["mv", header, f"{header}.away"])
    try:
        said = prove(machine)
    finally:
        machine.exec(["mv", f"{header}.away", header])
    assert said["why"].startswith("triton: "), said
    assert "fatal error: Python.h: No such file or directory (python-headers-missing)" in said["why"], said
    assert said["seconds"] < PROMISED, said


SANDBOXES = {
    "strict": ("User=llm", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "StateDirectory=llm"),
    "a root of its own": (
        "RootDirectory=/srv/jail",
        "BindReadOnlyPaths=/usr /etc /root /opt /bin /lib /lib64 /sbin",
        "BindPaths=/root/.cache /dev/shm:/tmp",
    ),
    "a dynamic user": ("DynamicUser=yes", "CacheDirectory=twin", "Environment=HOME=/var/cache/twin"),
}


@pytest.mark.parametrize("kind", SANDBOXES)
def test_a_proof_in_the_service_s_own_sandbox(machine: Machine, kind: str) -> None:
    machine.exec("rm -rf /var/lib/llm/.cache; chown llm:llm /var/lib/llm; mkdir -p /srv/jail /root/.cache")
    unit(machine, *SANDBOXES[kind], venv="/opt/venv")
    said = prove(machine, "/usr/local/cuda-13.9" if kind == "strict" else KIT)
    # The library is right about the toolkit that it takes.
    assert said["why"] == (f"flashinfer takes {KIT}, not /usr/local/cuda-13.9" if kind == "strict" else None), said
    assert machine.exec(LEFT).stdout == ""


# The environment was in a killed remedy's memory; its unit ends when the work is done, or by RuntimeMaxSec=.
@pytest.mark.parametrize(("signal", "seconds"), [("KILL", 60), ("INT", 5)])
def test_a_proof_that_is_broken_off_leaves_nothing_behind(machine: Machine, signal: str, seconds: float) -> None:
    unit(machine)
    process = machine.start([*PROGRAM, "twin.service", KIT])
    while not machine.exec(["pgrep", "-x", "cicc|cc1plus"], check=False).stdout:
        assert process.poll() is None
    machine.exec(["pkill", f"-{signal}", "-f", "tests.change.twin_scene"])
    process.wait()
    until = time.monotonic() + seconds
    while machine.exec(LEFT).stdout and time.monotonic() < until:
        time.sleep(0.2)
    assert machine.exec(LEFT).stdout == ""


def test_a_doomed_plan_is_rolled_back_before_the_service_is_touched(lab_root: Root) -> None:
    """The packages come, but their compiler does not work here: a header of the C library is missing."""
    state = "cat /etc/systemd/system/sglang-k26.service; dpkg-query -W | sha256sum; ls -l /usr/local /etc/alternatives"
    with Machine(lab_root) as fresh:
        fresh.exec("apt-get -qq update; systemctl start sglang-k26")
        while fresh.exec("systemctl is-active sglang-k26", check=False).stdout.strip() in ("active", "activating"):
            time.sleep(0.3)
        fresh.exec("mv /usr/include/stdlib.h /usr/include/stdlib.h.away")
        before = fresh.exec(state).stdout
        invocation = fresh.exec("systemctl show -P InvocationID sglang-k26").stdout
        done = fresh.exec(["remedy", "fix", "sglang-k26", "--yes", "--json"], check=False)
        last = json.loads(done.stdout.splitlines()[-1])
        assert (done.returncode, last["outcome"]) == (7, "refused"), done.stdout[-3000:] + done.stderr
        assert "stdlib.h: No such file or directory" in last["reason"]
        assert fresh.exec(state).stdout == before
        assert fresh.exec("systemctl show -P InvocationID sglang-k26").stdout == invocation
