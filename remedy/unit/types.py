"""What systemd would run: the values that ``unit/`` hands on.

Words are those of systemd.unit(5), systemd.exec(5) and systemd.service(5).
"""

from __future__ import annotations

from collections.abc import Mapping

from remedy.hints import Literal
from remedy.value import dataclass, field

LoadState = Literal["loaded", "not-found", "masked", "bad-setting", "error"]
EditStyle = Literal["in-place", "drop-in"]


@dataclass(frozen=True)
class Place:
    """A line in a file; ``line`` counts from 1. A value that the manager supplies has path "systemd", line 0."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


SYSTEMD = Place("systemd", 0)


@dataclass(frozen=True)
class Setting:
    """One ``Name=value`` line, continuations joined; ``value`` as systemd's parser hands it to the setting.

    ``end_line`` is the last physical line of a continued setting.
    """

    section: str
    name: str
    value: str
    place: Place
    end_line: int


@dataclass(frozen=True)
class Variable:
    """One variable of the environment that the process starts with."""

    name: str
    value: str
    source: Place
    overrides: tuple[Place, ...] = ()


@dataclass(frozen=True)
class ExecCommand:
    """One ExecStart= line: argv after unquoting and specifiers, before ``$VAR`` expansion."""

    argv: tuple[str, ...]
    prefixes: str
    path: str
    source: Place


@dataclass(frozen=True)
class EnvironmentFile:
    """One file that an EnvironmentFile= line named; ``optional`` for the ``-`` prefix."""

    path: str
    optional: bool
    source: Place


@dataclass(frozen=True)
class Fault:
    """Something in the unit's own text that does not say what its author meant, or that systemd ignores.

    ``kind`` is a short stable word (``environment-literal-variable``, ``environment-tilde``,
    ``environment-quoting``, ``environment-file-export``, ``environment-file-relative``, ``invalid-assignment``,
    ``home-specifier``, ``syntax``, ``environment-file-missing``, …); ``mend`` says what to write instead. Where the
    fault lies in one variable, ``variable`` names it and ``meant`` is the value that its author had in mind.
    """

    kind: str
    text: str
    place: Place
    mend: str = ""
    variable: str = ""
    meant: str | None = None


@dataclass(frozen=True)
class Manager:
    """What the service manager itself contributes: version, identity for specifiers, its own environment.

    ``environment`` is the block that every service starts with: PATH, LANG, DefaultEnvironment= and what
    ``systemctl set-environment`` added; ``environment_places`` says where a variable of it comes from (those
    that are not in it come from "systemd"). ``process_environment`` is what the manager process itself runs
    with (/proc/1/environ, ManagerEnvironment=): PassEnvironment= takes from it. ``user`` is true for
    ``systemd --user``; ``shell`` is %s. ``os_release`` is os-release(5), None where there is none.
    """

    version: int
    user: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    hostname: str = "localhost"
    machine_id: str = ""
    boot_id: str = ""
    kernel_release: str = ""
    architecture: str = "x86-64"
    uid: int = 0
    gid: int = 0
    user_name: str = "root"
    home: str = "/root"
    environment_places: Mapping[str, Place] = field(default_factory=dict)
    process_environment: Mapping[str, str] = field(default_factory=dict)
    group_name: str = "root"
    shell: str = "/bin/bash"
    pretty_hostname: str = ""
    os_release: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Service:
    """A service unit as the manager would load it.

    ``name`` is the name that was asked for, ``id`` the one systemd makes its main name where the first is an
    alias. ``environment`` is None where the process can't be started (a mandatory EnvironmentFile= is missing).
    ``settings`` holds every effective line of all files in the order read, also those that were reset later,
    so that a question this type has no field for can still be answered; lines of ``[X-…]`` sections are there too.
    ``working_directory`` is a path or ``~``, and may be missing where ``working_directory_optional`` (``-/path``).
    """

    name: str
    load_state: LoadState
    fragment: str | None = None
    drop_ins: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    type: str = "simple"
    user: str | None = None
    group: str | None = None
    working_directory: str | None = None
    exec_start: tuple[ExecCommand, ...] = ()
    environment: Mapping[str, Variable] | None = None
    environment_files: tuple[EnvironmentFile, ...] = ()
    faults: tuple[Fault, ...] = ()
    user_manager: bool = False
    id: str = ""
    working_directory_optional: bool = False

    def values(self, section: str, name: str) -> tuple[Setting, ...]:
        """All lines of one setting, after the last reset (an empty assignment)."""
        found: list[Setting] = []
        for setting in self.settings:
            if setting.section == section and setting.name == name:
                if setting.value == "":
                    found.clear()
                else:
                    found.append(setting)
        return tuple(found)

    def value(self, section: str, name: str) -> Setting | None:
        """The line of a single-valued setting that wins; None where it is unset."""
        found = self.values(section, name)
        return found[-1] if found else None

    def variables(self) -> dict[str, str]:
        """The start environment as plain name to value; empty where the unit can't start."""
        return {name: variable.value for name, variable in (self.environment or {}).items()}


@dataclass(frozen=True)
class Hop:
    """One step of the launch chain: the program and what it does to the environment, with its place."""

    program: str
    what: str
    place: Place | None = None


@dataclass(frozen=True)
class Launch:
    """From ExecStart= to the process that does the work.

    ``argv`` is the last command of the chain; ``interpreter`` the Python that runs (a venv's own path, not
    resolved through symlinks), None where the program is no Python program; ``environment`` what that process
    really gets, each value with its place; ``container`` names docker/podman/… where the toolchain is inside an
    image. ``unknown`` says why the chain could not be followed to its end; ``directory`` is where the process starts.
    """

    argv: tuple[str, ...]
    interpreter: str | None
    environment: Mapping[str, Variable]
    hops: tuple[Hop, ...] = ()
    container: str | None = None
    unknown: str | None = None
    module: str | None = None
    directory: str = "/"

    def variables(self) -> dict[str, str]:
        """The environment as plain name to value."""
        return {name: variable.value for name, variable in self.environment.items()}


@dataclass(frozen=True)
class FileEdit:
    """A file's bytes before (None: it does not exist) and after. ``mode`` is for a file that is created."""

    path: str
    before: bytes | None
    after: bytes
    reason: str
    mode: int = 0o644


@dataclass(frozen=True)
class EditRefused:
    """A wanted value that could not be set, and why (read-only, the launch script sets it itself, …)."""

    name: str
    why: str
    place: Place | None = None
