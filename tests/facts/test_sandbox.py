from __future__ import annotations

import pytest

from remedy.facts.accounts import NEW_ID, Account, account_of_service
from remedy.facts.caches import read_caches
from remedy.facts.sandbox import sandbox_of
from remedy.facts.types import Dist, Interpreter
from remedy.unit.load import load
from remedy.unit.types import Manager, Service
from tests.memory import MemoryView

LLM = Account("llm", 1001, 1001, "/var/lib/llm", (1001,))
ROOT = Account("root", 0, 0, "/opt/root", (0,))


def service(*lines: str, name: str = "kimi.service") -> Service:
    text = "\n".join(["[Service]", "ExecStart=/bin/true", *lines, ""])
    return load(name, MemoryView({f"/etc/systemd/system/{name}": text}), Manager(252))


@pytest.mark.parametrize(
    ("lines", "path", "why"),
    [
        ((), "/var/lib/llm/.cache", None),
        (("ProtectSystem=strict",), "/var/lib/llm/.cache", "read-only for the service (ProtectSystem=strict)"),
        (("ProtectSystem=full",), "/var/lib/llm/.cache", None),
        (("ProtectSystem=full",), "/etc/x", "ProtectSystem=full"),
        (("ProtectSystem=yes",), "/etc/x", None),
        (("ProtectSystem=yes",), "/usr/share/x", "ProtectSystem=yes"),
        (("ProtectSystem=no",), "/usr/share/x", None),
        # The homes are ProtectHome='s.
        (("ProtectSystem=strict",), "/root/.cache", None),
        (("ProtectHome=yes",), "/root/.cache", "/root/.cache is hidden from the service (ProtectHome=yes)"),
        (("ProtectHome=read-only",), "/home/x/.cache", "read-only for"),
        (("ProtectHome=tmpfs",), "/home/x/.cache", "ProtectHome=tmpfs"),
        (("ProtectHome=yes",), "/homes/x", None),
        (("ProtectSystem=strict", "ReadWritePaths=-/var/lib/llm"), "/var/lib/llm/.cache", None),
        (("ProtectSystem=strict", "ReadWritePaths=/a /var/lib/%N"), "/var/lib/kimi/.cache", None),
        (("ProtectSystem=strict", "StateDirectory=kimi"), "/var/lib/kimi/x", None),
        (("ProtectSystem=strict", "CacheDirectory=%p/jit:jit"), "/var/cache/kimi/jit", None),
        (("ProtectSystem=strict", "CacheDirectory=kimi"), "/var/cache/kimi2", "strict"),
        (("ReadOnlyPaths=/srv",), "/srv/cache", "ReadOnlyPaths=/srv"),
        (("ReadOnlyPaths=/srv", "ReadWritePaths=/srv/cache"), "/srv/cache/x", None),
        (("ReadWritePaths=/srv", "ReadOnlyPaths=/srv"), "/srv/x", "ReadOnlyPaths=/srv"),
        (("InaccessiblePaths=/srv", "InaccessiblePaths="), "/srv/x", None),
        (("ProtectSystem=strict", "BindPaths=/mnt/x:/var/jit"), "/var/jit/x", None),
        (("DynamicUser=yes",), "/var/lib/llm/.cache", "DynamicUser=yes"),
        (("DynamicUser=yes",), "/tmp/torchinductor_kimi", None),
        (("DynamicUser=yes",), "/root/.cache", "read-only for the service (DynamicUser=yes)"),
        (("TemporaryFileSystem=/srv",), "/srv/x", "an empty folder of root's (TemporaryFileSystem=/srv)"),
        (("TemporaryFileSystem=/srv:mode=1777",), "/srv/x", None),
        (("TemporaryFileSystem=/srv:ro",), "/srv/x", "read-only for the service"),
        (("TemporaryFileSystem=/srv", "BindPaths=/data/x:/srv/x"), "/srv/x/y", None),
        (("BindReadOnlyPaths=/models",), "/models/.cache", "BindReadOnlyPaths=/models"),
        (("RootDirectory=/srv/tree", "ProtectSystem=strict"), "/srv/x", None),
    ],
)
def test_what_a_sandbox_refuses(lines: tuple[str, ...], path: str, why: str | None) -> None:
    refused = sandbox_of(service(*lines), MemoryView()).refusal(path, LLM)
    assert refused is None if why is None else why in (refused or "")


def test_a_bound_folder_has_the_rights_of_its_source() -> None:
    sandbox = sandbox_of(service("BindPaths=/data/jit:/var/jit"), MemoryView())
    assert sandbox.outside("/var/jit/x") == "/data/jit/x" and sandbox.outside("/var/j") == "/var/j"


def test_a_dynamic_user_has_no_home_and_no_groups() -> None:
    view = MemoryView({"/etc/passwd": "llm:x:1001:1001::/var/lib/llm:/bin/sh\n"})
    assert account_of_service(view, service("DynamicUser=yes")) == Account("kimi", NEW_ID, NEW_ID, "/", (NEW_ID,))
    assert account_of_service(view, service("DynamicUser=yes", "User=llm")) == LLM


@pytest.mark.parametrize(
    ("lines", "account", "env", "writable", "why"),
    [
        ((), ROOT, {}, True, None),
        (("ProtectSystem=strict",), ROOT, {}, False, "ProtectSystem=strict"),
        ((), LLM, {}, False, "not writable by llm"),
        (("CacheDirectory=jit",), LLM, {"FLASHINFER_WORKSPACE_BASE": "/var/cache/jit"}, True, None),
        (("PrivateTmp=yes",), LLM, {"FLASHINFER_WORKSPACE_BASE": "/tmp"}, True, None),
        ((), LLM, {"FLASHINFER_WORKSPACE_BASE": "/tmp"}, False, "not writable by llm"),
        (("ProtectHome=yes",), None, {"FLASHINFER_WORKSPACE_BASE": "/home/x"}, False, "ProtectHome=yes"),
        ((), None, {}, None, None),
    ],
)
def test_caches_under_a_sandbox(
    lines: tuple[str, ...], account: Account | None, env: dict[str, str], writable: bool, why: str | None
) -> None:
    view = MemoryView({"/var/lib/llm/x": "", "/tmp/x": "", "/var/cache/jit/x": ""})
    python = Interpreter("/v/bin/python", "/v", (3, 12), (), {"flashinfer-python": Dist("flashinfer-python", "1", "")})
    found = read_caches(view, env, python, account, sandbox_of(service(*lines), view))
    cache = next(one for one in found if one.library == "flashinfer")
    assert cache.writable is writable
    assert cache.why is None if why is None else why in (cache.why or "")
