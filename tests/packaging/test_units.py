"""The units that others hang into theirs: a diagnosis at the moment of failure, a preflight before the start."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from remedy.facts.reports import MESSAGE_ID
from tests.lab.machine import PROJECT, Machine

pytestmark = pytest.mark.machine

UNITS = PROJECT / "units"
UNIT = "sglang-k26.service"
PLAIN = "[Service]\nExecStart=/bin/sleep infinity\n"


def drop_in(machine: Machine, unit: str, source: Path) -> None:
    machine.write(f"/etc/systemd/system/{unit}.d/{source.name}", source.read_bytes())


@pytest.fixture(scope="module")
def failed(machine: Machine) -> Machine:
    """The story's unit with both drop-ins, started once."""
    drop_in(machine, UNIT, UNITS / "remedy-check.conf")
    drop_in(machine, UNIT, UNITS / "remedy-on-failure.conf")
    machine.exec("systemctl daemon-reload")
    begin = time.monotonic()
    machine.exec(f"systemctl start {UNIT}", check=False)
    assert time.monotonic() - begin < 8.0, "the preflight is to spare the wait"
    machine.exec(
        f"for i in $(seq 100); do journalctl -qu remedy@{UNIT}.service | grep -q 'Finished' && exit; sleep 0.1; done"
    )
    return machine


def test_a_doomed_start_ends_before_it_begins(failed: Machine) -> None:
    log = failed.journal(UNIT)
    assert "SM 12.x requires CUDA >= 12.9 (nvcc-too-old)" in log
    assert "Load weight" not in log
    assert failed.exec(["systemctl", "is-failed", UNIT]).stdout == "failed\n"


def test_the_failure_is_diagnosed_without_root(failed: Machine) -> None:
    unit = f"remedy@{UNIT}.service"
    log = failed.exec(["journalctl", "--no-pager", "-o", "json", f"_SYSTEMD_UNIT={unit}"]).stdout
    entries = [json.loads(line) for line in log.splitlines()]
    assert "cause: nvcc-too-old" in "\n".join(entry["MESSAGE"] for entry in entries)
    # systemd.exec(5), DynamicUser=: 61184 to 65519.
    assert {61184 <= int(entry["_UID"]) <= 65519 for entry in entries} == {True}
    assert failed.exec(["systemctl", "show", "-P", "Result", unit]).stdout == "success\n"


def test_the_verdict_is_in_history(failed: Machine) -> None:
    shown = failed.exec("remedy history").stdout
    assert f"{UNIT}: nvcc-too-old (" in shown
    report = json.loads(failed.exec("remedy history --json").stdout.splitlines()[-1])
    assert (report["report"], report["unit"], report["cause"]) == ("diagnosis", UNIT, "nvcc-too-old")


def test_a_verdict_that_anyone_could_write_is_not_in_history(failed: Machine) -> None:
    send = f"from systemd import journal; journal.send('x', MESSAGE_ID='{MESSAGE_ID}', "
    send += "REMEDY_UNIT='forged.service', REMEDY_CAUSE='healthy')"
    failed.exec(["/opt/remedy-venv/bin/python", "-c", send], user="llm")
    assert "forged" not in failed.exec("remedy history").stdout


@pytest.mark.parametrize("remedy", ["there", "gone", "broken"])
def test_the_preflight_stops_no_other_start(failed: Machine, remedy: str) -> None:
    failed.write("/etc/systemd/system/plain.service", PLAIN)
    drop_in(failed, "plain.service", UNITS / "remedy-check.conf")
    command = "/usr/local/bin/remedy"
    failed.exec(f"mv {command} {command}.kept" if remedy != "there" else "true")
    if remedy == "broken":
        failed.write(command, "#!/bin/sh\nexit 1\n", mode=0o755)
    try:
        failed.exec("systemctl daemon-reload; systemctl restart plain")
        assert failed.exec("systemctl is-active plain").stdout == "active\n"
    finally:
        failed.exec(f"systemctl stop plain; test ! -e {command}.kept || mv {command}.kept {command}")
