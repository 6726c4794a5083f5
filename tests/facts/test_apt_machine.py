"""apt asked for real: what it has, what it would do, and that asking leaves nothing behind."""

from __future__ import annotations

import json

import pytest

from tests.lab.machine import Machine

pytestmark = pytest.mark.machine

ASK = """
import json, sys
sys.path.insert(0, "/srv/remedy")
from remedy.facts.apt import Apt
from remedy.facts.run import Programs
apt = Apt(Programs())
known = apt.available(["cuda-nvcc-13-0", "cuda-nvcc-99-9"])
done, bad = apt.simulate(["cuda-nvcc-13-0", "libcurand-dev-13-0"]), apt.simulate(["cuda-nvcc-99-9"])
print(json.dumps([
    {name: [package.version, package.size, package.depends] for name, package in known.items()},
    [[change.name, change.version, change.download, change.installed] for change in done.changes],
    [list(done.errors), list(bad.errors)],
]))
"""
STATE = "ls -lR --time-style=full-iso /var/lib/dpkg /var/lib/apt /var/cache/apt | md5sum"


@pytest.mark.parametrize("user", ["root", "llm"])
def test_ask(machine: Machine, user: str) -> None:
    before = machine.exec(STATE).stdout
    done = machine.exec(["/opt/remedy-venv/bin/python", "-c", ASK], user=user)
    known, changes, (none, errors) = json.loads(done.stdout)
    assert list(known) == ["cuda-nvcc-13-0"]
    version, size, depends = known["cuda-nvcc-13-0"]
    assert version.startswith("13.0.") and size > 10**7 and "libnvvm-13-0" in depends
    assert none == [] and errors == ["Unable to locate package cuda-nvcc-99-9"]
    names = {name for name, *_ in changes}
    assert {"cuda-nvcc-13-0", "libcurand-dev-13-0", "libnvvm-13-0", "cuda-crt-13-0"} <= names
    assert all(download > 0 and installed > 0 for _, _, download, installed in changes)
    assert machine.exec(STATE).stdout == before
