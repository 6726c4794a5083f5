"""Whole units: what systemd would make of them."""

from __future__ import annotations

import pytest

from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Service
from tests.memory import MemoryView

UNIT = "/etc/systemd/system/a.service"
DROP_IN = "/etc/systemd/system/a.service.d/10.conf"
START = "ExecStart=/bin/a\n"
PASSWD = "root:x:0:0:root:/root:/bin/zsh\nllm:x:1001:1001::/var/lib/llm:/bin/bash\nbare:x:3:3::/:/usr/sbin/nologin\n"


def read(text: str | bytes, *, version: int = 252, files: dict[str, str | bytes] | None = None) -> Service:
    view = MemoryView(files={UNIT: text, "/etc/passwd": PASSWD, **(files or {})})
    return load("a.service", view, manager_from(view, version))


def start(lines: str, **more: object) -> Service:
    return read("[Service]\n" + START + lines, **more)  # type: ignore[arg-type]


def places(service: Service, name: str) -> list[str]:
    """Where a variable comes from, and after that what it overrides."""
    assert service.environment is not None
    variable = service.environment[name]
    return [str(place).replace("/etc/systemd/system/", "") for place in (variable.source, *variable.overrides)]


def kinds(service: Service) -> list[str]:
    return [fault.kind for fault in service.faults]


@pytest.mark.parametrize(
    ("text", "state", "kind"),
    [
        ("[Service]\nExecStart=/bin/a\n", "loaded", None),
        ("[Service]\nExecStart=/bin/a\n[Service\n", "error", "syntax"),
        ("[Service]\nExecStart=/bin/a\n[Ser'vice]\n", "error", "syntax"),
        (b"[Service]\nExecStart=/bin/a\nA=\xff\n", "error", "syntax"),
        ("[Service]\nExecStart=/bin/a\nA=" + "x" * 1024 * 1024 + "\n", "error", "syntax"),
        ("[Service]\nExecStart=/bin/a\nPIDFile=/a/../b\n", "error", "bad-setting"),
        ("[Service]\nExecStart=/bin/a\nUser=a:b\n", "bad-setting", "bad-setting"),
        ("[Service]\nExecStart=/bin/a\nUser=%k\n", "bad-setting", "bad-setting"),
        ("[Service]\nExecStart=/bin/a\nSupplementaryGroups=a a:b\n", "bad-setting", "bad-setting"),
        ("[Service]\nExecStart=/bin/a\nWorkingDirectory=x\n", "bad-setting", "bad-setting"),
        ("[Service]\nExecStart=/bin/a\nRootDirectory=x\n", "bad-setting", "bad-setting"),
        ("[Service]\nExecStart=/bin/a\nDynamicUser=perhaps\n", "bad-setting", "bad-setting"),
        ("[Service]\nExecStart=/bin/\n", "bad-setting", "bad-setting"),
        ("[Service]\nExecStart=/bin/a\nExecStart=/bin/b\n", "bad-setting", "bad-setting"),
        ("[Service]\nType=oneshot\nExecStart=/bin/a\nRestart=always\n", "bad-setting", "bad-setting"),
        ("[Service]\nType=oneshot\nExecStart=/bin/a\nExitType=cgroup\n", "bad-setting", "bad-setting"),
        ("[Service]\nType=oneshot\n", "bad-setting", "bad-setting"),
        ("[Service]\nType=oneshot\nExecStop=/bin/a\n", "bad-setting", "bad-setting"),
        ("[Service]\nType=dbus\nExecStart=/bin/a\n", "bad-setting", "bad-setting"),
        ("[Service]\nPAMName=login\nKillMode=process\nExecStart=/bin/a\n", "bad-setting", "bad-setting"),
        ("[Service]\nNothing=1\n", "bad-setting", "bad-setting"),
        ("[Service]\nType=oneshot\nExecStop=/bin/a\nRemainAfterExit=yes\n", "loaded", None),
        ("[Unit]\nSuccessAction=reboot\n[Service]\nType=oneshot\n", "loaded", None),
        ("[Service]\nExecStart=/bin/a\nWorkingDirectory=-x\n", "loaded", "bad-setting"),
        ("stray=1\n[Service]\nExecStart=/bin/a\n", "loaded", "syntax"),
        ("[Service]\nExecStart=/bin/a\nstray\n=x\n", "loaded", "syntax"),
        ("[Odd]\nstray\n[Service]\nExecStart=/bin/a\n", "loaded", "syntax"),
    ],
)
def test_load_state(text: str | bytes, state: str, kind: str | None) -> None:
    service = read(text)
    assert service.load_state == state
    assert kinds(service)[-1:] == ([kind] if kind else [])
    assert (service.environment is None) is (state != "loaded")


def test_states_without_a_fragment() -> None:
    assert load("b.service", MemoryView(), manager_from(MemoryView())).load_state == "not-found"
    masked = MemoryView(links={UNIT: "/dev/null"})
    assert load("a.service", masked, manager_from(masked)).load_state == "masked"
    assert load("a.service", masked, manager_from(masked, 247)).fragment == "/dev/null"
    dangling = MemoryView(links={UNIT: "/opt/gone.service"})
    assert load("a.service", dangling, manager_from(dangling)).load_state == "not-found"


@pytest.mark.parametrize(
    ("lines", "type_"),
    [
        ("", "simple"),
        ("BusName=org.a\n", "dbus"),
        ("Type=notify\n", "notify"),
        ("Type=notify\nType=odd\n", "notify"),
        ("Type=notify-reload\n", "simple"),
    ],
)
def test_type(lines: str, type_: str) -> None:
    assert start(lines).type == type_


def test_places_of_continued_lines_are_physical() -> None:
    text = "[Service]\nExecStart=/bin/a\nEnvironment=A=1 \\\n# comment\n  B=2 \\\n\tC=3\nEnvironment=B=4\n"
    service = read(text)
    assert places(service, "A") == ["a.service:3"]
    assert places(service, "B") == ["a.service:7", "a.service:5"]
    assert places(service, "C") == ["a.service:6"]
    (first, _) = service.values("Service", "Environment")
    assert (first.place.line, first.end_line, first.value) == (3, 6, "A=1    B=2  \tC=3")


def test_every_value_knows_what_it_beat() -> None:
    files: dict[str, str | bytes] = {
        DROP_IN: "[Service]\nEnvironment=CUDA_HOME=/b\nEnvironmentFile=/etc/default/a\n",
        "/etc/default/a": "# x\nCUDA_HOME=/c\nPATH=/bin\n",
    }
    service = start("Environment=CUDA_HOME=/a\n", files=files)
    assert service.variables()["CUDA_HOME"] == "/c"
    assert places(service, "CUDA_HOME") == ["/etc/default/a:2", "a.service.d/10.conf:2", "a.service:3"]
    assert places(service, "PATH") == ["/etc/default/a:3"]
    assert service.drop_ins == (DROP_IN,)


def test_an_empty_assignment_resets_lists() -> None:
    files: dict[str, str | bytes] = {
        DROP_IN: "[Service]\nEnvironment=\nEnvironment=B=2\nExecStart=\nExecStart=/bin/b\nEnvironmentFile=\n",
    }
    service = start("Environment=A=1\nEnvironmentFile=/none\n", files=files)
    assert "A" not in service.variables() and service.variables()["B"] == "2"
    assert [command.path for command in service.exec_start] == ["/bin/b"]
    assert str(service.exec_start[0].source) == f"{DROP_IN}:5"
    assert [setting.value for setting in service.values("Service", "Environment")] == ["B=2"]
    assert len([one for one in service.settings if one.name == "Environment"]) == 3


def test_a_bad_line_ends_a_drop_in_but_not_the_unit() -> None:
    files: dict[str, str | bytes] = {
        DROP_IN: "[Service]\nEnvironment=A=1\nUser=a:b\nEnvironment=B=2\n",
        "/etc/systemd/system/a.service.d/20.conf": "Environment=lost=1\n[Service]\nEnvironment=C=3\n",
    }
    service = start("", files=files)
    found = service.variables()
    assert (service.load_state, found.get("A"), found.get("B"), found.get("C")) == ("loaded", "1", None, "3")
    assert "lost" not in found and kinds(service) == ["bad-setting", "syntax"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Environment=A", "invalid-assignment"),
        ("Environment=FOO-B=1", "invalid-assignment"),
        ("Environment=1A=1", "invalid-assignment"),
        ("Environment=A=\\xff", "invalid-assignment"),
        ("Environment=A=%k", "bad-specifier"),
        ("Environment='A=1", "environment-quoting"),
        ("Environment=A=\\q", "environment-quoting"),
        ("EnvironmentFile=a", "environment-file-relative"),
        ("EnvironmentFile=/a/../b", "environment-file-relative"),
        ("EnvironmentFile=%k", "bad-specifier"),
        ("PassEnvironment=1A", "invalid-assignment"),
        ("UnsetEnvironment=1A", "invalid-assignment"),
        ("ExecSearchPath=a", "bad-setting"),
        ("ExecStartPre=/bin/a \\q", "exec"),
    ],
)
def test_what_systemd_passes_over_is_a_fault_with_its_line(line: str, kind: str) -> None:
    service = start(f"{line}\n")
    assert service.load_state == "loaded"
    assert [(fault.kind, str(fault.place)) for fault in service.faults] == [(kind, f"{UNIT}:3")]


def test_assignments_before_a_broken_quote_stay() -> None:
    service = start("Environment=A=1 'B=2\n")
    assert service.variables()["A"] == "1" and "B" not in service.variables()


def test_specifiers_take_the_main_name_only_in_drop_ins() -> None:
    view = MemoryView(
        files={UNIT: f"[Service]\n{START}Environment=F=%n\n", DROP_IN: "[Service]\nEnvironment=D=%n\n"},
        links={"/etc/systemd/system/b.service": UNIT},
    )
    service = load("b.service", view, manager_from(view))
    assert (service.name, service.id) == ("b.service", "a.service")
    assert (service.variables()["F"], service.variables()["D"]) == ("b.service", "a.service")


def test_sections_for_others_are_kept_as_settings() -> None:
    service = start("[X-Remedy]\nReadyPattern=ready .*\nEnvironment=A=1\n[Odd]\nEnvironment=A=1\n")
    setting = service.value("X-Remedy", "ReadyPattern")
    assert setting is not None and setting.value == "ready .*"
    assert "A" not in service.variables() and not service.values("Odd", "Environment")


def test_working_directory() -> None:
    assert start("WorkingDirectory=/a//b/\n").working_directory == "/a/b"
    service = start("WorkingDirectory=-~\n")
    assert (service.working_directory, service.working_directory_optional) == ("~", True)
    view = MemoryView(files={"/home/a/.config/systemd/user/a.service": "[Service]\n" + START, "/etc/passwd": _USERS})
    service = load("a.service", view, manager_from(view, user="a"))
    assert (service.load_state, service.working_directory, service.user_manager) == ("loaded", "/home/a", True)
    assert service.variables()["XDG_RUNTIME_DIR"] == "/run/user/1000"


_USERS = "root:x:0:0:root:/root:/bin/bash\na:x:1000:1000::/home/a:/bin/bash\n"
