"""The start environment."""

from __future__ import annotations

import pytest

from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Service
from remedy.view import READ_LIMIT
from tests.memory import MemoryView

UNIT = "/etc/systemd/system/a.service"
PASSWD = (
    "root:x:0:0:root:/root:/bin/zsh\nllm:x:1001:1001::/var/lib//llm/:/bin/bash\n"
    "bare:x:3:3::/:/usr/sbin/nologin\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
)
LOGIN = ("HOME", "LOGNAME", "USER", "SHELL")


def start(lines: str, version: int = 252, files: dict[str, str | bytes] | None = None) -> Service:
    text = "[Service]\nExecStart=/bin/a\n" + lines
    view = MemoryView(files={UNIT: text, "/etc/passwd": PASSWD, **(files or {})})
    return load("a.service", view, manager_from(view, version))


def variables(lines: str, version: int = 252, files: dict[str, str | bytes] | None = None) -> dict[str, str]:
    service = start(lines, version, files)
    assert service.environment is not None, service.faults
    return service.variables()


@pytest.mark.parametrize(
    ("lines", "version", "login"),
    [
        ("", 252, {}),
        ("", 257, {"USER": "root"}),
        ("User=root\n", 247, {"HOME": "/root", "LOGNAME": "root", "USER": "root", "SHELL": "/bin/sh"}),
        ("User=0\n", 252, {"HOME": "/root", "LOGNAME": "root", "USER": "root", "SHELL": "/bin/bash"}),
        ("User=llm\n", 252, {"HOME": "/var/lib/llm", "LOGNAME": "llm", "USER": "llm", "SHELL": "/bin/bash"}),
        ("User=1001\n", 257, {"HOME": "/var/lib/llm", "LOGNAME": "llm", "USER": "llm", "SHELL": "/bin/bash"}),
        ("User=bare\n", 252, {"LOGNAME": "bare", "USER": "bare"}),
        ("User=nobody\n", 257, {"LOGNAME": "nobody", "USER": "nobody"}),
        ("User=llm\nSetLoginEnvironment=no\n", 257, {"USER": "llm"}),
        ("SetLoginEnvironment=yes\n", 257, {"HOME": "/root", "LOGNAME": "root", "USER": "root", "SHELL": "/bin/bash"}),
        ("User=root\nSetLoginEnvironment=yes\n", 257,
         {"HOME": "/root", "LOGNAME": "root", "USER": "root", "SHELL": "/bin/zsh"}),
        ("User=nobody\nSetLoginEnvironment=yes\n", 257,
         {"HOME": "/nonexistent", "LOGNAME": "nobody", "USER": "nobody"}),
        ("SetLoginEnvironment=yes\n", 252, {}),
        ("WorkingDirectory=~\n", 252, {"HOME": "/root"}),
        ("WorkingDirectory=~\n", 257, {"USER": "root"}),
        ("DynamicUser=yes\n", 252, {"LOGNAME": "a", "USER": "a"}),
        ("User=llm\nEnvironment=HOME=/x\n", 252,
         {"HOME": "/x", "LOGNAME": "llm", "USER": "llm", "SHELL": "/bin/bash"}),
    ],
)  # fmt: skip
def test_login_variables(lines: str, version: int, login: dict[str, str]) -> None:
    found = variables(lines, version)
    assert {name: found[name] for name in LOGIN if name in found} == login


def test_an_unknown_user_cannot_start_unless_others_may_know_it() -> None:
    service = start("User=gone\n")
    assert service.load_state == "loaded" and service.environment is None
    assert [fault.kind for fault in service.faults] == ["user-unknown"]
    files: dict[str, str | bytes] = {"/etc/nsswitch.conf": "passwd: files sss # x\n"}
    service = start("User=gone\n", files=files)
    assert service.environment is not None and "HOME" not in service.environment
    assert [fault.kind for fault in service.faults] == ["user-unresolved"]


@pytest.mark.parametrize(
    ("version", "path"),
    [
        (252, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        (257, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"),
    ],
)
def test_default_path(version: int, path: str) -> None:
    service = start("", version)
    assert service.environment is not None
    assert (service.environment["PATH"].value, str(service.environment["PATH"].source)) == (path, "systemd")


def test_merged_bin_directories_have_a_shorter_path() -> None:
    view = MemoryView(
        files={UNIT: "[Service]\nExecStart=/bin/a\n"},
        folders=("/usr/bin", "/usr/local/bin"),
        links={"/usr/sbin": "bin", "/usr/local/sbin": "bin"},
    )
    assert load("a.service", view, manager_from(view, 257)).variables()["PATH"] == "/usr/local/bin:/usr/bin"


@pytest.mark.parametrize(
    ("lines", "name", "value"),
    [
        ("PassEnvironment=HOME\n", "HOME", "/root"),
        ("PassEnvironment=NOSUCH\n", "NOSUCH", None),
        ("PassEnvironment=HOME\nEnvironment=HOME=/x\n", "HOME", "/x"),
        ("ExecSearchPath=/opt/bin:/usr//bin/\n", "PATH", "/opt/bin:/usr/bin"),
        ("ExecSearchPath=/opt/bin\nEnvironment=PATH=/x\n", "PATH", "/x"),
        ("Environment=A=1 B=2\nUnsetEnvironment=A\n", "A", None),
        ("Environment=A=1\nUnsetEnvironment=A=2\n", "A", "1"),
        ("Environment=A=1\nUnsetEnvironment=A=1\n", "A", None),
        ("UnsetEnvironment=PATH\n", "PATH", None),
        ("Environment=A=1\nUnsetEnvironment=A\nUnsetEnvironment=\n", "A", "1"),
        ("StateDirectory=b a:x a/c\n", "STATE_DIRECTORY", "/var/lib/a:/var/lib/a/c:/var/lib/b"),
        ("CacheDirectory=%p\n", "CACHE_DIRECTORY", "/var/cache/a"),
        ("RuntimeDirectory=/abs ../x ok\n", "RUNTIME_DIRECTORY", "/run/ok"),
        ("Type=notify\n", "NOTIFY_SOCKET", "/run/systemd/notify"),
        ("NotifyAccess=all\n", "NOTIFY_SOCKET", "/run/systemd/notify"),
        ("WatchdogSec=3\n", "NOTIFY_SOCKET", "/run/systemd/notify"),
        ("PIDFile=a.pid\n", "PIDFILE", "/run/a.pid"),
        ("SetCredential=a:b\n", "CREDENTIALS_DIRECTORY", "/run/credentials/a.service"),
        ("SetCredential=a:b\nSetCredential=\n", "CREDENTIALS_DIRECTORY", None),
    ],
)
def test_variables(lines: str, name: str, value: str | None) -> None:
    assert variables(lines).get(name) == value


FILES: dict[str, str | bytes] = {
    "/etc/default/a.1": "A=1\nB=1\n",
    "/etc/default/a.2": "B=2\nexport C=3\n1X=4\n",
    "/etc/default/.a.3": "B=hidden\n",
    "/etc/default/bad": b"A=1\nB=\xff\n",
    "/etc/default/nul": b"A=1\0\n",
    "/etc/default/dir/x": "",
}


@pytest.mark.parametrize(
    ("lines", "found", "kinds"),
    [
        ("EnvironmentFile=/etc/default/a.1\n", {"A": "1", "B": "1"}, []),
        ("EnvironmentFile=/etc/default/a.*\n", {"A": "1", "B": "2"}, ["environment-file-export", "invalid-assignment"]),
        ("EnvironmentFile=/etc/default/a.1\nEnvironment=B=0\n", {"A": "1", "B": "1"}, []),
        ("EnvironmentFile=-/etc/default/none\n", {}, []),
        ("EnvironmentFile=-/etc/default/none.*\n", {}, []),
        ("EnvironmentFile=/dev/null\n", {}, []),
        ("EnvironmentFile=-/etc/default/bad\n", {}, ["environment-file-unreadable"]),
        ("EnvironmentFile=-/etc/default/nul\n", {}, ["environment-file-unreadable"]),
        ("EnvironmentFile=-/etc/default/dir\n", {}, ["environment-file-unreadable"]),
        ("EnvironmentFile=/etc/default/none\n", None, ["environment-file-missing"]),
        ("EnvironmentFile=/etc/default/none.*\n", None, ["environment-file-missing"]),
        ("EnvironmentFile=/etc/default/bad\n", None, ["environment-file-unreadable"]),
        ("EnvironmentFile=/etc/default/dir\n", None, ["environment-file-unreadable"]),
        ("EnvironmentFile=/none\nEnvironmentFile=\n", {}, []),
    ],
)
def test_environment_files(lines: str, found: dict[str, str] | None, kinds: list[str]) -> None:
    service = start(lines, files=FILES)
    assert [fault.kind for fault in service.faults] == kinds
    if found is None:
        assert service.environment is None
    else:
        assert {name: value for name, value in service.variables().items() if name in ("A", "B", "C")} == found


def test_environment_file_specifiers_and_marks() -> None:
    service = start("EnvironmentFile=-/etc//default/%p.1\n", files=FILES)
    (wanted,) = service.environment_files
    assert (wanted.path, wanted.optional, str(wanted.source)) == ("/etc/default/a.1", True, f"{UNIT}:3")


class Guarded(MemoryView):
    """A tree in which some files are root's alone."""

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        if path.startswith("/etc/secret"):
            raise PermissionError(13, "Permission denied", path)
        return super().read(path, limit)

    def list(self, path: str) -> tuple[str, ...]:
        if path.startswith("/etc/secret"):
            raise PermissionError(13, "Permission denied", path)
        return super().list(path)


@pytest.mark.parametrize("pattern", ["/etc/secret.env", "/etc/secret/a.env", "/etc/secret/*.env"])
def test_a_file_that_only_root_may_read_costs_only_its_own_variables(pattern: str) -> None:
    text = f"[Service]\nExecStart=/bin/a\nEnvironment=A=1\nEnvironmentFile={pattern}\n"
    view = Guarded(files={UNIT: text}, folders=("/etc/secret",))
    service = load("a.service", view, manager_from(view, 252))
    assert service.variables()["A"] == "1"
    assert [fault.kind for fault in service.faults] == ["environment-file-hidden"]
