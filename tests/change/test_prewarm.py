"""Kernels built ahead on a booted machine: by the service's user, in its cache, and gone again with a rollback."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.layers import Root
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine

UNIT = "warm.service"
PAGE = "/var/lib/llm/.cache/flashinfer/0.6.8.post1/120f/cached_ops/page"
OLD = "/usr/local/cuda-12.8/bin"
TEXT = f"""[Service]
User=llm
Environment=PATH={OLD}:/opt/venv/bin:/usr/bin:/bin
ExecStart=/opt/venv/bin/python3 /opt/sglang/launch_server.py --model-path m --no-jit-kernel --load-seconds 0
"""
FAULT = """[Service]
Environment="LAB_SERVER_ARGS=--fail-after 0 'CUDA error: an illegal memory access was encountered'"
"""
FIX = f"remedy fix {UNIT} --yes --json --no-prove --keep-packages"
#: Shared by all tests here: the first leaves the packages, and each starts from a broken unit.
PACKAGES = "cuda-nvcc-13-0 cuda-cudart-dev-13-0 libcurand-dev-13-0 cuda-cccl-13-0 cuda-driver-dev-13-0"


@pytest.fixture(scope="module")
def broken(lab_root: Root) -> Iterator[Machine]:
    with Machine(lab_root) as machine:
        machine.exec(f"apt-get -qq update; apt-get install -y -qq {PACKAGES}")
        machine.write(f"/etc/systemd/system/{UNIT}", TEXT)
        start(machine, "failed")
        yield machine


def start(machine: Machine, state: str) -> None:
    machine.exec(f"systemctl daemon-reload; systemctl restart {UNIT}")
    wait = f"for i in $(seq 300); do [ $(systemctl is-active {UNIT}) = {state} ] && exit; sleep 0.2; done; exit 1"
    machine.exec(wait)


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def ready_after(machine: Machine) -> float:
    """Seconds from the last start to its ready line."""
    show = "systemctl show -P ExecMainStartTimestampMonotonic"
    begin = int(machine.exec(f"{show} {UNIT}").stdout)
    line = f"journalctl -u {UNIT} -o json --output-fields=MESSAGE -b -g 'ready to roll' -n 1"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        said = machine.exec(line, check=False).stdout
        at = int(json.loads(said)["__MONOTONIC_TIMESTAMP"]) if said.startswith("{") else 0
        if at > begin:
            return (at - begin) / 1e6
        time.sleep(0.2)
    raise AssertionError("never ready")


def nothing_left(machine: Machine) -> None:
    units = "systemctl list-units --all --plain --no-legend 'remedy-proof-*'"
    assert machine.exec(f"ls -A $(dirname {PAGE}) 2>/dev/null | grep -v '^tmp$'; {units}", check=False).stdout == ""
    assert machine.read(f"/etc/systemd/system/{UNIT}").decode() == TEXT


def test_a_killed_remedy_leaves_the_old_state(broken: Machine) -> None:
    process = broken.start(["bash", "-c", FIX])
    while not broken.exec(["pgrep", "-x", "cicc"], check=False).stdout:
        assert process.poll() is None, process.communicate()
    broken.exec("pkill -KILL -f 'remedy.worker|remedy fix'", check=False)
    process.wait()
    # The change's own unit recovers as well; whoever has the lock does it.
    deadline = time.monotonic() + 60
    while (done := broken.exec("remedy recover", check=False)).returncode == 7 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert done.returncode == 0, done.stdout + done.stderr
    nothing_left(broken)


def test_what_was_built_ahead_goes_with_the_rollback(broken: Machine) -> None:
    broken.exec(f"mkdir -p /etc/systemd/system/{UNIT}.d")
    broken.write(f"/etc/systemd/system/{UNIT}.d/10-fault.conf", FAULT)
    broken.exec("systemctl daemon-reload")
    done = broken.exec(FIX, check=False, timeout=300)
    told = events(done.stdout)
    assert (done.returncode, told[-1]["outcome"]) == (5, "rolled-back"), done.stdout[-3000:] + done.stderr
    assert [one["text"] for one in told if one.get("phase") == "prewarm"][-1] == "built"
    nothing_left(broken)
    broken.exec(f"rm -r /etc/systemd/system/{UNIT}.d; systemctl daemon-reload")


def test_the_start_after_a_fix_is_a_warm_start(broken: Machine) -> None:
    """The toolkit that built the whole cache is gone, and one module of it has to be built again."""
    broken.exec("ln -s /usr/local/cuda-13.0 /opt/kit")
    text = TEXT.replace(OLD, "/opt/kit/bin").replace(" --no-jit-kernel", "")
    broken.write(
        f"/etc/systemd/system/{UNIT}", text.replace("[Service]\n", "[Service]\nEnvironment=CUDA_HOME=/opt/kit\n")
    )
    start(broken, "active")
    ready_after(broken)
    broken.exec(f"rm /opt/kit {PAGE}/*.so {PAGE}/*.o")
    start(broken, "failed")

    done = broken.exec(FIX, check=False, timeout=300)
    told = events(done.stdout)
    assert (done.returncode, told[-1]["outcome"]) == (0, "healthy"), done.stdout[-3000:] + done.stderr
    steps = [step["kind"] for step in told[0]["steps"]]
    assert steps == ["move-cache", "move-cache", "edit-file", "restart-unit"]
    prewarm = [one["text"] for one in told if one.get("phase") == "prewarm"]
    assert "page: kernels 1/3" in prewarm and prewarm[-1] == "built"
    built = [text for text in prewarm if re.fullmatch(r"\w+: built in [\d.]+ s", text)]
    assert [text.startswith(("page", "sgl_kernel_jit_add_constant")) for text in built] == [True, True], prewarm
    (kernel,) = broken.exec("ls -d /var/lib/llm/.cache/tvm-ffi/*").stdout.split()
    libraries = f"{PAGE}/page.so {kernel}/*.so"
    assert broken.exec(f"stat -c %U:%G {PAGE} {kernel} {libraries}").stdout.split() == ["llm:llm"] * 4
    # The start builds nothing: what it loads is older than the process.
    began = broken.exec(f'date -d "$(systemctl show -P ExecMainStartTimestamp {UNIT})" +%s').stdout
    times = broken.exec(f"stat -c %Y {libraries}").stdout.split()
    assert all(int(one) <= int(began) for one in times), (times, began)
    first = ready_after(broken)
    start(broken, "active")
    again = ready_after(broken)
    assert first < 2 * again + 1, (first, again)
