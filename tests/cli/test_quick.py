"""The plain forms are read as typer reads them, and everything else is left to typer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from remedy.cli import app, quick
from remedy.errors import RemedyError

PROJECT = Path(__file__).resolve().parents[2]
UNIT = (
    "[Service]\nEnvironment=CUDA_HOME=/usr/local/cuda API_KEY=abc\nExecStart=/usr/bin/python3 -m sglang.launch_server\n"
)

PLAIN = (
    "diagnose a --root {root}",
    "diagnose --root {root} a.service --json",
    "diagnose a --gpu-arch 12.0 --root {root} --json",
    "diagnose missing --root {root}",
    "diagnose a --root {root} --snapshot {root}/no",
    "diagnose a --snapshot {root}/no",
    "show a --root {root}",
    "show --json a b missing --root {root}",
    "show a --show-secrets --json --root {root} --systemd 252",
    "explain",
    "explain --json",
    "explain nvcc-too-old",
    "explain nvcc-too-old --json",
    "explain no-such-cause",
    "history no-such-change",
    "history --json no-such-change",
    "toolkits",
    "toolkits --json",
)

OTHER = (
    "",
    "--help",
    "--version",
    "diagnose",
    "diagnose --help",
    "diagnose a b",
    "diagnose a --jso",
    "diagnose a -- b",
    "diagnose a --json=yes",
    "diagnose a --root",
    "diagnose a --root --json",
    "diagnose a --gpu_arch 12.0",
    "show",
    "show a --systemd new",
    "show a --systemd 7",
    "history a b",
    "history --jso",
    "toolkits a",
    "fix a",
    "nothing a",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "etc/systemd/system"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"{name}.service").write_text(UNIT)
    return tmp_path


def outcome(run: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    try:
        code: object = run(words)
    except RemedyError as error:
        code = (type(error), error.message, error.hint)
    return code, *capsys.readouterr()


@pytest.mark.parametrize("line", PLAIN)
def test_both_roads_give_the_same(line: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = line.format(root=root).split()
    fast = outcome(quick.run, words, capsys)
    assert fast[0] is not None
    assert fast == outcome(app.run, words, capsys)


@pytest.mark.parametrize("line", OTHER)
def test_what_is_not_plain_is_left_alone(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert quick.run(line.split()) is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", quick.FORMS)
def test_the_options_are_such_as_typer_has(name: str) -> None:
    """A form may lack options of the command: lines with those are left to typer."""
    form = quick.FORMS[name]
    command: Any = get_command(app.app)
    typed = {parameter.name: parameter for parameter in command.commands[name].params}
    operands = [parameter for parameter in typed.values() if parameter.param_type_name == "argument"]
    kinds = {(1, True): "one", (1, False): "maybe", (-1, True): "many"}
    assert [kinds[operand.nargs, operand.required] for operand in operands] == [form.takes] * (form.takes != "none")
    for key in (*form.flags, *form.values):
        assert typed[key].opts == [quick.spelled(key)]
        assert typed[key].is_flag == (key in form.flags)
        assert typed[key].default == (False if key in form.flags else None)


#: Each takes at least a twentieth of the time that a diagnosis has.
SLOW = ("typer", "typing", "dataclasses", "contextlib", "inspect", "pathlib", "subprocess", "importlib.metadata")


@pytest.mark.parametrize("command", ["diagnose", "show"])
def test_what_is_slow_to_import_is_not_needed(command: str, root: Path) -> None:
    code = (
        "import sys, remedy.__main__; from remedy.cli import quick; quick.run(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr)"
    )
    # Without the site module: its .pth files may import anything.
    argv = [sys.executable, "-S", "-c", code, command, "a", "--root", str(root)]
    loaded = subprocess.run(argv, capture_output=True, text=True, env={"PYTHONPATH": str(PROJECT)}).stderr.split()
    assert f"remedy.cli.{command}" in loaded
    assert not set(SLOW) & set(loaded)
