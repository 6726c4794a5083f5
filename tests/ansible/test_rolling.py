"""The collection under the real engine, on three machines: the second one's mend fails, the third is not touched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab.layers import Root
from tests.lab.machine import ENVIRONMENT, PROJECT, Machine
from tests.packaging import shape

pytestmark = pytest.mark.machine

#: The quickest way into a machine that Ansible knows: its local connection, whose shell is a shell in there.
SHELL = (
    '#!/bin/sh\nexec nsenter -t {leader} -a --root --wd -- env -i PATH={path} HOME=/root LC_ALL=C.UTF-8 /bin/sh "$@"\n'
)


@dataclass(frozen=True)
class Site:
    """Three machines and the folder that Ansible works in."""

    folder: Path
    machines: dict[str, Machine]

    def play(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run the collection's playbook on all machines."""
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        argv = [str(Path(sys.executable).with_name("ansible-playbook")), "remedy.toolchain.rolling", "-i", "hosts.json"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_COLLECTIONS_PATH": str(self.folder),
            "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
            "ANSIBLE_CALLBACK_TREE_DIR": str(self.folder / "results"),
            "ANSIBLE_PIPELINING": "1",
        }
        wishes = json.dumps({"remedy_unit": shape.UNIT, "remedy_become": False})
        return subprocess.run(
            [*argv, "-e", wishes, *options],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def results(self) -> dict[str, dict[str, Any]]:
        """What the module returned in the last play, by host: the tree callback keeps each host's last result."""
        return {path.name: json.loads(path.read_text()) for path in (self.folder / "results").iterdir()}


def state(machine: Machine) -> str:
    """The file that is edited, the run state, and what remedy did."""
    ask = f"stat -c '%a %U %Y' {shape.SETTINGS}; cat {shape.SETTINGS}; systemctl is-active {shape.UNIT}; remedy history"
    return machine.exec(ask, check=False).stdout


@pytest.fixture(scope="module")
def site(lab_root: Root, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("ansible")
    (folder / "ansible_collections/remedy").mkdir(parents=True)
    (folder / "ansible_collections/remedy/toolchain").symlink_to(PROJECT / "ansible")
    with contextlib.ExitStack() as stack:
        machines = {name: stack.enter_context(Machine(lab_root)) for name in ("first", "second", "third")}
        hosts = {}
        for name, machine in machines.items():
            shape.broken(machine)
            shell = folder / f"{name}.sh"
            shell.write_text(SHELL.format(leader=machine.leader, path=ENVIRONMENT["PATH"]))
            shell.chmod(0o755)
            hosts[name] = {
                "ansible_connection": "local",
                "ansible_shell_executable": str(shell),
                "ansible_python_interpreter": "/usr/bin/python3",
            }
        machines["second"].write(shape.FAULT, "")
        (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
        yield Site(folder, machines)


def test_check_mode_shows_the_edits_and_touches_nothing(site: Site) -> None:
    before = {name: state(machine) for name, machine in site.machines.items()}
    done = site.play("--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    found = site.results()
    assert {name: (one["changed"], one["outcome"]) for name, one in found.items()} == dict.fromkeys(
        site.machines, (True, "planned")
    )
    assert done.stdout.count("\n+CUDA_MODULE_LOADING=LAZY\n") == len(site.machines)
    assert "hf_ThisIsNoToken" not in done.stdout
    assert {name: state(machine) for name, machine in site.machines.items()} == before


def test_the_rollout_stops_at_the_first_rollback(site: Site) -> None:
    before = {name: state(machine) for name, machine in site.machines.items()}
    done = site.play()
    assert done.returncode == 2, done.stdout + done.stderr
    found = site.results()
    assert set(found) == {"first", "second"}
    assert (found["first"]["outcome"], found["first"]["changed"]) == ("healthy", True)
    second = found["second"]
    assert (second["outcome"], second["exit_code"], second["changed"]) == ("rolled-back", 5, False)
    assert second["msg"].startswith("rolled-back (")
    after = {name: state(machine) for name, machine in site.machines.items()}
    assert "\nactive\n" in after["first"]
    assert after["second"].split("failed\n")[0] == before["second"].split("failed\n")[0]
    assert "rolled-back" in after["second"]
    assert after["third"] == before["third"]


def test_once_more_after_the_second_is_right(site: Site) -> None:
    site.machines["second"].exec(f"rm {shape.FAULT}")
    done = site.play()
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: (one["changed"], one["outcome"]) for name, one in site.results().items()}
    assert found == {"first": (False, "nothing-to-do"), "second": (True, "healthy"), "third": (True, "healthy")}


def test_a_unit_that_is_not_there(site: Site) -> None:
    done = site.play("--limit", "first", "-e", "remedy_unit=nosuch")
    assert done.returncode == 2
    assert "there is no unit nosuch.service" in site.results()["first"]["msg"]
