"""What is said of a unit that can't be looked at, or that systemd would not start at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from remedy.causes.engine import keeps_from_starting
from remedy.cli.diagnose import replayed
from remedy.errors import UsageError
from remedy.facts.recorded import Recording
from remedy.facts.run import NoRunner
from remedy.facts.snapshot_file import about, dump
from remedy.road import Machine, load_service
from remedy.unit.manager import manager_from
from tests.memory import MemoryView

PASSWD = {"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("ExecStart=/bin/true", None),
        ("ExecStart=relative/program", "unit-invalid"),
        ("ExecStart=/bin/true\nEnvironmentFile=/etc/default/none", "environment-file-missing"),
        ("ExecStart=/bin/true\nEnvironmentFile=-/etc/default/none", None),
        ("ExecStart=/bin/true\nUser=nosuch", "user-unknown"),
        # systemd ignores the line and starts the service.
        ("ExecStart=/bin/true\nEnvironment=1BAD=x", None),
    ],
)
def test_faults_of_the_unit_s_own_text(text: str, cause: str | None) -> None:
    view = MemoryView({"/etc/systemd/system/a.service": f"[Service]\n{text}\n", **PASSWD}, programs=("/bin/true",))
    machine = Machine(view, NoRunner("only read"), manager_from(view, 252))
    found = keeps_from_starting(load_service("a", machine))
    assert (found[0] if found else None) == cause


def test_a_snapshot_of_another_unit(tmp_path: Path) -> None:
    """Its own unit is the only one that was recorded: any other would seem not to exist."""
    path = tmp_path / "facts.json"
    path.write_text(dump(Recording(about=about("a", None, "1", user=False))))
    with pytest.raises(UsageError, match=r"is of a\.service, not of b\.service") as caught:
        replayed("b", str(path), None)
    assert caught.value.hint == f"remedy diagnose a --snapshot {path}"
