"""The manager of a tree that is not running."""

from __future__ import annotations

import pytest

from remedy.errors import UsageError
from remedy.unit.manager import manager_from, version_in
from tests.memory import MemoryView


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so", 252),
        ("/usr/lib/systemd/libsystemd-shared-255.so", 255),
        ("/lib/systemd/libsystemd-shared-247.so", 247),
        ("/usr/lib/aarch64-linux-gnu/systemd/libsystemd-core-257.so", 257),
        ("/usr/lib/systemd/systemd", None),
    ],
)
def test_version_by_the_name_of_the_library(path: str, version: int | None) -> None:
    assert version_in(MemoryView(files={path: ""})) == version


def test_too_old() -> None:
    with pytest.raises(UsageError, match="older than 247"):
        manager_from(MemoryView(), 245)


def test_identity() -> None:
    view = MemoryView(
        files={
            "/etc/hostname": "# c\nlab.example\n", "/etc/machine-id": "ab" * 16 + "\n",
            "/usr/lib/os-release": 'ID=debian\nVERSION_ID="12"\n', "/etc/machine-info": "PRETTY_HOSTNAME='The Lab'\n",
            "/etc/locale.conf": "LANG=de_DE.UTF-8\nLC_TIME=C\nX=1\n",
        },
        programs=("/bin/sh",),
    )  # fmt: skip
    manager = manager_from(view, 252)
    assert (manager.hostname, manager.machine_id, manager.pretty_hostname) == ("lab.example", "ab" * 16, "The Lab")
    assert manager.os_release == {"ID": "debian", "VERSION_ID": "12"}
    assert manager.shell == "/bin/sh"
    assert {name: manager.environment.get(name) for name in ("LANG", "LC_TIME", "X")} == {
        "LANG": "de_DE.UTF-8", "LC_TIME": "C", "X": None,
    }  # fmt: skip


CONFIGURATION = {
    "/etc/systemd/system.conf": "[Manager]\nDefaultEnvironment=A=1 PATH=/x B=%k C=%n 'D=a b'\n"
    "[Other]\nDefaultEnvironment=Z=1\n",
    "/etc/systemd/system.conf.d/20.conf": "[Manager]\nDefaultEnvironment=A=2\nManagerEnvironment=HOME=/m\n",
    "/usr/lib/systemd/system.conf.d/20.conf": "[Manager]\nDefaultEnvironment=A=3\n",
    "/usr/lib/systemd/system.conf.d/10.conf": "[Manager]\nDefaultEnvironment=E=%%\n",
}


def test_default_environment() -> None:
    manager = manager_from(MemoryView(files=CONFIGURATION), 252)
    found = {name: manager.environment.get(name) for name in "ABCDEZ"}
    assert found == {"A": "2", "B": None, "C": None, "D": "a b", "E": "%", "Z": None}
    assert manager.environment["PATH"] == "/x"
    assert str(manager.environment_places["A"]) == "/etc/systemd/system.conf.d/20.conf:2"
    assert str(manager.environment_places["D"]) == "/etc/systemd/system.conf:2"
    assert manager.process_environment["HOME"] == "/m"
    assert manager.home == "/m"
    old = manager_from(MemoryView(files=CONFIGURATION), 247)
    assert (old.process_environment["HOME"], old.home) == ("/root", "/root")


@pytest.mark.parametrize(
    ("version", "found"),
    [
        (247, {"A": "%T", "B": "%h", "C": "%%"}),
        (252, {"A": "/tmp", "C": "%"}),
        (257, {"A": "/tmp", "B": "/root", "C": "%"}),
    ],
)
def test_specifiers_of_the_managers_own_settings(version: int, found: dict[str, str]) -> None:
    text = "[Manager]\nDefaultEnvironment=A=%T B=%h C=%% D=%n\n"
    manager = manager_from(MemoryView(files={"/etc/systemd/system.conf": text}), version)
    shown = {name: value for name, value in manager.environment.items() if name in "ABC"}
    assert shown == found


def test_a_users_manager() -> None:
    view = MemoryView(
        files={
            "/etc/passwd": "a:x:1000:100::/home/a:/bin/zsh\n", "/etc/group": "users:x:100:\n",
            "/etc/systemd/user.conf": "[Manager]\nDefaultEnvironment=A=1\n",
        }
    )  # fmt: skip
    manager = manager_from(view, 252, "a")
    assert (manager.user, manager.uid, manager.group_name, manager.home) == (True, 1000, "users", "/home/a")
    assert manager.environment["HOME"] == "/home/a" and manager.environment["A"] == "1"
    with pytest.raises(UsageError, match="not in /etc/passwd"):
        manager_from(view, 252, "b")
