"""How a process of remedy's ends where its standard streams are not what they should be: one clear error, no noise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: A text that fits into a buffer, one that doesn't, one of the library that reads the command line.
TEXTS = ("explain ptxas-too-old", "show a --show-secrets --root {root}", "--help", "explain - --json")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "etc/systemd/system"
    folder.mkdir(parents=True)
    lines = "".join(f"Environment=V{number}={'x' * 100}\n" for number in range(1000))
    (folder / "a.service").write_text(f"[Service]\n{lines}ExecStart=/bin/true\n")
    return tmp_path


def shell(command: str, root: Path, **env: str) -> tuple[int, str, str]:
    """Run a command line of bash's in which ``remedy`` is the command; its exit code and both outputs."""
    function = f'set -o pipefail; remedy() {{ "{sys.executable}" -m remedy "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", function + command.format(root=root)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        env={**os.environ, **env},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    ("where", "said"),
    [(">/dev/full", "standard output can't be written: No space left"), (">&-", "standard output is closed")],
)
def test_a_result_that_is_lost_is_an_error(text: str, where: str, said: str, root: Path) -> None:
    code, _, errors = shell(f"remedy {text} {where}", root)
    message, hint = errors.splitlines()
    assert (code, message.startswith(f"remedy: {said}"), hint[:2]) == (1, True, "  ")


@pytest.mark.parametrize("text", TEXTS)
def test_a_reader_that_has_enough_is_none(text: str, root: Path) -> None:
    code, output, errors = shell(f"remedy {text} | head -c 1", root)
    # Of an empty log nothing is known: 4.
    assert (code, len(output), errors) == (4 if text.startswith("explain -") else 0, 1, "")


@pytest.mark.parametrize(
    ("command", "code"), [("remedy explain - <&- 2>&1", 4), ("remedy nosuch 2>&-", 2), ("remedy show b 2>&- <&-", 2)]
)
def test_other_streams_may_be_closed(command: str, code: int, root: Path) -> None:
    ended, output, _ = shell(command, root)
    assert (ended, "Traceback" in output) == (code, False)


def test_a_locale_without_the_characters_shows_them_escaped(root: Path) -> None:
    (root / "etc/systemd/system/a.service").write_text("[Service]\nEnvironment=A=日本\nExecStart=/bin/true\n")
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    code, output, _ = shell("remedy show a --root {root}", root, **ascii_only)
    assert (code, r"\u65e5\u672c" in output) == (0, True)
