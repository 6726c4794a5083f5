from __future__ import annotations

import pytest

from remedy.facts.manager import live_manager, parse_environ, parse_environment
from remedy.facts.run import NoRunner, Result
from tests.facts.answers import Answers
from tests.memory import MemoryView

FILES: dict[str, bytes | str] = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nllm:x:1001:1001::/home/llm:/bin/sh\n",
    "/etc/systemd/system.conf": "[Manager]\nDefaultEnvironment=A=1 B=2\nManagerEnvironment=M=1\n",
    "/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so": "",
    "/lib/x86_64-linux-gnu/libc.so.6": b"\x7fELF" + bytes(14) + b"\x3e\x00",
    "/proc/sys/kernel/hostname": "gpu1\n",
    "/proc/sys/kernel/osrelease": "6.1.0-40-amd64\n",
    "/proc/sys/kernel/random/boot_id": "2df27865-86a4-48b9-9248-b01957dedd9c\n",
    "/proc/1/environ": "HOME=/\0TERM=linux\0",
}
ASKED = ("systemctl", "show-environment")


def test_the_running_manager() -> None:
    answer = Result(0, b"LANG=C.UTF-8\nPATH=/usr/bin:/bin\nA=1\nB=changed\nC=$'a b\\n'\n")
    found = live_manager(MemoryView(FILES), Answers({ASKED: answer}))
    assert found.environment == {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "A": "1", "B": "changed", "C": "a b\n"}
    # B was set at run time: no file holds its value.
    assert {name: str(place) for name, place in found.environment_places.items()} == {"A": "/etc/systemd/system.conf:2"}
    assert found.process_environment == {"HOME": "/", "TERM": "linux", "M": "1"}
    assert (found.version, found.hostname, found.architecture) == (252, "gpu1", "x86-64")
    assert (found.kernel_release, found.boot_id) == ("6.1.0-40-amd64", "2df2786586a448b99248b01957dedd9c")


def test_a_manager_that_does_not_answer_is_read_from_its_files() -> None:
    found = live_manager(MemoryView(FILES), NoRunner("only read"))
    assert found.environment["A"] == "1" and set(found.environment_places) == {"A", "B"}


def test_a_user_s_own_manager() -> None:
    asked = ("systemctl", "--user", "show-environment")
    runner = Answers({asked: Result(0, b"HOME=/home/llm\n")})
    found = live_manager(MemoryView(FILES), runner, user=True, owner="llm")
    assert found.user and found.user_name == "llm" and found.environment == {"HOME": "/home/llm"}
    # The environment of PID 1 is another manager's.
    assert "TERM" not in found.process_environment


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=plain", "plain"),
        ("A=", ""),
        ("A=x=y", "x=y"),
        (r"A=$'it\'s\ttabbed'", "it's\ttabbed"),
        (r"A=$'\x41\101\\'", "AA\\"),
        ('A="with \\"quotes\\" and \\$"', 'with "quotes" and $'),
        ("A=$HOME", "$HOME"),
    ],
)
def test_quoting_of_show_environment(line: str, value: str) -> None:
    assert parse_environment(line + "\n") == {"A": value}


def test_environ() -> None:
    assert parse_environ("A=1\0B=x=y\0noise\0\0") == {"A": "1", "B": "x=y"}
