"""Specifiers."""

from __future__ import annotations

import pytest

from remedy.unit.specifiers import BadSpecifier, Subject
from remedy.unit.types import Manager
from tests.memory import MemoryView

UNIT = "a-b@srv-x\\x2dy.service"


def subject(version: int = 257, unit: str = UNIT, user: bool = False) -> Subject:
    manager = Manager(
        version, user=user, hostname="h.example", machine_id="0" * 32, os_release={"ID": "debian"},
        kernel_release="6.1", uid=1000 if user else 0,
        home="/home/a" if user else "/root", user_name="a" if user else "root",
    )  # fmt: skip
    view = MemoryView(
        files={"/opt/x/real@.service": ""}, links={"/etc/systemd/system/f@.service": "/opt/x/real@.service"}
    )
    return Subject(unit, "/etc/systemd/system/f@.service", manager, view)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("%n", UNIT),
        ("%N", "a-b@srv-x\\x2dy"),
        ("%p %P", "a-b a/b"),
        ("%i %I", "srv-x\\x2dy srv/x-y"),
        ("%j %J", "b b"),
        ("%f", "/srv/x-y"),
        ("%y %Y", "/opt/x/real@.service /opt/x"),
        ("%t %S %C %L %E %D", "/run /var/lib /var/cache /var/log /etc /usr/share"),
        ("%T %V", "/tmp /var/tmp"),
        ("%h %s %u %U %g %G", "/root /bin/bash root 0 root 0"),
        ("%H %l %m %v %o %w", f"h.example h {'0' * 32} 6.1 debian "),
        ("%d", f"/run/credentials/{UNIT}"),
        ("%% %%n %%%%", "% %n %%"),
        ("% %- %é %", "% %- %é %"),
    ],
)
def test_values(text: str, value: str) -> None:
    assert subject().expand(text) == value


@pytest.mark.parametrize(
    ("letter", "since"), [("y", 251), ("Y", 251), ("d", 251), ("q", 251), ("A", 249), ("M", 249), ("D", 256)]
)
def test_younger_ones(letter: str, since: int) -> None:
    subject(since).expand(f"%{letter}")
    with pytest.raises(BadSpecifier):
        subject(since - 1).expand(f"%{letter}")


@pytest.mark.parametrize("text", ["%k", "%z", "%1", "a%b"])
def test_unknown_or_without_value(text: str) -> None:
    with pytest.raises(BadSpecifier):
        subject().expand(text)


def test_names_that_do_not_unescape() -> None:
    with pytest.raises(BadSpecifier):
        subject(unit="a@\\xzz.service").expand("%I")
    with pytest.raises(BadSpecifier):
        subject(unit="a@b--c.service").expand("%f")


@pytest.mark.parametrize(
    ("version", "state"), [(252, "/home/a/.config"), (254, "/home/a/.local/state"), (257, "/home/a/.local/state")]
)
def test_users_directories(version: int, state: str) -> None:
    assert subject(version, user=True).expand("%S %L %h %t") == f"{state} {state}/log /home/a /run/user/1000"
