"""The running service manager: its environment block, and what specifiers stand for on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from remedy.facts.ask import start_manager
from remedy.facts.host import architecture
from remedy.facts.names import text_of
from remedy.facts.run import Result, Runner, Running
from remedy.unit.manager import manager_from, with_configuration
from remedy.unit.types import Manager
from remedy.value import replace
from remedy.view import View

#: uname(2)'s words in those of systemd.unit(5)'s ConditionArchitecture=.
_ARCHITECTURES = {"x86_64": "x86-64", "aarch64": "arm64", "ppc64le": "ppc64-le"}


def live_manager(
    view: View, runner: Runner, *, user: bool = False, owner: str | None = None, asked: Running | None = None
) -> Manager:
    """The manager that runs on the machine: the system's, or with ``user`` that of ``systemd --user``.

    ``owner`` is whose user manager it is, ourselves for None; ``asked`` what ``start_manager`` started earlier. Where
    no manager answers (a container, no rights), what its files say. Raises UsageError for an unknown user.
    """
    if user and owner is None:
        owner = str(os.geteuid())
    return read_manager(view, (asked or start_manager(runner, user=user)).result(), owner)


def read_manager(view: View, answer: Result, owner: str | None = None) -> Manager:
    """The manager, from the answer of ``start_manager`` and the machine's files."""
    base = manager_from(view, user=owner)
    environment = parse_environment(answer.text) if answer.ok else base.environment
    places = base.environment_places
    # A variable that was set at run time (systemctl set-environment) is no longer the configuration's.
    same = {name: place for name, place in places.items() if environment.get(name) == base.environment[name]}
    # Only root may read the environment of PID 1.
    own = parse_environ(text_of(view, "/proc/1/environ")) if owner is None else {}
    machine = architecture(view)
    return replace(
        with_configuration(replace(base, process_environment=own), view) if own else base,
        environment=environment,
        environment_places=same,
        hostname=_line(view, "/proc/sys/kernel/hostname") or base.hostname,
        boot_id=_line(view, "/proc/sys/kernel/random/boot_id").replace("-", ""),
        kernel_release=_line(view, "/proc/sys/kernel/osrelease"),
        architecture=_ARCHITECTURES.get(machine, machine) or base.architecture,
    )


def parse_environment(text: str) -> dict[str, str]:
    """The lines of ``systemctl show-environment``, whose values are quoted as ``$'…'`` where they need it."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: _unquoted(value) for name, equals, value in pairs if equals}


def parse_environ(text: str) -> dict[str, str]:
    """The variables of proc_pid_environ(5)."""
    pairs = (variable.partition("=") for variable in text.split("\0"))
    return {name: value for name, equals, value in pairs if equals}


def _line(view: View, path: str) -> str:
    return text_of(view, path).strip()


_ESCAPES: Mapping[str, str] = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _unquoted(value: str) -> str:
    """shell_maybe_quote() of systemd's src/basic/escape.c, undone."""
    if value.startswith("$'") and value.endswith("'") and len(value) > 2:
        return re.sub(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|(.))", _unescaped, value[2:-1])
    if len(value) > 1 and value[0] == value[-1] == '"':
        return re.sub(r'\\([\\"$`])', r"\1", value[1:-1])
    return value


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return chr(int(escape[2], 8)) if escape[2] else _ESCAPES.get(escape[3], escape[3])
