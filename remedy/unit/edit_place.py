"""Which files may be changed where they lie, and where remedy's own drop-in goes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from remedy.unit.types import Manager, Service
from remedy.view import View

Writable = Callable[[str], bool]

# Unit files that are made by programs: packages, generators, `systemctl set-property`.
_MADE = ("/usr/lib/", "/lib/", "/run/", "/etc/systemd/system.control/", "/nix/", "/gnu/")
# An EnvironmentFile= that is not the service's own: pam_env and other programs read it as well.
_SHARED = frozenset({"/etc/environment", "/etc/profile", "/etc/default/locale", "/etc/locale.conf"})
# How much is looked through for other units that read a file.
_UNITS_LIMIT = 500
_UNIT_SIZE = 64 * 1024
DROP_IN = "50-remedy.conf"


def unit_folder(manager: Manager) -> str:
    """Where an administrator's unit files lie: systemd.unit(5), UNIT FILE LOAD PATH."""
    return f"{manager.home}/.config/systemd/user" if manager.user else "/etc/systemd/system"


def keeps_unit_file(service: Service, view: View, path: str, manager: Manager, writable: Writable | None) -> str | None:
    """Why a unit file may not be changed in place; None where it may."""
    real = view.realpath(path)
    if _serves_other_units(service, posixpath.basename(posixpath.dirname(path))):
        return f"{path} is read by other units as well"
    own = ("/etc/", f"{manager.home}/.config/") if manager.user else ("/etc/",)
    if path.startswith(own) and not real.startswith(own):
        return f"{path} is a link to {real}, which is kept elsewhere"
    if real.startswith(_MADE) or not real.startswith(own):
        return f"{path} belongs to a package or a generator: a change would be overwritten"
    return _unwritable(view, real, writable)


def _serves_other_units(service: Service, folder: str) -> bool:
    """Drop-in folders of a whole type (service.d) or of a prefix (foo-.service.d): systemd.unit(5), Description."""
    if folder == f"{service.id or service.name}.d":
        return False
    return folder == "service.d" or re.search(r"-(@.*)?\.service\.d$", folder) is not None


def keeps_environment_file(view: View, path: str, manager: Manager, writable: Writable | None) -> str | None:
    """Why an EnvironmentFile= may not be changed in place; None where it may."""
    real = view.realpath(path)
    if real in _SHARED:
        return f"{path} is read by other programs as well"
    if real.startswith(_MADE) or (real.startswith("/usr/") and not real.startswith("/usr/local/")):
        return f"{path} belongs to a package or a generator: a change would be overwritten"
    if path.startswith("/etc/") and not real.startswith("/etc/"):
        return f"{path} is a link to {real}, which is kept elsewhere"
    if not manager.user and not root_alone_writes(view, real):
        return f"{path} can be changed by others than root"
    return _unwritable(view, real, writable)


def root_alone_writes(view: View, path: str) -> bool:
    """Whether only root can change what stands at a path: the file and every folder above it."""
    while True:
        found = view.stat(path)
        if found is None or found.uid != 0 or found.mode & 0o002 or (found.mode & 0o020 and found.gid != 0):
            return False
        if path == "/":
            return True
        path = posixpath.dirname(path)


def _unwritable(view: View, real: str, writable: Writable | None) -> str | None:
    found = view.stat(real)
    if found is None or found.kind != "file":
        return f"{real} is no regular file"
    if writable is not None and not writable(real):
        return f"{real} can't be written (read-only file system, or an immutable file)"
    return None


def drop_in_paths(service: Service, view: View, manager: Manager, writable: Writable | None) -> tuple[str, ...]:
    """Where a drop-in of remedy's can go, the best name first; empty where none can.

    systemd sorts drop-ins of all folders by name and the last one wins. 50-remedy.conf is the name; where a later
    one decides, zz-50-remedy.conf; where one sorts even after that, its own name with ``~50-remedy`` added. A name
    that another folder uses for this unit is not taken, because it would hide that file.
    """
    folder = f"{unit_folder(manager)}/{service.id or service.name}.d"
    real = view.realpath(folder)
    own = (f"{manager.home}/.config/",) if manager.user else ("/etc/",)
    if not real.startswith(own) or (writable is not None and not writable(folder)):
        return ()
    foreign = {posixpath.basename(path) for path in service.drop_ins if posixpath.dirname(path) != real}
    last = max((posixpath.basename(path) for path in service.drop_ins), default="")
    names = [DROP_IN, f"zz-{DROP_IN}"]
    if last > names[-1] and not last.endswith(f"~{DROP_IN}"):
        names.append(f"{last.removesuffix('.conf')}~{DROP_IN}")
    return tuple(f"{real}/{name}" for name in names if name not in foreign)


def other_readers(view: View, path: str, manager: Manager, own: tuple[str, ...]) -> list[str]:
    """The administrator's units that name a file too: what an edit of it reaches as well."""
    folder = unit_folder(manager)
    try:
        names = view.list(folder)[:_UNITS_LIMIT]
    except OSError:
        return []
    found = []
    for name in names:
        unit = f"{folder}/{name}"
        if name.endswith(".service") and unit not in own and view.realpath(unit) not in own:
            try:
                if path.encode("utf-8", "surrogateescape") in view.read(unit, _UNIT_SIZE):
                    found.append(name)
            except OSError:
                continue
    return found
