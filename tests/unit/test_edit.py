"""Edits: each row a way to write a unit, what is wanted, and exactly which lines change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from remedy.overlay import Overlaid
from remedy.unit.edit import effective, set_environment, set_setting
from remedy.unit.launch import launch
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import EditRefused, EditStyle, FileEdit, Service
from remedy.view import Stat
from tests.memory import MemoryView

NAME = "s.service"
UNIT = "/etc/systemd/system/s.service"
VENDOR = "/usr/lib/systemd/system/s.service"
DROP_IN = "/etc/systemd/system/s.service.d/50-remedy.conf"
ENV = "/etc/default/s"
HEADER = "# Written by remedy: `remedy history` tells why, `remedy rollback` takes it back.\n"
EXEC = "ExecStart=/venv/bin/python3 -m sglang.launch_server\n"
HOME = {"CUDA_HOME": "/usr/local/cuda-13.0"}
Files = dict[str, bytes | str]


class Machine:
    """A tree, its service, and what editing made of it."""

    def __init__(self, files: Files, links: Mapping[str, str] | None = None) -> None:
        passwd = "llm:x:1001:1001::/srv/llm:/bin/bash\n"
        self.view = MemoryView({"/etc/passwd": passwd, **files}, links or {}, ("/venv/bin/python3", "/opt/s.sh"))
        self.manager = manager_from(self.view, 252)
        self.service = load(NAME, self.view, self.manager)

    def set(self, wanted: Mapping[str, str | None], style: EditStyle | None = None) -> tuple[EditRefused, ...]:
        self.edits, refused = set_environment(self.service, self.view, self.manager, wanted, style)
        return refused

    @property
    def after(self) -> dict[str, str]:
        return {edit.path: edit.after.decode() for edit in self.edits}

    def environment(self) -> dict[str, str]:
        view = Overlaid(self.view, {edit.path: edit.after for edit in self.edits})
        return launch(load(NAME, view, self.manager), view).variables()

    def again(self, wanted: Mapping[str, str | None], style: EditStyle | None = None) -> tuple[FileEdit, ...]:
        view = Overlaid(self.view, {edit.path: edit.after for edit in self.edits})
        service = effective(NAME, self.view, self.edits, self.manager)
        return set_environment(service, view, self.manager, wanted, style)[0]


def unit(*lines: str, tail: str = EXEC) -> str:
    return "[Service]\n" + "".join(line + "\n" for line in lines) + tail


IN_PLACE: list[tuple[str, Files, Mapping[str, str | None], Files]] = [
    ("a line that sets it", {UNIT: unit("Environment=CUDA_HOME=/old", "# c")}, HOME,
     {UNIT: unit("Environment=CUDA_HOME=/usr/local/cuda-13.0", "# c")}),
    ("a new line after its kin", {UNIT: unit("Environment=A=1", "# c", "User=root")}, HOME,
     {UNIT: unit("Environment=A=1", "Environment=CUDA_HOME=/usr/local/cuda-13.0", "# c", "User=root")}),
    ("quoted as its kin", {UNIT: unit('Environment="A=1" "B=2"')}, HOME,
     {UNIT: unit('Environment="A=1" "B=2"', 'Environment="CUDA_HOME=/usr/local/cuda-13.0"')}),
    ("indented and spaced as its kin", {UNIT: unit("  Environment = A='1'")}, HOME,
     {UNIT: unit("  Environment = A='1'", "  Environment = CUDA_HOME='/usr/local/cuda-13.0'")}),
    ("quoted together on one line", {UNIT: unit('Environment="X=a b" "PATH=/c12/bin:/bin" \'Y=1\'')},
     {"PATH": "/c13/bin:/bin"}, {UNIT: unit('Environment="X=a b" "PATH=/c13/bin:/bin" \'Y=1\'')}),
    ("no Environment= at all", {UNIT: "[Unit]\n[Service]\n" + EXEC + "[Install]\nWantedBy=x\n"}, HOME,
     {UNIT: "[Unit]\n[Service]\n" + EXEC + "Environment=CUDA_HOME=/usr/local/cuda-13.0\n[Install]\nWantedBy=x\n"}),
    ("a continuation with a comment", {UNIT: unit("Environment=A=1 \\", "# why", "  PATH=/c12 \\", "  B=2")},
     {"PATH": "/c13"}, {UNIT: unit("Environment=A=1 \\", "# why", "  PATH=/c13 \\", "  B=2")}),
    ("the last of several", {UNIT: unit("Environment=A=1", "Environment=A=2")}, {"A": "3"},
     {UNIT: unit("Environment=A=1", "Environment=A=3")}),
    ("what comes after a reset", {UNIT: unit("Environment=A=1", "Environment=", "Environment=B=1")}, {"A": "3"},
     {UNIT: unit("Environment=A=1", "Environment=", "Environment=B=1", "Environment=A=3")}),
    ("a drop-in that decides",
     {UNIT: unit("Environment=A=1"), "/etc/systemd/system/s.service.d/90-x.conf": "[Service]\nEnvironment=A=2\n"},
     {"A": "3"}, {"/etc/systemd/system/s.service.d/90-x.conf": "[Service]\nEnvironment=A=3\n"}),
    ("a drop-in that resets",
     {UNIT: unit("Environment=A=1"), "/etc/systemd/system/s.service.d/90-x.conf": "[Service]\nEnvironment=\n"},
     {"A": "3"}, {"/etc/systemd/system/s.service.d/90-x.conf": "[Service]\nEnvironment=\nEnvironment=A=3\n"}),
    ("an EnvironmentFile= that decides", {UNIT: unit("Environment=A=1", f"EnvironmentFile={ENV}"),
     ENV: "A=2\n#\nB=1\n"}, {"A": "3"}, {ENV: "A=3\n#\nB=1\n"}),
    ("quoted in an EnvironmentFile=", {UNIT: unit(f"EnvironmentFile={ENV}"), ENV: 'PATH="/a:/b"\n'},
     {"PATH": "/c:/b"}, {ENV: 'PATH="/c:/b"\n'}),
    ("new variables go where PATH is", {UNIT: unit("Environment=Z=1", f"EnvironmentFile=-{ENV}"), ENV: "PATH='/a'"},
     {"PATH": "/c", **HOME}, {ENV: "PATH='/c'\nCUDA_HOME='/usr/local/cuda-13.0'"}),
    ("export in an EnvironmentFile=", {UNIT: unit(f"EnvironmentFile={ENV}"),
     ENV: "export CUDA_HOME=/old\nexport B=1\n"}, HOME, {ENV: "CUDA_HOME=/usr/local/cuda-13.0\nexport B=1\n"}),
    ("DOS line ends", {UNIT: "[Service]\r\nEnvironment=A=1\r\n" + EXEC.replace("\n", "\r\n")}, HOME,
     {UNIT: "[Service]\r\nEnvironment=A=1\r\nEnvironment=CUDA_HOME=/usr/local/cuda-13.0\r\n"
            + EXEC.replace("\n", "\r\n")}),
    ("no line end at the end", {UNIT: "[Service]\n" + EXEC + "Environment=A=1"}, {"A": "2", "B": "1"},
     {UNIT: "[Service]\n" + EXEC + "Environment=A=2\nEnvironment=B=1"}),
    ("characters with a meaning", {UNIT: unit("Environment=A=1")}, {"A": "50% \"of\" \\ 'x' $y"},
     {UNIT: unit('Environment="A=50%% \\"of\\" \\\\ \'x\' $y"')}),
    ("unset: its line goes", {UNIT: unit("Environment=A=1", "Environment=B=2")}, {"A": None},
     {UNIT: unit("Environment=B=2")}),
    ("unset: its word goes", {UNIT: unit("Environment=A=1 B=2 C=3")}, {"B": None}, {UNIT: unit("Environment=A=1 C=3")}),
    ("unset: the last word of a continuation", {UNIT: unit("Environment=A=1 \\", "  B=2")}, {"B": None},
     {UNIT: unit("Environment=A=1")}),
    ("unset: all of its lines", {UNIT: unit("Environment=A=1", "Environment=A=2", f"EnvironmentFile={ENV}"),
     ENV: "A=3\n"}, {"A": None}, {UNIT: unit(f"EnvironmentFile={ENV}"), ENV: ""}),
    ("unset: PassEnvironment=", {UNIT: unit("PassEnvironment=PATH", "Environment=B=2")}, {"PATH": None},
     {UNIT: unit("PassEnvironment=PATH", "Environment=B=2", tail=EXEC + "UnsetEnvironment=PATH\n")}),
    ("UnsetEnvironment= takes it away", {UNIT: unit("Environment=A=1", "UnsetEnvironment=A B")}, {"A": "2"},
     {UNIT: unit("Environment=A=1", "Environment=A=2", "UnsetEnvironment=B")}),
    ("env in ExecStart=", {UNIT: unit(tail="ExecStart=/usr/bin/env CUDA_HOME=/old /venv/bin/python3\n")}, HOME,
     {UNIT: unit(tail="ExecStart=/usr/bin/env CUDA_HOME=/usr/local/cuda-13.0 /venv/bin/python3\n")}),
    ("sh -c in ExecStart=", {UNIT: unit(tail="ExecStart=/bin/sh -c 'export CUDA_HOME=/old; exec /venv/bin/python3'\n")},
     HOME,
     {UNIT: unit(tail="ExecStart=/bin/sh -c 'export CUDA_HOME=/usr/local/cuda-13.0; exec /venv/bin/python3'\n")}),
    ("before the command of bash -c, continued",
     {UNIT: unit(tail="ExecStart=/bin/bash -lc 'X_A=1 \\\n  A=\"1\" /venv/bin/python3 -m x'\n")}, {"A": "2"},
     {UNIT: unit(tail="ExecStart=/bin/bash -lc 'X_A=1 \\\n  A=\"2\" /venv/bin/python3 -m x'\n")}),
    ("bash -c that prepends to PATH",
     {UNIT: unit("Environment=PATH=/bin", tail='ExecStart=/bin/bash -c "PATH=/c12/bin:$$PATH /venv/bin/python3"\n')},
     {"PATH": "/c13/bin:/bin"},
     {UNIT: unit("Environment=PATH=/bin", tail='ExecStart=/bin/bash -c "PATH=/c13/bin:$$PATH /venv/bin/python3"\n')}),
    ("a script that root owns",
     {UNIT: unit(tail="ExecStart=/opt/s.sh\n"),
      "/opt/s.sh": "#!/bin/sh\nexport CUDA_HOME=/old\nexec /venv/bin/python3\n"},
     HOME, {"/opt/s.sh": "#!/bin/sh\nexport CUDA_HOME=/usr/local/cuda-13.0\nexec /venv/bin/python3\n"}),
    ("a script that prepends to PATH",
     {UNIT: unit("Environment=PATH=/bin", tail="ExecStart=/opt/s.sh\n"),
      "/opt/s.sh": '#!/bin/sh\nexport PATH="/c12/bin:$PATH"\nexec /venv/bin/python3\n'},
     {"PATH": "/c13/bin:/bin"}, {"/opt/s.sh": '#!/bin/sh\nexport PATH="/c13/bin:$PATH"\nexec /venv/bin/python3\n'}),
    ("a script that activates an environment",
     {UNIT: unit("Environment=PATH=/c12/bin:/bin", tail="ExecStart=/opt/s.sh\n"),
      "/venv/bin/activate": "VIRTUAL_ENV=/venv",
      "/opt/s.sh": "#!/bin/bash\nsource /venv/bin/activate\nexec python3\n"},
     {"PATH": "/venv/bin:/c13/bin:/bin"}, {UNIT: unit("Environment=PATH=/c13/bin:/bin", tail="ExecStart=/opt/s.sh\n")}),
    ("a script that gives way", {UNIT: unit("Environment=A=1", tail="ExecStart=/opt/s.sh\n"),
      "/opt/s.sh": "#!/bin/sh\nexport CUDA_HOME=${CUDA_HOME:-/old}\nexec /venv/bin/python3\n"}, HOME,
     {UNIT: unit("Environment=A=1", "Environment=CUDA_HOME=/usr/local/cuda-13.0", tail="ExecStart=/opt/s.sh\n")}),
    ("a script that derives one from another",
     {UNIT: unit("Environment=CUDA_HOME=/c12", tail="ExecStart=/opt/s.sh\n"),
      "/opt/s.sh": "#!/bin/sh\nexport LD_LIBRARY_PATH=$CUDA_HOME/lib64:/x\nexec /venv/bin/python3\n"},
     {"LD_LIBRARY_PATH": "/c13/lib64:/x", "CUDA_HOME": "/c13"},
     {UNIT: unit("Environment=CUDA_HOME=/c13", tail="ExecStart=/opt/s.sh\n")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "wanted", "expected"), [row[1:] for row in IN_PLACE], ids=[row[0] for row in IN_PLACE]
)
def test_in_place(files: Files, wanted: Mapping[str, str | None], expected: Files) -> None:
    machine = Machine(files)
    assert machine.set(wanted) == ()
    assert machine.after == expected
    for name, value in wanted.items():
        assert machine.environment().get(name) == value
    assert machine.again(wanted) == ()


DROP_INS: list[tuple[str, Files, Mapping[str, str], Mapping[str, str | None], EditStyle | None, Files]] = [
    ("a package's unit", {VENDOR: unit("Environment=A=1")}, {}, {"A": "2"}, None,
     {DROP_IN: HEADER + "\n[Service]\nEnvironment=A=2\n"}),
    ("asked for", {UNIT: unit("Environment=A=1")}, {}, {"A": "2", "B": "3"}, "drop-in",
     {DROP_IN: HEADER + "\n[Service]\nEnvironment=A=2\nEnvironment=B=3\n"}),
    ("a link out of /etc", {"/opt/repo/s.service": unit("Environment=A=1")}, {UNIT: "/opt/repo/s.service"}, {"A": "2"},
     None, {DROP_IN: HEADER + "\n[Service]\nEnvironment=A=2\n"}),
    ("a drop-in that is there", {VENDOR: unit(), DROP_IN: "[Service]\nEnvironment=A=1\n"}, {}, {"A": "2", "B": "1"},
     None,     {DROP_IN: "[Service]\nEnvironment=A=2\nEnvironment=B=1\n"}),
    ("a later drop-in of a package",
     {VENDOR: unit(), "/usr/lib/systemd/system/s.service.d/90-x.conf": "[Service]\nEnvironment=A=1\n"}, {}, {"A": "2"},
     None, {"/etc/systemd/system/s.service.d/zz-50-remedy.conf": HEADER + "\n[Service]\nEnvironment=A=2\n"}),
    ("the last name of all",
     {VENDOR: unit(), "/usr/lib/systemd/system/s.service.d/zzz.conf": "[Service]\nEnvironment=A=1\n"}, {}, {"A": "2"},
     None, {"/etc/systemd/system/s.service.d/zzz~50-remedy.conf": HEADER + "\n[Service]\nEnvironment=A=2\n"}),
    ("a name that would hide another file",
     {VENDOR: unit(), "/usr/lib/systemd/system/service.d/50-remedy.conf": "[Service]\nEnvironment=B=1\n"}, {},
     {"A": "2"}, None,
     {"/etc/systemd/system/s.service.d/zz-50-remedy.conf": HEADER + "\n[Service]\nEnvironment=A=2\n"}),
    ("a drop-in of other units too",
     {VENDOR: unit(), "/etc/systemd/system/service.d/10-x.conf": "[Service]\nEnvironment=A=1\n"}, {}, {"A": "2"}, None,
     {DROP_IN: HEADER + "\n[Service]\nEnvironment=A=2\n"}),
    ("over /etc/environment",
     {VENDOR: unit("EnvironmentFile=/etc/environment"), "/etc/environment": "A=1\n"}, {}, {"A": "2"}, None,
     {DROP_IN: HEADER + f"\n[Service]\nEnvironmentFile={DROP_IN[:-5]}.env\n", DROP_IN[:-5] + ".env": HEADER + "A=2\n"}),
    ("over an EnvironmentFile= of a package",
     {VENDOR: unit("EnvironmentFile=/usr/share/s.env"), "/usr/share/s.env": "A=1\n"}, {}, {"A": "2", "C": "1"}, None,
     {DROP_IN: HEADER + f"\n[Service]\nEnvironmentFile={DROP_IN[:-5]}.env\nEnvironment=C=1\n",
      DROP_IN[:-5] + ".env": HEADER + "A=2\n"}),
    ("over an EnvironmentFile= once more",
     {VENDOR: unit("EnvironmentFile=/usr/share/s.env"), "/usr/share/s.env": "A=1\n",
      DROP_IN: f"[Service]\nEnvironmentFile={DROP_IN[:-5]}.env\n", DROP_IN[:-5] + ".env": "A=2\n"},
     {}, {"A": "3"}, None, {DROP_IN[:-5] + ".env": "A=3\n"}),
    ("over the manager's configuration",
     {VENDOR: unit(), "/etc/systemd/system.conf": "[Manager]\nDefaultEnvironment=A=1\n"}, {}, {"A": "2"}, None,
     {DROP_IN: HEADER + "\n[Service]\nEnvironment=A=2\n"}),
    ("unset", {VENDOR: unit("Environment=A=1 B=2")}, {}, {"A": None}, None,
     {DROP_IN: HEADER + "\n[Service]\nUnsetEnvironment=A\n"}),
    ("set what is unset", {VENDOR: unit("UnsetEnvironment=A B C")}, {}, {"A": "1"}, None,
     {DROP_IN: HEADER + "\n[Service]\nUnsetEnvironment=\nUnsetEnvironment=B\nUnsetEnvironment=C\nEnvironment=A=1\n"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "links", "wanted", "style", "expected"), [row[1:] for row in DROP_INS], ids=[row[0] for row in DROP_INS]
)
def test_drop_in(
    files: Files, links: Mapping[str, str], wanted: Mapping[str, str | None], style: EditStyle | None, expected: Files
) -> None:
    machine = Machine(files, links)
    assert machine.set(wanted, style) == ()
    assert machine.after == expected
    for name, value in wanted.items():
        assert machine.environment().get(name) == value
    assert machine.again(wanted, style) == ()


REFUSED: list[tuple[str, Files, Mapping[str, str | None], EditStyle | None, str]] = [
    ("a package's unit in place", {VENDOR: unit("Environment=A=1")}, {"A": "2"}, "in-place", "belongs to a package"),
    ("a script that is no plain assignment",
     {UNIT: unit(tail="ExecStart=/opt/s.sh\n"), "/opt/s.sh": "#!/bin/sh\nA=x; export A\nexec /venv/bin/python3\n"},
     {"A": "2"}, None, "/opt/s.sh:2 sets it after"),
    ("sh -c, twice", {UNIT: unit(tail="ExecStart=/bin/sh -c 'export A=1 && A=3 exec /venv/bin/python3'\n")},
     {"A": "2"}, None, f"{UNIT}:2 sets it after"),
    ("sh -c, a value of words", {UNIT: unit(tail="ExecStart=/bin/sh -c 'A=\"x y\" exec /venv/bin/python3'\n")},
     {"A": "2"}, None, f"{UNIT}:2 sets it after"),
    ("sh -c, to a value of words", {UNIT: unit(tail="ExecStart=/bin/sh -c 'A=1 exec /venv/bin/python3'\n")},
     {"A": "$x y"}, None, f"{UNIT}:2 sets it after"),
    ("a unit that is not loaded", {UNIT: "[Service]\n"}, {"A": "2"}, None, "can't load"),
    ("a unit that can't start", {UNIT: unit("EnvironmentFile=/nowhere")}, {"A": "2"}, None, "/nowhere does not exist"),
    ("a name that is none", {UNIT: unit()}, {"A B": "2"}, None, "name or value"),
    ("a value with NUL", {UNIT: unit()}, {"A": "\0"}, None, "name or value"),
    ("a value that is no UTF-8", {UNIT: unit()}, {"A": "\udcff"}, None, "name or value"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "wanted", "style", "why"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(files: Files, wanted: Mapping[str, str | None], style: EditStyle | None, why: str) -> None:
    machine = Machine(files)
    refused = machine.set(wanted, style)
    assert machine.edits == ()
    assert [one.name for one in refused] == list(wanted)
    assert why in refused[0].why


def test_a_file_that_can_not_be_written_gets_a_drop_in() -> None:
    machine = Machine({UNIT: unit("Environment=A=1")})
    edits, refused = set_environment(
        machine.service, machine.view, machine.manager, {"A": "2"}, writable=lambda path: path != UNIT
    )
    assert [edit.path for edit in edits] == [DROP_IN] and refused == ()


class Shared(MemoryView):
    """A tree in which the service's user owns what lies under /opt and /srv."""

    def stat(self, path: str) -> Stat | None:
        found = super().stat(path)
        return replace(found, uid=1001) if found and path.startswith(("/opt", "/srv")) else found


def test_what_the_user_can_write_is_not_edited() -> None:
    script = "#!/bin/sh\nexport A=1\nexec /venv/bin/python3\n"
    files = {
        UNIT: unit("EnvironmentFile=/srv/s.env", tail="ExecStart=/opt/s.sh\n"),
        "/opt/s.sh": script,
        "/srv/s.env": "B=1",
    }
    view = Shared(files, programs=("/opt/s.sh", "/venv/bin/python3"))
    manager = manager_from(view, 252)
    edits, refused = set_environment(load(NAME, view, manager), view, manager, {"A": "2", "B": "2"})
    assert [(one.name, str(one.place)) for one in refused] == [("A", "/opt/s.sh:2")]
    assert "changed by others than root" in refused[0].why
    assert [edit.path for edit in edits] == [DROP_IN[:-5] + ".env", DROP_IN]


def test_what_else_an_edit_reaches_is_said() -> None:
    other = "/etc/systemd/system/other.service"
    machine = Machine({UNIT: unit(f"EnvironmentFile={ENV}"), ENV: "A=1\n", other: unit(f"EnvironmentFile={ENV}")})
    assert machine.set({"A": "2"}) == ()
    assert "other.service reads this file too" in machine.edits[0].reason


SETTINGS: list[tuple[str, str, str | None, EditStyle | None, str, Files]] = [
    ("TimeoutStartSec", "Service", "1800", None, unit("TimeoutStartSec=90"), {UNIT: unit("TimeoutStartSec=1800")}),
    ("TimeoutStartSec", "Service", "1800", None, unit(), {UNIT: unit(tail=EXEC + "TimeoutStartSec=1800\n")}),
    ("TimeoutStartSec", "Service", "1800", "drop-in", unit("TimeoutStartSec=90"),
     {DROP_IN: HEADER + "\n[Service]\nTimeoutStartSec=1800\n"}),
    ("TimeoutStartSec", "Service", "90", None, unit("TimeoutStartSec=90"), {}),
    ("TimeoutStartSec", "Service", None, None, unit("TimeoutStartSec=90"), {UNIT: unit()}),
    ("CacheDirectory", "Service", "sglang", None, unit(), {UNIT: unit(tail=EXEC + "CacheDirectory=sglang\n")}),
    ("After", "Unit", "b.service", None, "[Unit]\nAfter=a.service\n" + unit(),
     {UNIT: "[Unit]\nAfter=a.service\nAfter=b.service\n" + unit()}),
    ("After", "Unit", "a.service", None, "[Unit]\nAfter=a.service b.service\n" + unit(), {}),
    ("After", "Unit", "b.service", None, unit(), {UNIT: unit() + "\n[Unit]\nAfter=b.service\n"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "section", "value", "style", "text", "expected"), SETTINGS)
def test_setting(
    name: str, section: str, value: str | None, style: EditStyle | None, text: str, expected: Files
) -> None:
    machine = Machine({UNIT: text})
    edits, refused = set_setting(machine.service, machine.view, machine.manager, section, name, value, style)
    assert refused == ()
    assert {edit.path: edit.after.decode() for edit in edits} == expected
    after: Service = effective(NAME, machine.view, edits, machine.manager)
    view = Overlaid(machine.view, {edit.path: edit.after for edit in edits})
    assert set_setting(after, view, machine.manager, section, name, value, style) == ((), ())
