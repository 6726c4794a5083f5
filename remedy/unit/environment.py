"""The environment that a service's process starts with, each variable with the place that decides it.

systemd.exec(5), "Environment Variables in Spawned Processes"; exec_context_load_environment(), build_environment()
and exec_child() of src/core/execute.c (exec-invoke.c from 255 on). Later sources win: the manager's block, login
variables, ExecSearchPath=, PassEnvironment=, Environment=, EnvironmentFile=; UnsetEnvironment= comes last.
"""

from __future__ import annotations

from collections.abc import Iterator

from remedy.unit import envfile
from remedy.unit.accounts import Login, is_strict_name, login_of, may_know_more
from remedy.unit.assemble import Assembly
from remedy.unit.names import prefix_of
from remedy.unit.paths import has_wildcards, runtime_directory
from remedy.unit.specifiers import Subject, logs_directory, state_directory
from remedy.unit.types import SYSTEMD, EnvironmentFile, Fault, Manager, Place, Variable
from remedy.unit.values import BOOLEANS, flag, is_name
from remedy.unit.verify import has_credentials
from remedy.unit.words import BadSyntax, is_utf8, split
from remedy.value import dataclass, field
from remedy.view import View

#: An EnvironmentFile= that names this reads as empty.
_NULL = "/dev/null"


class _CannotStart(Exception):
    """The process would not be started; what is wrong stands in the faults."""


@dataclass
class _Block:
    """An environment that is put together: what is set later wins, and remembers what it beat."""

    values: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[Place]] = field(default_factory=dict)

    def set(self, name: str, value: str, place: Place) -> None:
        self.values[name] = value
        self.places.setdefault(name, []).append(place)

    def variables(self) -> dict[str, Variable]:
        return {name: self._variable(name, value) for name, value in self.values.items()}

    def _variable(self, name: str, value: str) -> Variable:
        source, *beaten = dict.fromkeys(reversed(self.places[name]))
        return Variable(name, value, source, tuple(place for place in beaten if place != SYSTEMD))


@dataclass(frozen=True)
class Start:
    """The outcome: ``variables`` is None where the process can't be started."""

    variables: dict[str, Variable] | None
    user: str | None


def build(assembly: Assembly, kind: str, subject: Subject) -> Start:
    """The start environment; faults that come to light on the way are added to the assembly."""
    manager = subject.manager
    dynamic = flag(assembly.settings, "Service", "DynamicUser")
    user = assembly.user.text if assembly.user else None
    if dynamic and user is None and is_strict_name(prefix_of(subject.unit)):
        user = prefix_of(subject.unit)
    block = _Block()
    try:
        for name, value in manager.environment.items():
            block.set(name, value, manager.environment_places.get(name, SYSTEMD))
        for name, value in _from_manager(assembly, kind, subject):
            block.set(name, value, SYSTEMD)
        for name, value in _login(assembly, user, dynamic, subject):
            block.set(name, value, SYSTEMD)
        for name, value, place in _directories(assembly, subject):
            block.set(name, value, place)
        if assembly.search_path:
            joined = ":".join(word.text for word in assembly.search_path)
            block.set("PATH", joined, assembly.search_path[-1].place)
        for word in assembly.passed:
            if word.text in manager.process_environment:
                block.set(word.text, manager.process_environment[word.text], word.place)
        for word in assembly.environment:
            name, _, value = word.text.partition("=")
            block.set(name, value, word.place)
        for wanted in assembly.environment_files:
            for assignment, place in _file(wanted, subject.view, manager, assembly.faults):
                block.set(assignment.name, assignment.value, place)
    except _CannotStart:
        return Start(None, user)
    return Start(_unset(block.variables(), assembly), user)


def _unset(variables: dict[str, Variable], assembly: Assembly) -> dict[str, Variable]:
    names = {word.text for word in assembly.unset}
    if not names:
        return variables
    return {
        name: variable
        for name, variable in variables.items()
        if name not in names and f"{name}={variable.value}" not in names
    }


def _from_manager(assembly: Assembly, kind: str, subject: Subject) -> Iterator[tuple[str, str]]:
    """What the manager tells a service of itself (systemd.exec(5), from $NOTIFY_SOCKET to $PIDFILE)."""
    runtime = runtime_directory(subject.manager)
    access = "none"
    watchdog = False
    for setting in assembly.settings:
        if setting.section == "Service" and setting.name == "NotifyAccess":
            access = setting.value if setting.value in ("none", "main", "exec", "all") else access
        elif setting.section == "Service" and setting.name == "WatchdogSec":
            watchdog = setting.value.strip() not in ("", "0", "infinity")
    if access != "none" or kind in ("notify", "notify-reload") or watchdog:
        yield "NOTIFY_SOCKET", f"{runtime}/systemd/notify"
    if assembly.pid_file is not None:
        yield "PIDFILE", assembly.pid_file.text


def _login(assembly: Assembly, user: str | None, dynamic: bool, subject: Subject) -> Iterator[tuple[str, str]]:
    """HOME, LOGNAME, SHELL and USER. From 255 on USER is always set, and SetLoginEnvironment= decides on the rest."""
    manager = subject.manager
    explicit, pam = _login_settings(assembly)
    # From 256 on passwd decides on root and nobody as well where login variables are asked for.
    look_up = manager.version >= 256 and (explicit is True or pam)
    login = _known_login(assembly, user, dynamic, subject, look_up)
    full = user is not None or dynamic
    if manager.version >= 255:
        if login is None and not dynamic and user is None and not manager.user:
            login = Login("root", "/root", manager.shell)
        full = (full or (pam and manager.version >= 256)) if explicit is None else explicit
    home = login.home if login else None
    if home is None and assembly.working_directory is not None and assembly.working_directory.text == "~":
        home = manager.home if manager.version < 255 or full else None
        full = full or manager.version < 255
    if home is not None and full:
        yield "HOME", home
    if login is not None:
        if full:
            yield "LOGNAME", login.name
        yield "USER", login.name
        if login.shell is not None and full:
            yield "SHELL", login.shell


def _login_settings(assembly: Assembly) -> tuple[bool | None, bool]:
    """SetLoginEnvironment=, None where it is not set, and whether there is a PAMName=."""
    explicit: bool | None = None
    pam = False
    for setting in assembly.settings:
        if setting.section == "Service" and setting.name == "SetLoginEnvironment":
            explicit = BOOLEANS.get(setting.value.lower(), explicit) if setting.value else None
        elif setting.section == "Service" and setting.name == "PAMName":
            pam = bool(setting.value)
    return explicit, pam


def _known_login(assembly: Assembly, user: str | None, dynamic: bool, subject: Subject, look_up: bool) -> Login | None:
    if user is None:
        return None
    if dynamic:
        return Login(user, None, None)
    login = login_of(subject.view, user, subject.manager.shell, look_up=look_up)
    if login is None:
        place = assembly.user.place if assembly.user else SYSTEMD
        if may_know_more(subject.view):
            assembly.faults.append(Fault("user-unresolved", f"the user {user} is not in /etc/passwd", place))
        else:
            mend = f"name an existing user, or create it: useradd --system {user}"
            assembly.faults.append(Fault("user-unknown", f"the user {user} does not exist", place, mend))
            raise _CannotStart
    return login


def _directories(assembly: Assembly, subject: Subject) -> Iterator[tuple[str, str, Place]]:
    """$STATE_DIRECTORY and its kin, $CREDENTIALS_DIRECTORY, $LOG_NAMESPACE."""
    manager = subject.manager
    bases = {
        "RuntimeDirectory": ("RUNTIME_DIRECTORY", runtime_directory(manager)),
        "StateDirectory": ("STATE_DIRECTORY", state_directory(manager)),
        "CacheDirectory": ("CACHE_DIRECTORY", subject.expand("%C")),
        "LogsDirectory": ("LOGS_DIRECTORY", logs_directory(manager)),
        "ConfigurationDirectory": ("CONFIGURATION_DIRECTORY", subject.expand("%E")),
    }
    found: dict[str, list[str]] = {}
    places: dict[str, Place] = {}
    for setting in assembly.settings:
        if setting.section == "Service" and setting.name in bases:
            places[setting.name] = setting.place
            known = found.setdefault(setting.name, [])
            if not setting.value:
                known.clear()
            for part in _directory_names(setting.value, subject):
                if part not in known:
                    known.append(part)
    for name, (variable, base) in bases.items():
        if found.get(name):
            # systemd sorts them from 252 on, so that parents come before what lies in them.
            parts = sorted(found[name]) if manager.version >= 252 else found[name]
            yield variable, ":".join(f"{base}/{part}" for part in parts), places[name]
    if has_credentials(assembly):
        yield "CREDENTIALS_DIRECTORY", f"{runtime_directory(manager)}/credentials/{subject.unit}", SYSTEMD


def _directory_names(value: str, subject: Subject) -> Iterator[str]:
    try:
        for word, _ in split(value, escapes=False):
            path = subject.expand(word.partition(":")[0])
            parts = [part for part in path.split("/") if part not in ("", ".")]
            if parts and not path.startswith("/") and ".." not in parts and parts[0] != "private":
                yield "/".join(parts)
    except ValueError:
        return


def _paths(view: View, wanted: str) -> list[str]:
    if not has_wildcards(wanted):
        return [wanted]
    from remedy.unit import glob

    return glob.expand(view, wanted, strict=True)


def _file(
    wanted: EnvironmentFile, view: View, manager: Manager, faults: list[Fault]
) -> Iterator[tuple[envfile.Assignment, Place]]:
    """The good assignments of the files that one EnvironmentFile= names. Raises _CannotStart.

    A file that we may not read is one that systemd may: what it holds is unknown, and the start is not ruled out.
    """
    try:
        paths = _paths(view, wanted.path)
    except PermissionError:
        faults.append(_hidden(wanted.path, wanted.source))
        return
    if not paths:
        _missing(wanted, faults)
    for path in paths:
        try:
            assignments = _read(view, path, manager.version)
        except PermissionError:
            faults.append(_hidden(path, wanted.source))
            continue
        except FileNotFoundError:
            _missing(wanted, faults)
            continue
        except (OSError, BadSyntax) as bad:
            reason = bad.strerror if isinstance(bad, OSError) else str(bad)
            mend = f"correct {path}; systemd-analyze verify does not look into it"
            faults.append(Fault("environment-file-unreadable", f"{path}: {reason}", wanted.source, mend))
            if wanted.optional:
                continue
            raise _CannotStart from None
        for assignment in assignments:
            place = Place(path, assignment.line)
            if is_name(assignment.name):
                yield assignment, place
            else:
                faults.append(_name_fault(assignment.name, assignment.value, place))


def _missing(wanted: EnvironmentFile, faults: list[Fault]) -> None:
    """A file that is not there: nothing to say of an optional one, the end of any other start."""
    if not wanted.optional:
        mend = f"create {wanted.path}, or write EnvironmentFile=-{wanted.path} if it may be missing"
        faults.append(Fault("environment-file-missing", f"{wanted.path} does not exist", wanted.source, mend))
        raise _CannotStart


def _hidden(path: str, place: Place) -> Fault:
    return Fault("environment-file-hidden", f"{path} may not be read by this user: its variables are unknown", place)


def _read(view: View, path: str, version: int) -> list[envfile.Assignment]:
    """All assignments of a file. Raises OSError, or BadSyntax where systemd refuses the file as a whole."""
    if path == _NULL:
        return []
    text = view.read(path).decode("utf-8", "surrogateescape")
    if "\0" in text:
        raise BadSyntax("there is a NUL byte in the file: systemd refuses all of it")
    assignments = list(envfile.parse(text, version))
    if not text.isascii():
        for assignment in assignments:
            if not is_utf8(assignment.name) or not is_utf8(assignment.value):
                raise BadSyntax(f"line {assignment.line} is not valid UTF-8: systemd refuses the whole file")
    return assignments


def _name_fault(name: str, value: str, place: Place) -> Fault:
    shown = name if len(name) <= 60 else name[:60] + "…"
    if name.startswith("export ") and is_name(name[7:].strip()):
        meant = name[7:].strip()
        mend = f"write {meant}=… without export: this is no shell script"
        text = f"“export” makes this no assignment, ignored: {shown}"
        return Fault("environment-file-export", text, place, mend, meant, value)
    return Fault("invalid-assignment", f"not the name of a variable, ignored: {shown}", place)
