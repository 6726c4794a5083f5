"""remedy's own interpreter; the package itself is bind-mounted at boot, so that it is always today's."""

from __future__ import annotations

import re
from pathlib import Path

from tests.lab import host

PYPROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def runtime_dependencies() -> tuple[str, ...]:
    """The dependencies of pyproject.toml's [project] table (read as text: tomllib came with Python 3.11)."""
    block = re.search(r"^dependencies\s*=\s*\[(.*?)\]\s*$", PYPROJECT.read_text(), re.MULTILINE | re.DOTALL)
    if block is None:
        raise ValueError(f"{PYPROJECT}: no `dependencies = [...]` in its [project] table")
    return tuple(re.findall(r'"([^"]+)"', block[1]))


def build(root: Path) -> None:
    """Make the interpreter with the runtime dependencies of pyproject.toml, and the command `remedy`."""
    with host.chroot(root):
        host.run_in(root, "python3", "-m", "venv", "/opt/remedy-venv")
        pip = ("/opt/remedy-venv/bin/python", "-m", "pip", "install", "-q")
        host.run_in(root, *pip, *runtime_dependencies())
    host.site_packages(root, Path("opt/remedy-venv")).joinpath("remedy-lab.pth").write_text(
        '/srv/remedy\nimport sys; sys.pycache_prefix = "/var/cache/remedy-pyc"\n'
    )
    (root / "srv/remedy").mkdir()
    (root / "var/cache/remedy-pyc").mkdir(mode=0o777)
    command = root / "usr/local/bin/remedy"
    command.write_text('#!/bin/sh\nexec /opt/remedy-venv/bin/python -m remedy "$@"\n')
    command.chmod(0o755)
