"""Units for programs and for people."""

from __future__ import annotations

import json

from remedy.show.unit import unit_json, unit_text
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Service
from tests.memory import MemoryView

FRAGMENT = "/etc/systemd/system/sglang.service"
VIEW = MemoryView(
    files={
        FRAGMENT: "[Service]\nUser=llm\nWorkingDirectory=-/srv/models\nEnvironment=CUDA_HOME=/a \\\n"
        "  HF_TOKEN=abcdefgh\n"
        "Environment=PATH=/usr/local/cuda-12.8/bin::/usr/bin $X\nEnvironmentFile=/etc/default/sglang\n"
        "ExecStart=-/opt/venv/bin/python3 -m sglang.launch_server --api-key s3cret --model-path '/srv/a model'\n",
        "/etc/default/sglang": "CUDA_HOME=/usr/local/cuda-12.8\nTITLE='\x1b[31mred'\n",
        "/etc/passwd": "llm:x:7:7::/home/llm:/bin/bash\n",
        "/etc/systemd/system/other.service": "[Service]\nExecStart=/bin/a\nEnvironmentFile=/gone\n",
    },
    programs=("/usr/local/cuda-12.8/bin/nvcc",),
)


def service(name: str = "sglang.service") -> Service:
    return load(name, VIEW, manager_from(VIEW, 252))


def test_json_is_the_contract() -> None:
    shown = unit_json(service())
    assert list(shown) == [
        "schema", "unit", "load_state", "fragment", "drop_ins", "user", "working_directory", "exec_start",
        "environment", "errors",
    ]  # fmt: skip
    assert (shown["schema"], shown["unit"], shown["load_state"]) == (1, "sglang.service", "loaded")
    assert (shown["fragment"], shown["drop_ins"], shown["user"]) == (FRAGMENT, [], "llm")
    assert shown["working_directory"] == "!/srv/models"
    assert shown["exec_start"][0]["prefixes"] == "-" and shown["exec_start"][0]["source"] == f"{FRAGMENT}:8"
    assert shown["environment"]["CUDA_HOME"] == {
        "value": "/usr/local/cuda-12.8", "source": "/etc/default/sglang:1", "overrides": [f"{FRAGMENT}:4"],
    }  # fmt: skip
    assert shown["environment"]["USER"] == {"value": "llm", "source": "systemd", "overrides": []}
    assert shown["errors"][0]["source"] == f"{FRAGMENT}:6"


def test_secrets_show_only_when_asked_for() -> None:
    hidden, open_ = json.dumps(unit_json(service())), json.dumps(unit_json(service(), show_secrets=True))
    for secret in ("abcdefgh", "s3cret"):
        assert secret not in hidden and secret in open_
        assert secret not in unit_text(service(), VIEW) and secret in unit_text(service(), VIEW, show_secrets=True)


def test_json_of_what_cannot_start() -> None:
    assert unit_json(service("other.service"))["environment"] is None
    gone = unit_json(service("gone.service"))
    assert (gone["load_state"], gone["fragment"], gone["exec_start"]) == ("not-found", None, [])


def test_text_reads_well() -> None:
    lines = unit_text(service(), VIEW).splitlines()
    assert lines[0] == "sglang.service: loaded"
    name = next(number for number, line in enumerate(lines) if line.startswith("  CUDA_HOME "))
    assert [line.strip() for line in lines[name : name + 3]] == [
        f"{'CUDA_HOME':11}/usr/local/cuda-12.8", "/etc/default/sglang:1", f"over {FRAGMENT}:4",
    ]  # fmt: skip
    path = next(number for number, line in enumerate(lines) if line.startswith("  PATH"))
    assert [line.strip() for line in lines[path : path + 4]] == [
        f"{'PATH':11}/usr/local/cuda-12.8/bin  <- nvcc", "(empty)", "/usr/bin", f"{FRAGMENT}:6",
    ]  # fmt: skip
    assert all(len(line) <= 80 for line in lines)
    assert "\x1b" not in "".join(lines)


def test_text_says_why_nothing_starts() -> None:
    text = unit_text(service("other.service"), VIEW)
    assert "can't be started" in text and "/gone does not exist" in text
    assert unit_text(service("gone.service"), VIEW) == "gone.service: not-found"
