"""The whole road on a booted machine: the story's unit mended, mended again, undone, and a mend that fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.machine import Machine

pytestmark = pytest.mark.machine

UNIT = "sglang-k26.service"
FAULT = """[Service]
Environment="LAB_SERVER_ARGS=--fail-after 1 'CUDA error: an illegal memory access was encountered'"
"""
SERVER = "/opt/venv/bin/python3 /opt/sglang/launch_server.py --model-path /models/Qwen3 --port 8123"

# Everything that a change may touch, told in bytes, modes and owners.
STATE = f"""
stat -c '%n %a %U:%G %s' /etc/systemd/system/{UNIT}; sha256sum /etc/systemd/system/{UNIT}
ls -A /etc/systemd/system; dpkg-query -W -f '${{Package}} ${{Version}} ${{db:Status-Abbrev}}\\n'
update-alternatives --query cuda | grep -E '^(Status|Value)'; ls -l /usr/local
systemctl is-active {UNIT}
"""


def state(machine: Machine) -> str:
    return machine.exec(["bash", "-c", STATE], check=False).stdout


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture(scope="module")
def broken(machine: Machine) -> Machine:
    """The machine with the story's unit tried once: its failure is in the journal."""
    machine.exec("apt-get -qq update")
    machine.exec(f"systemctl start {UNIT}")
    machine.exec(f"for i in $(seq 300); do systemctl is-failed -q {UNIT} && exit; sleep 0.2; done; exit 1")
    return machine


def test_diagnosis_names_the_root_and_its_line(broken: Machine) -> None:
    done = broken.exec(f"remedy diagnose {UNIT} --json", check=False)
    assert done.returncode == 3
    seen = json.loads(done.stdout)
    root = seen["causes"][0]
    assert (root["id"], root["root"], root["certainty"]) == ("nvcc-too-old", True, "confirmed")
    assert any("SM 12.x requires CUDA >= 12.9" in evidence["text"] for evidence in root["evidence"])
    flashinfer = next(library for library in seen["libraries"] if library["name"] == "flashinfer")
    assert (flashinfer["nvcc_version"], flashinfer["found_by"], flashinfer["satisfied"]) == ("12.8", "PATH", False)
    assert seen["caches"] and {cache["owner"] for cache in seen["caches"]} == {"root"}
    text = broken.exec("remedy diagnose sglang-k26", check=False).stdout
    assert f"set in\n         /etc/systemd/system/{UNIT}:16" in text
    assert "hf_ThisIsNoToken" not in text + done.stdout


def test_diagnosis_needs_no_root(broken: Machine) -> None:
    """Whoever may read the journal gets the verdict from it, though /root and its interpreter are closed to them."""
    closed = broken.exec(f"remedy diagnose {UNIT} --json", user="llm", check=False)
    seen = json.loads(closed.stdout)
    assert (closed.returncode, seen["causes"][0]["id"]) == (4, "unknown")
    assert {"journal", "interpreter"} <= {missing["fact"] for missing in seen["missing_facts"]}
    broken.exec("usermod -aG systemd-journal llm")
    done = broken.exec(f"remedy diagnose {UNIT} --json", user="llm", check=False)
    assert (done.returncode, json.loads(done.stdout)["causes"][0]["id"]) == (3, "nvcc-too-old")


def test_a_dry_run_changes_nothing(broken: Machine) -> None:
    before = state(broken)
    done = broken.exec(f"remedy fix {UNIT} --dry-run", check=False)
    assert done.returncode == 3
    assert "+Environment=CUDA_HOME=/usr/local/cuda-13.0" in done.stdout
    assert "cuda-nvcc-13-0 " in done.stdout and "libcurand-dev-13-0 " in done.stdout
    assert state(broken) == before


def test_a_mend_without_a_yes_is_refused(broken: Machine) -> None:
    before = state(broken)
    done = broken.exec(f"remedy fix {UNIT}", check=False)
    assert done.returncode == 7
    assert "--yes" in done.stderr
    done = broken.exec(f"remedy fix {UNIT} --yes", user="llm", check=False)
    assert done.returncode == 7
    assert "root" in done.stderr
    assert state(broken) == before


def test_mended_then_nothing_to_do_then_undone(broken: Machine) -> None:
    before = state(broken)
    done = broken.exec(f"remedy fix {UNIT} --yes --json", check=False, timeout=580)
    told = events(done.stdout)
    assert (done.returncode, told[-1]["outcome"]) == (0, "healthy"), done.stdout[-3000:] + done.stderr
    assert [event["event"] for event in told if event["event"] in ("plan", "verdict", "result")] == [
        "plan",
        "verdict",
        "result",
    ]
    assert broken.exec("cat /var/log/journal/*/*.journal | grep -c ThisIsNoToken", check=False).stdout.strip() == "0"
    unit = broken.read(f"/etc/systemd/system/{UNIT}").decode()
    assert "Environment=FLASHINFER_CUDA_ARCH_LIST=12.0f" in unit
    health = broken.exec(
        "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:30000/health\").status)'"
    )
    assert health.stdout.strip() == "200"

    again = broken.exec(f"remedy fix {UNIT} --yes --json", check=False)
    assert (again.returncode, events(again.stdout)[-1]["outcome"]) == (0, "nothing-to-do")
    assert broken.read(f"/etc/systemd/system/{UNIT}").decode() == unit

    verdict = next(event for event in told if event["event"] == "verdict")
    assert verdict["state"] == "healthy" and "/health answers" in verdict["reason"]
    history = broken.exec("remedy history --json").stdout
    assert [event["outcome"] for event in events(history)] == ["healthy"]
    undone = broken.exec("remedy rollback --yes", check=False)
    assert undone.returncode == 0, undone.stdout + undone.stderr
    # A failed unit that was reset can't be made to have failed: it is stopped, as it was.
    assert state(broken).replace("inactive", "failed") == before


def test_a_start_that_fails_is_rolled_back(broken: Machine) -> None:
    broken.exec(f"mkdir -p /etc/systemd/system/{UNIT}.d")
    broken.write(f"/etc/systemd/system/{UNIT}.d/10-fault.conf", FAULT)
    broken.exec("systemctl daemon-reload")
    before = state(broken)
    done = broken.exec(f"remedy fix {UNIT} --yes --no-prove --no-prewarm --json", check=False, timeout=300)
    result = events(done.stdout)[-1]
    assert (done.returncode, result["outcome"], result["exit"]) == (5, "rolled-back", 5)
    assert state(broken) == before
    folder = f"/var/lib/remedy/transactions/{result['transaction']}"
    assert "illegal memory access" in broken.read(f"{folder}/evidence/journal.log").decode()
    assert "illegal memory access" in broken.read(f"{folder}/evidence/diagnosis.json").decode()
    assert broken.exec(f"stat -c %a {folder} /var/lib/remedy").stdout.split() == ["700", "700"]
    broken.exec(f"rm -r /etc/systemd/system/{UNIT}.d; systemctl daemon-reload")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("diagnose nosuch", 2, "there is no unit nosuch.service"),
        ("diagnose sglang-k62", 2, "did you mean sglang-k26.service"),
        ("diagnose dbus.socket", 2, "not a service"),
        ("diagnose '../../etc/passwd'", 2, "is a path"),
        ("fix masked --yes", 7, "is masked"),
        ("diagnose sglang-k26 --snapshot /nosuch", 2, "/nosuch"),
        ("diagnose sglang-k26 --snapshot /etc/passwd", 2, "/etc/passwd"),
        ("rollback nosuch --yes", 2, "there is no transaction nosuch"),
        ("explain nosuch", 2, "nosuch"),
        ("show", 2, "Missing argument"),
        ("fix sglang-k26 --edit=sideways", 2, "sideways"),
    ],
)
def test_bad_input_gets_one_clear_line(broken: Machine, arguments: str, code: int, said: str) -> None:
    broken.exec("ln -sf /dev/null /etc/systemd/system/masked.service")
    done = broken.exec(["bash", "-c", f"remedy {arguments}"], check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


SHAPE = "/etc/systemd/system/shape.service"
OLD = "/usr/local/cuda-12.8"
SHAPES = {
    "environment file": {
        SHAPE: f"[Service]\nUser=llm\nEnvironmentFile=/etc/default/shape\nExecStart={SERVER}\n",
        "/etc/default/shape": f'A="x"\nCUDA_HOME="{OLD}"\nPATH={OLD}/bin:/usr/bin:/bin\n',
    },
    "drop-in": {
        SHAPE: f"[Service]\nUser=llm\nEnvironment=CUDA_HOME=/opt/none\nExecStart={SERVER}\n",
        f"{SHAPE}.d/90-cuda.conf": f"[Service]\nEnvironment=CUDA_HOME={OLD}\n",
    },
    "one quoted line": {
        SHAPE: f'[Service]\nUser=llm\nEnvironment="A=b c" "PATH={OLD}/bin:/opt/venv/bin:/usr/bin:/bin" '
        f"\"CUDA_HOME={OLD}\" 'X=y'\nExecStart={SERVER}\n"
    },
    "no nvcc on PATH": {SHAPE: f"[Service]\nUser=llm\nExecStart={SERVER}\n"},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_other_shapes_of_units(broken: Machine, shape: str) -> None:
    broken.exec("rm -rf /etc/systemd/system/shape.service* /etc/default/shape")
    for path, text in SHAPES[shape].items():
        broken.exec(f"mkdir -p $(dirname {path})")
        broken.write(path, text)
    broken.exec("systemctl daemon-reload")
    done = broken.exec("remedy fix shape --yes --json --keep-packages", check=False, timeout=580)
    assert (done.returncode, events(done.stdout)[-1]["outcome"]) == (0, "healthy"), done.stdout[-3000:] + done.stderr
    pid = broken.exec("systemctl show -p MainPID --value shape").stdout.strip()
    environment = broken.exec(["cat", f"/proc/{pid}/environ"]).stdout.split("\0")
    assert "CUDA_HOME=/usr/local/cuda-13.0" in environment
    assert next(one for one in environment if one.startswith("PATH=")).startswith("PATH=/usr/local/cuda-13.0/bin:")
    again = broken.exec("remedy fix shape --yes --json", check=False)
    assert (again.returncode, events(again.stdout)[-1]["outcome"]) == (0, "nothing-to-do")
    broken.exec("systemctl stop shape; rm -rf /var/lib/llm/.cache/flashinfer")
