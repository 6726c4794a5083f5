"""Read-only places, told without writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from remedy.facts.mounts import writable
from tests.lab.machine import Machine


def test_an_ordinary_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert writable(str(tmp_path / "file"))
    assert writable(str(tmp_path / "new/folder/file"))
    assert writable(str(tmp_path))


@pytest.mark.machine
def test_a_read_only_mount(machine: Machine) -> None:
    machine.exec("mkdir -p /mnt/ro && mount -t tmpfs -o ro tmpfs /mnt/ro")
    ask = (
        "import sys; sys.path.insert(0, '/srv/remedy'); from remedy.facts.mounts import writable;"
        "print([writable(path) for path in sys.argv[1:]])"
    )
    paths = ["/mnt/ro", "/mnt/ro/new.conf", "/etc/systemd/system", "/etc/systemd/system/x.service"]
    done = machine.exec(["/opt/remedy-venv/bin/python", "-c", ask, *paths])
    assert done.stdout.strip() == "[False, False, True, True]"
