"""The reader against the systemd of every suite that the lab boots; scripts/conformance does many more cases."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from remedy.facts.files import Files
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Service
from tests.lab import recipe
from tests.lab.machine import Machine
from tests.unit import generate, live

pytestmark = pytest.mark.machine

SYSTEM = {
    "etc/systemd/system.conf.d/10.conf": "[Manager]\nDefaultEnvironment=DA=1 'DB=a b' DC=%H DD=%n DE=%%x DF=%h DG=%s\n"
    "ManagerEnvironment=HOME=/mm MA=1\n",
    "etc/systemd/system.conf.d/20.conf": "[Manager]\nDefaultEnvironment=DA=2 DH='x\nDefaultEnvironment=DI=%T\n",
    "etc/systemd/system/service.d/10.conf": "[Service]\nEnvironment=TYPE=1\n",
    "etc/systemd/system/a.service": "[Service]\nType=oneshot\nExecStart=/usr/bin/env -0\nStandardOutput=file:/out/a\n"
    "PassEnvironment=HOME MA DA\nEnvironment=H=%h\n",
}
USER = {
    "etc/systemd/user.conf.d/10.conf": "[Manager]\nDefaultEnvironment=DA=1\n",
    "home/u/.config/systemd/user/a-b.service": "[Service]\nType=oneshot\nExecStart=/usr/bin/env -0\n"
    "StandardOutput=file:/home/u/out\nPassEnvironment=HOME PATH\nStateDirectory=x\nRuntimeDirectory=y\n"
    "Environment=H=%h S=%S T=%t L=%L C=%C E=%E U=%u G=%g D=%d SH=%s\n",
    "etc/systemd/user/a-.service.d/1.conf": "[Service]\nEnvironment=ETC=1\n",
    "home/u/.local/share/systemd/user/a-b.service.d/2.conf": "[Service]\nEnvironment=SHARE=1\n",
    "run/systemd/user/a-b.service.d/3.conf": "[Service]\nEnvironment=RUN=%n\n",
}
RUN_USER = """
chown -R u:u /home/u; mkdir -p /run/user/1234; chown u:u /run/user/1234
systemd-run --unit=u --uid=1234 -p Delegate=yes -E XDG_RUNTIME_DIR=/run/user/1234 /lib/systemd/systemd --user
for try in $(seq 50); do [ -S /run/user/1234/systemd/private ] && break; sleep 0.1; done
"""


@pytest.fixture(scope="module", params=["bullseye", "bookworm", "trixie"])
def any_systemd(request: pytest.FixtureRequest) -> Iterator[Machine]:
    with Machine(recipe.build(request.param)) as machine:
        yield machine


def install(machine: Machine, folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        machine.write(f"/{name}", text)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read(machine: Machine, folder: Path, unit: str, user: str | None = None) -> Service:
    for name in ("etc/hostname", "etc/passwd", "etc/group"):
        (folder / name).write_bytes(machine.read(f"/{name}"))
    view = Files(str(folder))
    return load(unit, view, manager_from(view, live.version_of(machine), user))


def check_environment(machine: Machine, path: str, service: Service) -> None:
    lines = machine.read(path).decode().split("\0")
    true = dict(line.split("=", 1) for line in lines if line)
    unknowable = live.VOLATILE | {"MANAGERPID"}
    assert {name: value for name, value in service.variables().items() if name not in unknowable} == {
        name: value for name, value in true.items() if name not in unknowable
    }


def test_fresh_cases(any_systemd: Machine, tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    wrong = live.compare(any_systemd, list(generate.cases(seed, 80)), tmp_path)
    assert not wrong, f"seed {seed}:\n" + "\n".join(map(str, wrong[:3]))


def test_the_user_manager(any_systemd: Machine, tmp_path: Path) -> None:
    any_systemd.exec("useradd -m -u 1234 -s /bin/bash u")
    install(any_systemd, tmp_path, USER)
    any_systemd.exec(RUN_USER)
    shown = any_systemd.exec(
        "systemctl --user start a-b.service; systemctl --user show -P DropInPaths a-b.service",
        user="u",
        env={"XDG_RUNTIME_DIR": "/run/user/1234"},
    ).stdout
    service = read(any_systemd, tmp_path, "a-b.service", "u")
    assert list(service.drop_ins) == shown.split()
    check_environment(any_systemd, "/home/u/out", service)


def test_the_managers_own_environment_and_drop_ins_of_the_type(any_systemd: Machine, tmp_path: Path) -> None:
    install(any_systemd, tmp_path, SYSTEM)
    any_systemd.exec("mkdir -p /out; systemctl daemon-reexec; systemctl daemon-reload; systemctl start a.service")
    check_environment(any_systemd, "/out/a", read(any_systemd, tmp_path, "a.service"))
