"""What ``--host`` takes for a host and a command; the connection itself is tests/cli/test_host.py's."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from remedy.cli.app import on_host
from remedy.errors import UsageError
from remedy.remote import archive, run


@pytest.mark.parametrize(
    "host",
    [
        "",
        "-oProxyCommand=id",
        "root@-oProxyCommand=id",
        "-l",
        "a b",
        "a;id",
        "$(id)",
        "`id`",
        "a\nb",
        "root@",
        "ssh://a",
    ],
)
def test_what_is_no_host_never_reaches_ssh(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="is no host"):
        run(host, ["diagnose", "x"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "healthy"], "no command for --host"),
        (["dignose", "x"], "no command for --host"),
        (["diagnose", "x", "--snapshot", "facts.json"], "exclude each other"),
    ],
)
def test_commands_that_ask_no_machine(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run("root@gpu-1.example", arguments)


@pytest.mark.parametrize(
    ("line", "host", "rest"),
    [
        ("--host a diagnose x", "a", "diagnose x"),
        ("diagnose x --host=a --json", "a", "diagnose x --json"),
        ("diagnose --host a x", "a", "diagnose x"),
        ("diagnose -- --host a", None, "diagnose -- --host a"),
        ("diagnose --host", None, "diagnose --host"),
        ("diagnose --hosts a", None, "diagnose --hosts a"),
    ],
)
def test_where_the_host_stands(line: str, host: str | None, rest: str) -> None:
    assert on_host(line.split()) == (host, rest.split())


def test_the_archive_needs_nothing_but_python(tmp_path: Path) -> None:
    packed = archive()
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert {"remedy/remote.py", "remedy/jit/flashinfer.py", "debian/deb822.py"} <= set(names)
    assert all(name.endswith(".py") for name in names)
    (tmp_path / "remedy.zip").write_bytes(packed)
    code = "import sys; sys.path.insert(0, 'remedy.zip'); from remedy.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, "history", "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "remedy history" in done.stdout
