"""What a live systemd makes of cases, and where the reader sees it otherwise."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remedy.facts.files import Files
from remedy.show.unit import working_directory
from remedy.unit.find import Units
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Manager, Service
from remedy.unit.words import is_utf8
from remedy.view import View
from tests.lab.machine import Machine
from tests.unit.generate import Case

#: Different at every start, or of the machine and not of the unit.
VOLATILE = frozenset(
    ("INVOCATION_ID", "SYSTEMD_EXEC_PID", "LANG", "JOURNAL_STREAM", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE")
)
#: What runs in the machine.
ASK = Path(__file__).with_name("ask_systemd.py")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A property of a case that systemd and the reader see differently."""

    case: Case
    what: str
    systemd: Any
    remedy: Any

    def __str__(self) -> str:
        files = "\n".join(f"    {path}: {content!r}" for path, content in self.case.files.items())
        head = f"{self.case.id} ({self.case.feature}) {self.case.unit}: {self.what}"
        return f"{head}\n{files}\n  systemd: {self.systemd!r}\n  remedy:  {self.remedy!r}"


def version_of(machine: Machine) -> int:
    """The machine's systemd."""
    found = re.match(r"systemd (\d+)", machine.exec(["systemctl", "--version"]).stdout)
    assert found is not None
    return int(found.group(1))


def compare(machine: Machine, cases: Sequence[Case], folder: Path) -> list[Disagreement]:
    """Install the cases in a machine and below ``folder``, and hold both answers against each other."""
    _install_in(machine, cases)
    _install_below(folder, machine, cases)
    asked = json.dumps([(case.id, case.unit, case.run) for case in cases])
    done = machine.exec(["python3", "-c", ASK.read_text()], input=asked, timeout=1200)
    truths = {answer[0]: answer[1:] for answer in map(json.loads, done.stdout.splitlines())}
    view = Files(str(folder))
    kernel = machine.exec(["uname", "-r"]).stdout.strip()
    boot = machine.exec(["cat", "/proc/sys/kernel/random/boot_id"]).stdout.strip().replace("-", "")
    manager = manager_from(view, version_of(machine), kernel_release=kernel, boot_id=boot)
    units = Units(view, manager)
    found: list[Disagreement] = []
    for case in cases:
        found += _compare(case, truths[case.id], view, manager, units)
    return found


def _compare(case: Case, truth: list[Any], view: View, manager: Manager, units: Units) -> list[Disagreement]:
    service = load(case.unit, view, manager, units)
    state, fragment, drop_ins, commands, user, directory, environment = truth
    if service.load_state != state or state != "loaded":
        agree = service.load_state == state
        return [] if agree else [Disagreement(case, "load state", state, service.load_state)]
    pairs: list[tuple[str, Any, Any]] = [
        ("fragment", _merged(fragment), _merged(service.fragment or "")),
        ("drop-ins", [_merged(path) for path in drop_ins], [_merged(path) for path in service.drop_ins]),
        ("user", user, service.user or ""),
        ("directory", directory, working_directory(service) or ""),
    ]
    argv = [list(command.argv) for command in service.exec_start]
    if is_utf8("".join(word for words in argv for word in words)):
        # D-Bus can't carry other bytes.
        pairs.append(("argv", commands, argv))
    if case.run:
        pairs.append(("environment", _environment(environment), _variables(service)))
    return [Disagreement(case, what, one, other) for what, one, other in pairs if one != other]


def _environment(text: str | None) -> dict[str, str] | None:
    if not text:
        return None
    lines = (line.partition("=") for line in text.split("\0") if line)
    return {name: value for name, _, value in lines if name not in VOLATILE}


def _variables(service: Service) -> dict[str, str] | None:
    if service.environment is None:
        return None
    values = service.variables().items()
    raw = {name: value.encode("utf-8", "surrogateescape").decode("latin-1") for name, value in values}
    return {name: value for name, value in raw.items() if name not in VOLATILE}


def _merged(path: str) -> str:
    """/lib and /usr/lib are the same directory in every machine."""
    return "/usr" + path if path.startswith("/lib/") else path


def _install_in(machine: Machine, cases: Sequence[Case]) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for case in cases:
            for path, content in case.files.items():
                entry = tarfile.TarInfo(path)
                if isinstance(content, str):
                    entry.type, entry.linkname = tarfile.SYMTYPE, content
                    archive.addfile(entry)
                else:
                    entry.size, entry.mode = len(content), 0o644
                    archive.addfile(entry, io.BytesIO(content))
    machine.write("/var/tmp/cases.tar", buffer.getvalue())
    unpack = "tar -C / --keep-directory-symlink -xf /var/tmp/cases.tar"
    machine.exec(f"mkdir -p /out && rm -f /out/* && {unpack} && systemctl daemon-reload")


def _install_below(folder: Path, machine: Machine, cases: Sequence[Case]) -> None:
    for case in cases:
        for name, content in case.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.symlink_to(content)
            else:
                path.write_bytes(content)
    for name in ("etc/passwd", "etc/group", "etc/nsswitch.conf", "etc/hostname", "etc/machine-id", "etc/os-release"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.write_bytes(machine.read("/" + name))
        except FileNotFoundError:
            continue
