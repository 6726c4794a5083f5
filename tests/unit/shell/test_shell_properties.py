"""No script and no command line makes the reader fail, hang or forget itself."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedy.unit.launch import launch
from remedy.unit.shell.parser import parse_shell
from remedy.unit.types import ExecCommand, Launch, Place, Service, Variable
from tests.memory import MemoryView

PIECES = [
    "if ", "then\n", "else\n", "elif ", "fi\n", "for x in ", "while ", "do\n", "done\n", "case ", " in\n", "esac\n",
    ")", "(", "{ ", "}\n", "f() ", "function g ", ";", "&&", "||", "|", "&", "\n", " ", "'", '"', "`", "$(", "${",
    "$((", "))", "[[ ", " ]]", "[ ", " ]", "<<EOF\n", "EOF\n", ">", "2>&1", "<(", "A=", "A+=(", "export ",
    "source /s ", "exec ", "eval ", "f ", "$A", "${A[@]}", "${A:-x}", "${A//a/b}", "${#A}", "$@", "~", "\\", "#", "x",
    "/bin/python3", "-f", "=", "*", "set -- ", "shift;", "return;", "break;", "unset A;", "cd ..;", "read A;",
    "conda activate x;", "true;", "false;", "!", "test ",
]  # fmt: skip
WORDS = [
    "env", "-i", "-u", "-S", "A=1", "nice", "-n", "5", "taskset", "chrt", "timeout", "sh", "-c", "exec python3 -m a",
    "uv", "run", "conda", "-p", "/x", "poetry", "pixi", "sudo", "su", "flock", "--", "-", "", "docker", "/opt/s",
    "torchrun", "-m", "python3", "mpirun", "-x", "setpriv", "--reset-env", "gosu", "$A", "${A}", "numactl", "--x=y",
    "bash", "-l",
]  # fmt: skip


def run(argv: list[str], script: str = "") -> Launch:
    view = MemoryView({"/opt/s": "#!/bin/bash\n" + script, "/s": script}, programs=("/opt/s", "/bin/python3"))
    command = ExecCommand(tuple(argv), "", argv[0], Place("/u", 1))
    environment = {"PATH": Variable("PATH", "/bin:/opt", Place("/u", 2))}
    return launch(Service("s.service", "loaded", exec_start=(command,), environment=environment), view)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_script(script: str) -> None:
    found = run(["/opt/s"], script)
    assert found.interpreter or found.unknown or found.container or found.argv


@given(st.text(max_size=60))
def test_any_text(script: str) -> None:
    body, error = parse_shell(script)
    assert error is not None or body or not script.strip() or script.lstrip()[0] in "#;&\0\\"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=10))
def test_any_command_line(argv: list[str]) -> None:
    found = run(argv)
    assert found.interpreter or found.unknown or found.container or found.argv


@pytest.mark.parametrize(
    "script",
    [
        "A=x\n" + "A=$A$A$A$A\n" * 60 + "exec python3",
        "for a in 1 2 3 4 5 6 7 8 9; do\n" * 12 + "A=$A$a\n" + "done\n" * 12,
        "f() { f; f; f; }\nf",
        "(" * 5000,
        "$(" * 5000,
        '"${A:-' * 3000,
        "if true; then\n" * 500 + "fi\n" * 500,
        "source /s\nsource /s",
        "A=" + "a" * 500000 + "\n" + 'B="${A//a/b}${A%%*b}"\n' * 50,
        "export A=1\n" * 20000,
    ],
    ids=("growth", "loops", "recursion", "parens", "substitutions", "defaults", "ifs", "itself", "patterns", "exports"),
)
def test_bounded(script: str) -> None:
    start = time.monotonic()
    run(["/opt/s"], script)
    assert time.monotonic() - start < 5
