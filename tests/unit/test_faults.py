"""Mistakes in a unit's environment: what is found, at which line, and what to write instead."""

from __future__ import annotations

import pytest

from remedy.unit.faults import mistakes
from remedy.unit.launch import launch
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Fault
from tests.memory import MemoryView

UNIT = "/etc/systemd/system/s.service"
USUAL = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def found(*lines: str, file: str = "", exec_start: str = "/venv/bin/python3") -> tuple[Fault, ...]:
    files = {
        UNIT: "\n".join(["[Service]", f"ExecStart={exec_start}", *lines, ""]),
        "/etc/default/s": file,
        "/etc/passwd": "llm:x:1001:1001::/srv/llm:/bin/bash\n",
        "/opt/s.sh": "#!/bin/sh\nexport CUDA_HOME=/x\nexec /venv/bin/python3\n",
    }
    view = MemoryView(files, programs=("/venv/bin/python3", "/opt/s.sh"))
    service = load("s.service", view, manager_from(view, 252))
    return mistakes(service, launch(service, view), view)


@pytest.mark.parametrize(
    ("lines", "kind", "line", "mend"),
    [
        (["Environment=PATH=$VIRTUAL_ENV/bin:$PATH", "Environment=VIRTUAL_ENV=/venv"],
         "environment-literal-variable", 3, f"write Environment=PATH=/venv/bin:{USUAL}"),
        (["Environment=LD_LIBRARY_PATH=${CUDA_HOME}/lib64:$LD_LIBRARY_PATH CUDA_HOME=/c"],
         "environment-literal-variable", 3, "write Environment=LD_LIBRARY_PATH=/c/lib64"),
        (["User=llm", "Environment=HF_HOME=$HOME/hf"], "environment-literal-variable", 4,
         "write Environment=HF_HOME=/srv/llm/hf"),
        (["User=llm", "Environment=HF_HOME=~/hf"], "environment-tilde", 4, "write Environment=HF_HOME=/srv/llm/hf"),
        (["Environment=A=1 PATH=/bin:~/bin"], "environment-tilde", 3, "write Environment=PATH=/bin:/root/bin"),
        (["Environment=\"CUDA_HOME='/usr/local/cuda'\""], "environment-quoting", 3,
         "write Environment=CUDA_HOME=/usr/local/cuda"),
        (["Environment=CUDA_HOME=:/usr/local/cuda"], "environment-empty-entry", 3,
         "write Environment=CUDA_HOME=/usr/local/cuda"),
        (["Environment=CUDA_HOME=/usr/local/cuda:"], "environment-empty-entry", 3,
         "write Environment=CUDA_HOME=/usr/local/cuda"),
        (["User=llm", "Environment=HF_HOME=%h/hf"], "home-specifier", 4, "write /srv/llm instead of %h"),
        (["Environment=PATH=/bin::/usr/bin"], "environment-empty-entry", 3, "write Environment=PATH=/bin:/usr/bin"),
        (["User=llm", "WorkingDirectory=%h"], "home-specifier", 4, "write /srv/llm instead of %h"),
    ],
)  # fmt: skip
def test_unit(lines: list[str], kind: str, line: int, mend: str) -> None:
    faults = found(*lines)
    assert [(fault.kind, str(fault.place), fault.mend) for fault in faults] == [(kind, f"{UNIT}:{line}", mend)]


@pytest.mark.parametrize(
    ("file", "kind", "line", "mend"),
    [
        ("A=1\nPATH=/venv/bin:$PATH\n", "environment-literal-variable", 2, f"write PATH=/venv/bin:{USUAL}"),
        ("CUDA_HOME=/c # new\n", "environment-quoting", 1, "write CUDA_HOME=/c"),
        ("PATH=/a:'/b'\n", "environment-quoting", 1, "write PATH=/a:/b"),
        ("CUDA_HOME=/c;\n", "environment-empty-entry", 1, "write CUDA_HOME=/c"),
        ("HF_HOME=~/x\n", "environment-tilde", 1, "write HF_HOME=/root/x"),
    ],
)
def test_environment_file(file: str, kind: str, line: int, mend: str) -> None:
    faults = found("EnvironmentFile=/etc/default/s", file=file)
    assert [(fault.kind, str(fault.place), fault.mend) for fault in faults] == [(kind, f"/etc/default/s:{line}", mend)]


@pytest.mark.parametrize(
    "lines",
    [
        ["Environment=PASSWORD=pa$HOME'x", 'Environment=JSON=\'{"a": "b"}\''],
        ["Environment=PRICE=$5 REGEX=^a$ A=x~/y"],
        ["Environment=PATH=/bin:/usr/bin CUDA_PATH=/usr/local/cuda"],
        ["Environment=HF_HOME=%h/hf"],
        ["User=llm", "Environment=A=%%h"],
        ["Environment=PATH=$PATH:/x", "Environment=PATH=/bin"],
        ["Environment=EMPTY= PYTHONPATH="],
    ],
)
def test_nothing_wrong(lines: list[str]) -> None:
    assert found(*lines) == ()


def test_all_that_is_wrong_with_a_value_has_one_mend() -> None:
    faults = found("Environment=\"PATH='~/bin:$HOME/x:$PATH'\"", "User=llm")
    assert {fault.kind for fault in faults} == {
        "environment-quoting", "environment-literal-variable", "environment-tilde"
    }  # fmt: skip
    assert {fault.meant for fault in faults} == {f"/srv/llm/bin:/srv/llm/x:{USUAL}"}
    assert {fault.variable for fault in faults} == {"PATH"}


def test_a_script_that_sets_it_anew() -> None:
    assert found("Environment=CUDA_HOME=$HOME/cuda", exec_start="/opt/s.sh") == ()


def test_shell_syntax() -> None:
    faults = found(exec_start="/venv/bin/python3 -m a >> /var/log/x 2>&1")
    assert [fault.kind for fault in faults] == ["exec-shell-syntax"]
    assert found(exec_start="/bin/sh -c 'exec /venv/bin/python3 > x'") == ()
