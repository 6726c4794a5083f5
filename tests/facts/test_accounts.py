from __future__ import annotations

import pytest

from remedy.facts.accounts import Account, account_of, account_of_service, group_id, members
from remedy.unit.types import SYSTEMD, Place, Service, Setting, Variable
from tests.memory import MemoryView

VIEW = MemoryView(
    {
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nllm:x:1001:1001:,,,:/var/lib/llm:/bin/sh\nbad line\n"
        "numeric:x:2000:50::/home/n:/bin/sh\nbroken:x:abc:1::/:/bin/sh\n+::::::\n",
        "/etc/group": "root:x:0:\nllm:x:1001:\nvideo:x:44:llm,someone\nstaff:x:50:\nrender:x:105:llm\n",
    }
)


@pytest.mark.parametrize(
    ("user", "account"),
    [
        ("llm", Account("llm", 1001, 1001, "/var/lib/llm", (1001, 44, 105))),
        ("1001", Account("llm", 1001, 1001, "/var/lib/llm", (1001, 44, 105))),
        (None, Account("root", 0, 0, "/root", (0,))),
        ("root", Account("root", 0, 0, "/root", (0,))),
        ("stranger", None),
        ("4711", None),
        ("broken", None),
    ],
)
def test_account(user: str | None, account: Account | None) -> None:
    assert account_of(VIEW, user) == account


def test_root_is_known_without_a_passwd_file() -> None:
    assert account_of(MemoryView(), None) == Account("root", 0, 0, "/root", (0,))
    assert account_of(MemoryView(), "llm") is None


def test_groups() -> None:
    assert (group_id(VIEW, "video"), group_id(VIEW, "7"), group_id(VIEW, "none")) == (44, 7, None)
    assert members(VIEW, 50) == {"numeric"} and members(VIEW, 44) == {"llm", "someone"}


def groups(*lines: str) -> tuple[Setting, ...]:
    return tuple(Setting("Service", "SupplementaryGroups", line, Place("/x", 1), 1) for line in lines)


@pytest.mark.parametrize(
    ("service", "account"),
    [
        (Service("a.service", "loaded"), Account("root", 0, 0, "/root", (0,))),
        (
            Service("a.service", "loaded", user="llm", group="staff"),
            Account("llm", 1001, 50, "/var/lib/llm", (50, 1001, 44, 105)),
        ),
        (
            Service("a.service", "loaded", user="llm", settings=groups("staff 7", "none")),
            Account("llm", 1001, 1001, "/var/lib/llm", (1001, 44, 105, 50, 7)),
        ),
        (Service("a.service", "loaded", user="dynamic"), None),
        (
            Service("a.service", "loaded", user_manager=True, environment={"USER": Variable("USER", "llm", SYSTEMD)}),
            Account("llm", 1001, 1001, "/var/lib/llm", (1001, 44, 105)),
        ),
    ],
)
def test_account_of_a_service(service: Service, account: Account | None) -> None:
    assert account_of_service(VIEW, service) == account
