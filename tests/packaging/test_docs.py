"""What is written about the code: generated files are current, the worked examples work as they stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.machine import PROJECT

DOCS = PROJECT / "docs"
#: A block that is a file: its first line names the path.
BLOCK = re.compile(r"^```python\n# (\S+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def python(*argv: str, cwd: Path = PROJECT, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=120
    )


def test_generated_files_are_current() -> None:
    done = python("scripts/docs", "--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package and of what its tests share."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "remedy", tmp_path / "remedy", ignore=ignore)
    for name in ("__init__.py", "memory.py", "jit/__init__.py", "jit/machines.py", "causes/__init__.py"):
        (tmp_path / "tests" / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(PROJECT / "tests" / name, tmp_path / "tests" / name)
    return tmp_path


@pytest.mark.parametrize("name", ["adding-a-library.md", "adding-a-cause.md"])
def test_a_worked_example_passes_its_own_tests(tree: Path, name: str) -> None:
    blocks = BLOCK.findall((DOCS / name).read_text())
    assert [path.split("/")[0] for path, _ in blocks] == ["remedy", "tests"]
    for path, text in blocks:
        assert not (tree / path).exists(), "an example must not bear a real module's name"
        (tree / path).write_text(f'"""Example."""\n{text}' if path.startswith("tests") else text)
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", blocks[1][0], cwd=tree, env={"PYTHONPATH": str(tree)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^[34] passed", done.stdout, re.MULTILINE), done.stdout
    ruff = python(
        "-m", "ruff", "check", "--config", str(PROJECT / "pyproject.toml"), *(path for path, _ in blocks), cwd=tree
    )
    assert ruff.returncode == 0, ruff.stdout


def test_the_example_of_a_cause_has_a_page(tree: Path) -> None:
    path, text = BLOCK.findall((DOCS / "adding-a-cause.md").read_text())[0]
    (tree / path).write_text(text)
    done = python("-m", "remedy", "explain", "locked-memory-limit", cwd=tree, env={"PYTHONPATH": str(tree)})
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "locked-memory-limit"), done.stderr


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_man_reads_the_manual_without_a_warning() -> None:
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(DOCS / "remedy.1")],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", ["remedy dia", "remedy explain nvcc-too-o"])
def test_the_shell_is_answered(words: str) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_REMEDY_COMPLETE": "complete_bash"}
    done = python("-m", "remedy", env=asked)
    assert done.stdout.strip() == {"d": "diagnose", "e": "nvcc-too-old"}[words.split()[1][0]]


def test_bash_takes_the_completion_file() -> None:
    file = DOCS / "completion/remedy.bash"
    done = subprocess.run(["bash", "-c", f"source {file}; complete -p remedy"], capture_output=True, text=True)
    assert done.stdout == "complete -o default -F _remedy_completion remedy\n"


def test_the_map_of_the_tree_is_the_tree() -> None:
    text = (DOCS / "architecture.md").read_text()
    named = set(re.findall(r"`((?:remedy|tests|scripts|units|docs|debian|ansible)/[\w./-]*)`", text))
    assert not [path for path in named if not (PROJECT / path).exists()], "gone"
    rooms = {f"remedy/{path.name}/" for path in (PROJECT / "remedy").iterdir() if (path / "__init__.py").is_file()}
    files = {f"remedy/{path.name}" for path in (PROJECT / "remedy").glob("[!_]*.py")}
    assert (rooms | files) - named == set(), "not on the map"


def test_every_file_that_the_readme_names_is_there() -> None:
    text = (PROJECT / "README.md").read_text()
    named = set(re.findall(r"(?:^|[\s`(])((?:scripts|units|docs|ansible)/[\w.@/-]*\w)", text))
    assert len(named) > 15 and not [path for path in named if not (PROJECT / path).exists()]
