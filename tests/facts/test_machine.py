"""The collectors on a machine that is really booted: systemd, its journal, other users' rights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.machine import Machine

pytestmark = pytest.mark.machine

PYTHON = "/opt/remedy-venv/bin/python"
#: Collects the facts of a unit on the machine, and prints what the tests look at.
PROGRAM = """
import json, sys, time
from dataclasses import asdict, replace
from remedy.facts.collect import collect
from remedy.facts.files import Files
from remedy.facts.starts import last_good_start
from remedy.facts.manager import live_manager
from remedy.facts.recorded import Recording, RecordingRunner, RecordingView, ReplayRunner, ReplayView
from remedy.facts.run import Programs
from remedy.facts.snapshot_file import dump, load as load_snapshot
from remedy.show.secrets import redact
from remedy.unit.launch import launch
from remedy.unit.load import load

def look(view, runner):
    service = load(sys.argv[1], view, live_manager(view, runner))
    return collect(service, launch(service, view), view, runner)

begin = time.perf_counter()
snapshot = look(Files(), Programs())
elapsed = time.perf_counter() - begin
recording = Recording({"unit": sys.argv[1]})
live = look(RecordingView(Files(), recording, redact), RecordingRunner(Programs(), recording, redact))
text = dump(recording)
again = load_snapshot(text, "snapshot")
replay = look(ReplayView(again), ReplayRunner(again))
print(json.dumps({
    "elapsed": elapsed,
    "capabilities": snapshot.capabilities,
    "driver": asdict(snapshot.driver) if snapshot.driver else None,
    "toolkits": {kit.root: [kit.version, kit.why] for kit in snapshot.toolkits},
    "torch_cuda": snapshot.interpreter and snapshot.interpreter.torch_cuda,
    "compilers": {one.command: one.version for one in snapshot.compilers},
    "journal": [[line.text, line.from_manager, line.invocation] for line in snapshot.journal],
    "state": asdict(snapshot.state) if snapshot.state else None,
    "missing": {one.fact: one.why for one in snapshot.missing},
    "caches": {one.path: [one.writable, one.why] for one in snapshot.caches},
    "same": [name for name in ("gpus", "toolkits", "compilers", "caches", "interpreter", "host", "installed", "state")
             if getattr(live, name) == getattr(replay, name)],
    "journal_lines": [len(live.journal), len(replay.journal)],
    "snapshot": text if len(sys.argv) > 2 else "",
    "last_start": last_good_start(Programs(), sys.argv[1], ("fired up and ready to roll",), settle=2.0),
}))
"""


def facts(machine: Machine, unit: str, *more: str, user: str | None = None) -> dict[str, Any]:
    """What the collectors find."""
    found = json.loads(machine.exec([PYTHON, "-c", PROGRAM, unit, *more], user=user).stdout)
    assert isinstance(found, dict)
    return found


def write_unit(machine: Machine, name: str, lines: str) -> None:
    machine.write(f"/etc/systemd/system/{name}", f"[Service]\n{lines}\n".encode())
    machine.exec("systemctl daemon-reload")


@pytest.fixture(scope="module")
def broken(machine: Machine) -> Iterator[Machine]:
    """The machine on which the sample unit has failed to start."""
    machine.exec("systemctl start sglang-k26.service; while systemctl is-active -q sglang-k26; do sleep 0.2; done")
    yield machine


def test_the_broken_unit(broken: Machine) -> None:
    found = facts(broken, "sglang-k26.service")
    assert found["missing"] == {}
    assert found["capabilities"] == [[12, 0]] and found["driver"]["library"] == "580.95.05"
    assert found["toolkits"]["/usr/local/cuda-12.8"] == [[12, 8], None]
    assert found["torch_cuda"] == "13.0" and found["compilers"]["gcc"] == [12]
    assert (found["state"]["active_state"], found["state"]["result"]) == ("failed", "exit-code")
    texts = [text for text, _, _ in found["journal"]]
    assert any("SM 12.x requires CUDA >= 12.9" in text for text in texts)
    assert any("FlashInfer requires GPUs with sm75 or higher" in text for text in texts)
    managers = [text for text, from_manager, _ in found["journal"] if from_manager]
    assert managers[0].startswith("Started sglang-k26.service") and any(
        "Failed with result" in text for text in managers
    )
    assert {invocation for _, _, invocation in found["journal"]} == {found["state"]["invocation"]}
    # Twenty to thirty milliseconds on a machine that is otherwise idle.
    assert found["elapsed"] < 1.0


def test_a_snapshot_says_the_same_and_holds_no_secret(broken: Machine) -> None:
    found = facts(broken, "sglang-k26.service", "with the snapshot")
    assert len(found["same"]) == 8
    assert found["journal_lines"][0] == found["journal_lines"][1] > 10
    assert "hf_ThisIsNoToken" not in found["snapshot"] and "HF_TOKEN" in found["snapshot"]
    assert len(found["snapshot"]) < 400_000


def test_anyone_may_look_and_hears_what_is_missing(broken: Machine) -> None:
    found = facts(broken, "sglang-k26.service", user="llm")
    assert found["capabilities"] == [[12, 0]] and found["toolkits"]["/usr/local/cuda-12.8"][0] == [12, 8]
    assert found["state"]["active_state"] == "failed"
    assert "usermod -aG systemd-journal" in found["missing"]["journal"]
    assert found["journal"] == []


def test_the_group_systemd_journal_is_enough_to_read_it(broken: Machine) -> None:
    broken.exec("usermod -aG systemd-journal llm")
    found = facts(broken, "sglang-k26.service", user="llm")
    assert "journal" not in found["missing"] and len(found["journal"]) > 10


def test_root_runs_nothing_that_someone_else_can_write(machine: Machine) -> None:
    nvcc = b"#!/bin/sh\nid -u >> /tmp/ran-as\necho 'Cuda compilation tools, release 12.6, V12.6.85'\n"
    machine.write("/srv/theirs/bin/nvcc", nvcc, mode=0o755)
    machine.exec("chown -R llm: /srv/theirs; rm -f /tmp/ran-as")
    write_unit(machine, "theirs.service", "ExecStart=/bin/true\nEnvironment=CUDA_HOME=/srv/theirs\n")
    found = facts(machine, "theirs.service")
    version, why = found["toolkits"]["/srv/theirs"]
    assert version == [12, 6] and "not run with the rights of uid 0" in why
    assert machine.exec("cat /tmp/ran-as", check=False).returncode != 0
    # As the service's own user it may run.
    write_unit(machine, "theirs.service", "ExecStart=/bin/true\nUser=llm\nEnvironment=CUDA_HOME=/srv/theirs\n")
    assert facts(machine, "theirs.service")["toolkits"]["/srv/theirs"] == [[12, 6], None]
    assert set(machine.exec("cat /tmp/ran-as").stdout.split()) == {machine.exec("id -u llm").stdout.strip()}


def test_the_manager_s_warnings_on_the_unit_s_text(machine: Machine) -> None:
    write_unit(machine, "odd.service", "ExecStart=/bin/true\nEnvironment=1BAD=x\nEnvironmentFile=relative/path\n")
    machine.exec("systemctl start odd.service")
    texts = [text for text, from_manager, _ in facts(machine, "odd.service")["journal"] if from_manager]
    assert any("Invalid environment assignment" in text and "1BAD=x" in text for text in texts)
    assert any("EnvironmentFile= path is not absolute" in text for text in texts)


def test_the_length_of_the_last_good_start(machine: Machine) -> None:
    ready = "The server is fired up and ready to roll!"
    write_unit(machine, "slow.service", f"ExecStart=/bin/sh -c 'sleep 2; echo \"{ready}\"; sleep 600'\n")
    machine.exec("systemctl start slow.service; until journalctl -u slow | grep -q roll; do sleep 0.2; done")
    assert 1.5 < facts(machine, "slow.service")["last_start"] < 4
    # A start that never got ready does not count, nor one that failed as soon as it said that it was.
    machine.exec("systemctl restart slow.service; systemctl stop slow.service; journalctl --sync")
    assert 1.5 < facts(machine, "slow.service")["last_start"] < 4
    write_unit(machine, "slow.service", f"ExecStart=/bin/sh -c 'sleep 4.5; echo \"{ready}\"; exit 1'\n")
    machine.exec("systemctl start slow.service; while systemctl is-active -q slow; do sleep 0.2; done")
    machine.exec("journalctl --sync")
    assert 1.5 < facts(machine, "slow.service")["last_start"] < 4
