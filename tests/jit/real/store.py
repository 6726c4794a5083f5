"""Real libraries' source files, fetched once with pip and kept: ``$REMEDY_REAL_DIR``, else ``~/.cache/remedy-real``."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = Path(os.environ.get("REMEDY_REAL_DIR") or Path.home() / ".cache/remedy-real")


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """One builder at a time; the lock dies with its process."""
    ROOT.mkdir(parents=True, exist_ok=True)
    with (ROOT / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _pip(python: Path, *arguments: str) -> None:
    """Run pip; a test that can't have its library is skipped with pip's last line, not failed."""
    _fetch([str(python), "-m", "pip", "-q", "--disable-pip-version-check", *arguments], f"pip {arguments[0]}")


def _fetch(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no reason given"]
        pytest.skip(f"{name} failed: {lines[-1]}")


def python() -> Path:
    """The interpreter with the pinned requirements."""
    pins = (HERE / "requirements.txt").read_bytes()
    tag = hashlib.sha256(pins + sys.version.encode()).hexdigest()[:12]
    venv = ROOT / f"venv-{tag}"
    with _locked("venv"):
        if not (venv / "complete").exists():
            shutil.rmtree(venv, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, timeout=120)
            _pip(venv / "bin/python", "install", "--no-compile", "--no-deps", "torch==2.13.0")
            rest = [line for line in pins.decode().splitlines() if line and line[0] != "#" and "torch" not in line]
            _pip(venv / "bin/python", "install", "--no-compile", *rest)
            (venv / "complete").touch()
    return venv / "bin/python"


def installed() -> Path:
    """Where the pinned requirements themselves are installed."""
    return next((python().parent.parent / "lib").glob("python*/site-packages"))


def source(distribution: str, version: str) -> Path:
    """The Python files of one release, unpacked."""
    folder = ROOT / "src" / f"{distribution}-{version}"
    with _locked(f"{distribution}-{version}"):
        if folder.exists():
            return folder
        download = ROOT / "download" / f"{distribution}-{version}"
        shutil.rmtree(download, ignore_errors=True)
        # Isolation is off because some releases' build requirements are no longer to be had.
        wanted = f"{distribution}=={version}"
        _pip(python(), "download", "--no-deps", "--no-build-isolation", "-d", str(download), wanted)
        unpacked = folder.with_suffix(".part")
        shutil.rmtree(unpacked, ignore_errors=True)
        for archive in download.iterdir():
            _unpack(archive, unpacked)
        shutil.rmtree(download)
        unpacked.rename(folder)
    return folder


def part(distribution: str, version: str, *patterns: str) -> Path:
    """The files of one release that match, read out of its wheel where it lies: for wheels of hundreds of megabytes."""
    tag = hashlib.sha256(" ".join(patterns).encode()).hexdigest()[:8]
    folder = ROOT / "part" / f"{distribution}-{version}-{tag}"
    with _locked(f"part-{folder.name}"):
        if not folder.exists():
            unpacked = folder.with_suffix(".part")
            shutil.rmtree(unpacked, ignore_errors=True)
            command = [str(python()), str(HERE / "part.py"), distribution, version, str(unpacked), *patterns]
            _fetch(command, f"reading {distribution} {version}")
            unpacked.rename(folder)
    return folder


def whole(distribution: str, version: str) -> Path:
    """One release with its programs and compiled parts, installed beside nothing else."""
    folder = ROOT / "whole" / f"{distribution}-{version}"
    with _locked(f"whole-{distribution}-{version}"):
        if not folder.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            _pip(python(), "install", "--no-deps", "--no-compile", "--target", str(part), f"{distribution}=={version}")
            part.rename(folder)
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    """Only .py files, and of a source archive those below its first folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            names = [name for name in file.namelist() if name.endswith(".py") and ".." not in name]
            file.extractall(folder, names)
        return
    with tarfile.open(archive) as file:
        for member in file.getmembers():
            inner = member.name.partition("/")[2]
            if member.isfile() and inner.endswith(".py") and ".." not in inner:
                content = file.extractfile(member)
                target = folder / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read() if content else b"")


def ask(
    probe: str,
    folder: Path,
    cases: list[dict[str, object]],
    interpreter: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[dict[str, object]]:
    """Run a probe (a file beside this one) on a release with some cases, and return an answer for each."""
    command = [str(interpreter or python()), str(HERE / probe), str(folder)]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/root", **(environment or {}), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, text=True, timeout=170, check=False, env=env
    )
    assert done.returncode == 0, f"{probe} on {folder.name}: {done.stderr[-2000:]}"
    answers: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return answers
