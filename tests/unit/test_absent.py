"""What a start needs and is not there: nothing is said but what is certain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remedy.facts.files import Files
from remedy.facts.run import NoRunner
from remedy.road import Machine, load_service, look
from remedy.unit.absent import absent
from remedy.unit.manager import manager_from
from tests.memory import MemoryView

FILES = {"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/opt/data": "", "/opt/old/serve": "#!/opt/gone/python\n"}
PROGRAMS = ("/bin/true", "/bin/sh")


def machine(text: str, view: MemoryView | None = None) -> Machine:
    unit = {"/etc/systemd/system/a.service": f"[Service]\n{text}\n"}
    view = view or MemoryView({**FILES, **unit}, programs=PROGRAMS, folders=("/srv", "/opt/venv/bin"))
    return Machine(view, NoRunner("only read"), manager_from(view, 252))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ExecStart=/bin/true", []),
        ("ExecStart=/opt/venv/bin/python -m x", ["/opt/venv/bin/python does not exist"]),
        ("ExecStart=/no/such/folder/python -m x", ["/no/such/folder/python does not exist"]),
        ("ExecStart=/opt/venv/bin", ["/opt/venv/bin is a directory"]),
        ("ExecStart=/opt/data", ["/opt/data is not executable"]),
        ("ExecStart=-/opt/venv/bin/python -m x", []),
        # systemd looks for it in folders of its own
        ("ExecStart=python -m x", []),
        ("ExecStart=/bin/true\nWorkingDirectory=/srv", []),
        ("ExecStart=/bin/true\nWorkingDirectory=/srv/model", ["/srv/model does not exist"]),
        ("ExecStart=/bin/true\nWorkingDirectory=/opt/data", ["/opt/data is no directory"]),
        ("ExecStart=/bin/true\nWorkingDirectory=-/srv/model", []),
        ("ExecStart=/bin/true\nWorkingDirectory=~", []),
        ("ExecStart=/bin/true\nStateDirectory=llm\nWorkingDirectory=/var/lib/llm", []),
        ("ExecStart=/bin/true\nStateDirectory=llm\nWorkingDirectory=/var/lib/llm/sub", []),
        ("ExecStart=/bin/true\nPrivateTmp=yes\nWorkingDirectory=/tmp/x", []),
        # what it sees is not what stands here, or is made before
        ("ExecStart=/opt/venv/bin/python\nRootDirectory=/srv", []),
        ("ExecStart=/opt/venv/bin/python\nBindPaths=/srv:/opt/venv", []),
        ("ExecStart=/opt/venv/bin/python\nExecStartPre=/bin/sh -c 'make venv'", []),
        ("ExecStart=/opt/venv/bin/python\n[Unit]\nConditionPathExists=/opt/venv", []),
        ("ExecStart=/opt/venv/bin/python\n[Unit]\nRequiresMountsFor=/opt/venv", []),
        ("ExecStart=/opt/venv/bin/python\n[Unit]\nBindsTo=opt-venv.mount", []),
        (
            "ExecStart=/opt/venv/bin/python\nExecStartPre=/bin/sh -c 'remedy check -- a; test $$? -ne 3'",
            ["/opt/venv/bin/python does not exist"],
        ),
    ],
)
def test_what_is_said(text: str, said: list[str]) -> None:
    here = machine(text)
    assert [fault.text for fault in absent(load_service("a", here), here.view)] == said


def test_a_script_whose_interpreter_is_gone() -> None:
    unit = "[Service]\nExecStart=/opt/old/serve\n"
    view = MemoryView({**FILES, "/etc/systemd/system/a.service": unit}, programs=("/opt/old/serve", "/bin/true"))
    here = machine("", view)
    (fault,) = absent(load_service("a", here), view)
    assert fault.text == "/opt/old/serve is a script for /opt/gone/python, which does not exist"
    assert str(fault.place) == "/etc/systemd/system/a.service:2"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_may_not_be_seen_is_not_called_absent(passable: Path) -> None:
    (passable / "etc/systemd/system").mkdir(parents=True)
    (passable / "etc/passwd").write_text(FILES["/etc/passwd"])
    (passable / "root").mkdir(mode=0o700)
    unit = "[Service]\nWorkingDirectory=/root/none\nExecStart=/root/venv/bin/python\n"
    (passable / "etc/systemd/system/a.service").write_text(unit)
    view = Files(str(passable))
    service = load_service("a", Machine(view, NoRunner("only read"), manager_from(view, 252)))
    assert len(list(absent(service, view))) == 2
    os.seteuid(54321)
    try:
        assert list(absent(service, Files(str(passable)))) == []
    finally:
        os.seteuid(0)


def test_the_diagnosis_of_a_unit_that_never_ran() -> None:
    root = look("a", machine("ExecStart=/opt/venv/bin/python -m sglang.launch_server --model x")).diagnosis.root
    assert (root.id, root.certainty, root.toolchain) == ("exec-failed", "likely", False)
    assert root.summary == "/opt/venv/bin/python does not exist: a start ends there."
    assert root.advice.startswith("/etc/systemd/system/a.service:2: write the path")
    root = look("a", machine("ExecStart=/bin/true\nWorkingDirectory=/srv/model")).diagnosis.root
    assert (root.id, root.certainty) == ("working-directory-missing", "likely")
