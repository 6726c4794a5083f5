"""What a start needs and this machine does not have: the program of ExecStart=, the directory of WorkingDirectory=.

systemd.exec(5), "Process exit codes": 200/CHDIR and 203/EXEC are how such a start ends.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.unit.types import Fault, Place, Service
from remedy.unit.values import flag
from remedy.view import View

#: The kinds of what is said here.
ABSENCES = ("program-absent", "directory-absent")
#: A unit with one of these sees other files than stand here.
_OWN_FILES = (
    "RootDirectory", "RootImage", "BindPaths", "BindReadOnlyPaths", "MountImages", "ExtensionImages",
    "ExtensionDirectories", "TemporaryFileSystem",
)  # fmt: skip
#: Directories that systemd makes, whose paths the environment has.
_GIVEN = ("RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY")
#: Commands that run before the program, and may be what makes it.
_BEFORE = ("ExecStartPre", "ExecCondition")
# linux/binfmts.h, BINPRM_BUF_SIZE
_FIRST_LINE = 256
#: No script is longer.
_SCRIPT_LIMIT = 1 << 20


def absent(service: Service, view: View) -> Iterator[Fault]:
    """What the next start would end of before any program of the service's has run. Only what is certain: nothing is
    said of what may not be seen by this user, or is made by the start itself."""
    if _may_be_otherwise(service):
        return
    yield from _directory(service, view)
    command = service.exec_start[0] if service.exec_start else None
    if command is None or "-" in command.prefixes or not command.path.startswith("/"):
        return
    why = _not_run(command.path, view)
    if why:
        mend = "write the path of the program as it is now, or install it there"
        yield Fault("program-absent", f"{command.path} {why}", command.source, mend)


def _may_be_otherwise(service: Service) -> bool:
    """Whether a start of the unit may see more than stands here now, or is not meant for this machine."""
    before = (setting.value for name in _BEFORE for setting in service.values("Service", name))
    if any(service.values("Service", name) for name in _OWN_FILES) or not all(
        "remedy check" in line for line in before
    ):
        return True
    for setting in service.settings:
        # systemd passes over a start whose conditions don't hold, and mounts what the unit wants before it.
        if setting.section == "Unit" and (setting.name.startswith("Condition") or "Mount" in setting.name):
            return True
        if setting.section == "Unit" and ".mount" in setting.value:
            return True
    return False


def _directory(service: Service, view: View) -> Iterator[Fault]:
    path = service.working_directory
    if path is None or not path.startswith("/") or service.working_directory_optional:
        return
    given = [folder for name in _GIVEN for folder in service.variables().get(name, "").split(":") if folder]
    if flag(service.settings, "Service", "PrivateTmp") or flag(service.settings, "Service", "DynamicUser"):
        given += ["/tmp", "/var/tmp"]
    if any(f"{path}/".startswith(f"{folder}/") for folder in given):
        return
    line = service.value("Service", "WorkingDirectory")
    place = line.place if line else Place(service.fragment or service.name, 0)
    if _is_absent(path, view):
        yield Fault(
            "directory-absent",
            f"{path} does not exist",
            place,
            f"install -d -o {service.user or 'root'} {path}, or correct the path",
        )
    elif (found := view.stat(path)) is not None and found.kind != "directory":
        yield Fault("directory-absent", f"{path} is no directory", place, "name a directory")


def _not_run(path: str, view: View) -> str | None:
    """Why the kernel would not execute a file, execve(2): it, or what its first line names, is missing; None where
    nothing is against it."""
    if _is_absent(path, view):
        return "does not exist"
    found = view.stat(path)
    if found is None:
        return None
    if found.kind == "directory":
        return "is a directory"
    if not found.executable:
        return "is not executable"
    try:
        first = view.read(path, _SCRIPT_LIMIT)[:_FIRST_LINE].split(b"\n", 1)[0]
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    interpreter = words[0].decode(errors="replace") if words else ""
    if interpreter.startswith("/") and _is_absent(interpreter, view):
        return f"is a script for {interpreter}, which does not exist"
    return None


def _is_absent(path: str, view: View) -> bool:
    """Whether nothing stands at a path for certain: the folder that would hold it, or the nearest one there is, can be
    listed and does not have it."""
    real = view.realpath(path)
    if view.stat(real) is not None:
        return False
    missing = real
    while view.lstat(parent := posixpath.dirname(missing)) is None and parent != "/":
        missing = parent
    try:
        return posixpath.basename(missing) not in view.list(parent)
    except NotADirectoryError:
        return True
    except OSError:
        return False
