"""What systemd is asked for a twin."""

from __future__ import annotations

import os

import pytest

from remedy.change.twin import Twin, payload
from remedy.change.twin_unit import command, environment_file, managed, properties, quoted
from remedy.unit.types import Place, Service, Setting

MADE = ("lib/a", "lib/b", "cache/d")


def service(*lines: str, user_manager: bool = False) -> Service:
    place = Place("/etc/systemd/system/x.service", 3)
    pairs = (line.split("=", 1) for line in lines)
    settings = tuple(Setting("Service", name, value, place, 3) for name, value in pairs)
    return Service("x.service", "loaded", settings=settings, user_manager=user_manager)


def plain(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (("User=llm", "UMask=0077"), ["User=llm", "UMask=0077"]),
        # What makes, owns or removes folders, opens sockets, notifies or restarts is left out.
        (("RuntimeDirectory=x", "Type=notify", "Restart=always", "WatchdogSec=3", "ExecStartPre=/bin/x"), []),
        (("StateDirectory=a b:c", "CacheDirectory=d"), [f"ReadWritePaths=-/var/{x}" for x in MADE]),
        (("DynamicUser=yes", "StateDirectory=a"), ["DynamicUser=yes", "User=x", "StateDirectory=a"]),
        (("DynamicUser=true", "User=u"), ["User=u", "DynamicUser=true"]),
        (("ReadOnlyPaths=/a", "ReadOnlyPaths=", "ReadOnlyPaths=/b"), ["ReadOnlyPaths=/b"]),
        (("PrivateTmp=yes", "LimitMEMLOCK=infinity"), ["PrivateTmp=yes", "LimitMEMLOCK=infinity"]),
    ],
)  # fmt: skip
def test_restrictions(lines: tuple[str, ...], wanted: list[str]) -> None:
    assert list(properties(service(*lines), plain)) == wanted


def test_specifiers_are_replaced() -> None:
    expand = {"%i": "7", "/run/%i": "/run/7"}.get
    assert list(properties(service("ReadWritePaths=/run/%i"), lambda text: expand(text, text))) == [
        "ReadWritePaths=/run/7"
    ]


def test_the_command_line() -> None:
    words = command(service("User=llm"), plain, "remedy-proof-1.service", "/proc/1/fd/3", 120.0)
    assert words[0] == "systemd-run" and words[-1] == "--" and "--user" not in words
    assert {"User=llm", "EnvironmentFile=/proc/1/fd/3", "RuntimeMaxSec=120"} <= set(words)
    assert "--user" in command(service(user_manager=True), plain, "n", "e", 1.0)
    (limit,) = [int(word.partition("=")[2]) for word in words if word.startswith("MemoryMax=")]
    assert limit >= 2 << 30


def test_the_environment_lies_in_memory_and_nowhere_else() -> None:
    with environment_file({"TOKEN": 'a"b$c`d\\e\nf', "EMPTY": ""}) as path:
        with open(path, encoding="utf-8") as file:
            assert file.read() == 'TOKEN="a\\"b\\$c\\`d\\\\e\nf"\nEMPTY=""\n'
        assert os.readlink(path).startswith("/memfd:")
    with pytest.raises(OSError):
        open(path, encoding="utf-8").close()


def test_quoting() -> None:
    assert quoted("plain words") == '"plain words"'


def test_folders_that_systemd_will_make_are_not_tried() -> None:
    made = service("CacheDirectory=twin")
    assert list(managed(made, plain)) == ["/var/cache/twin"]
    caches = ["/var/cache/twin", "/var/cache/twin/deep", "/var/cache/twins"]
    text = payload(Twin(made, "/usr/bin/python3", {}, plain, {"a": "x"}, caches)).decode()
    assert '"caches": ["/var/cache/twins"]' in text
