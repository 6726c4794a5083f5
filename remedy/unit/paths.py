"""Paths as systemd takes them, and the directories that it looks for units in.

path_simplify(), path_is_valid(), path_is_normalized() of src/basic/path-util.c; systemd.unit(5), "Unit File Load
Path"; lookup_paths_init() of src/basic/path-lookup.c.
"""

from __future__ import annotations

from remedy.unit.types import Manager
from remedy.unit.words import is_utf8
from remedy.view import View

#: Both count the closing NUL.
PATH_MAX = 4096
NAME_MAX = 255


def simplify(path: str, version: int) -> str:
    """Double and trailing slashes and ``.`` parts taken out; ``..`` stays, but at the root from 256 on."""
    absolute = path.startswith("/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if absolute and version >= 256:
        while parts and parts[0] == "..":
            del parts[0]
    return ("/" if absolute else "") + "/".join(parts) or "."


def is_valid(path: str) -> bool:
    """No part and no path longer than the kernel takes."""
    return bool(path) and _size(path) < PATH_MAX and all(_size(part) <= NAME_MAX for part in path.split("/"))


def is_filename(text: str) -> bool:
    """A name that can stand in a directory."""
    return bool(text) and text not in (".", "..") and "/" not in text and _size(text) <= NAME_MAX


def is_normalized(path: str) -> bool:
    """No ``..`` part (``simplify`` leaves no other oddity)."""
    return ".." not in path.split("/")


def has_wildcards(path: str) -> bool:
    """Whether glob(7) takes it for a pattern."""
    return not frozenset("*?[\\").isdisjoint(path)


def clean_absolute(path: str, version: int) -> str:
    """A path setting's value as systemd stores it. Raises ValueError with the reason where it is refused."""
    if not is_utf8(path):
        raise ValueError("the path is not valid UTF-8")
    if not path.startswith("/"):
        raise ValueError(f"the path is not absolute: {path}")
    clean = simplify(path, version)
    if not is_valid(clean):
        raise ValueError("the path is too long")
    if not is_normalized(clean):
        raise ValueError(f"the path is not normalized: {clean}")
    return clean


def search_path(view: View, manager: Manager) -> tuple[str, ...]:
    """The directories with unit files, those that win first. Directories that are the same come once."""
    wanted = _user_path(manager) if manager.user else _system_path(manager)
    found: dict[str, str] = {}
    for directory in wanted:
        found.setdefault(view.realpath(directory), directory)
    return tuple(found.values())


def runtime_directory(manager: Manager) -> str:
    """What %t and RuntimeDirectory= lie under."""
    return manager.environment.get("XDG_RUNTIME_DIR", f"/run/user/{manager.uid}") if manager.user else "/run"


def _system_path(manager: Manager) -> list[str]:
    # Debian built systemd up to 254 for a split /usr: fragments of packages are spelled /lib/… there.
    vendor = ["/usr/lib/systemd/system"]
    if manager.version < 255:
        vendor.insert(0, "/lib/systemd/system")
    return [
        "/etc/systemd/system.control",
        "/run/systemd/system.control",
        "/run/systemd/transient",
        "/run/systemd/generator.early",
        "/etc/systemd/system",
        "/etc/systemd/system.attached",
        "/run/systemd/system",
        "/run/systemd/system.attached",
        "/run/systemd/generator",
        "/usr/local/lib/systemd/system",
        *vendor,
        "/run/systemd/generator.late",
    ]


def _user_path(manager: Manager) -> list[str]:
    env = manager.environment
    config = env.get("XDG_CONFIG_HOME", f"{manager.home}/.config")
    data = env.get("XDG_DATA_HOME", f"{manager.home}/.local/share")
    runtime = runtime_directory(manager)
    config_dirs = env.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
    data_dirs = env.get("XDG_DATA_DIRS", "/usr/local/share:/usr/share").split(":")
    return [
        f"{config}/systemd/user.control",
        f"{runtime}/systemd/user.control",
        f"{runtime}/systemd/transient",
        f"{runtime}/systemd/generator.early",
        f"{config}/systemd/user",
        *(f"{directory}/systemd/user" for directory in config_dirs if directory),
        "/etc/systemd/user",
        f"{runtime}/systemd/user",
        "/run/systemd/user",
        f"{runtime}/systemd/generator",
        f"{data}/systemd/user",
        *(f"{directory}/systemd/user" for directory in data_dirs if directory),
        "/usr/local/lib/systemd/user",
        "/usr/local/share/systemd/user",
        "/usr/lib/systemd/user",
        "/usr/share/systemd/user",
        f"{runtime}/systemd/generator.late",
    ]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))
