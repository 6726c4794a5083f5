"""The manager of a tree that is not running: what its files say that a service would inherit.

systemd-system.conf(5), machine-id(5), os-release(5), machine-info(5), locale.conf(5).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

from remedy.errors import UsageError
from remedy.unit import envfile
from remedy.unit.accounts import Login, login_of
from remedy.unit.document import parse
from remedy.unit.paths import simplify
from remedy.unit.specifiers import BadSpecifier, Subject
from remedy.unit.types import Manager, Place
from remedy.unit.values import is_assignment
from remedy.unit.words import BadSyntax, next_word
from remedy.value import replace
from remedy.view import View, is_directory

#: Rules of older managers are not known here (Debian 11 has 247).
OLDEST = 247
_FULL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
_SPLIT_PATH = f"{_FULL_PATH}:/sbin:/bin"
_LIBRARY_DIRECTORIES = (
    "/usr/lib/systemd", "/lib/systemd", "/usr/lib64/systemd",
    "/usr/lib/x86_64-linux-gnu/systemd", "/usr/lib/aarch64-linux-gnu/systemd",
)  # fmt: skip
#: systemd's private libraries; their names go on with its version.
_LIBRARIES = ("libsystemd-shared-", "libsystemd-core-")
#: The specifiers of DefaultEnvironment=, which is no unit's: from 249 on, and more of them from 256 on.
_SPECIFIERS = frozenset("aAbBHlqmMovwWTV%")
_MORE_SPECIFIERS = _SPECIFIERS | frozenset("gGuUhs")


def manager_from(
    view: View, version: int | None = None, user: str | None = None, *, kernel_release: str = "", boot_id: str = ""
) -> Manager:
    """The system manager of a tree, or the one of ``systemd --user`` of a user in it.

    ``version`` None: the one whose library is installed there, else the newest known. Kernel (%v) and boot (%b) are
    not the tree's: words with them are ignored where they are not given. Raises UsageError for a version without
    known rules or an unknown user.
    """
    version = version or version_in(view) or 257
    if version < OLDEST:
        raise UsageError(f"systemd {version} is older than {OLDEST}, the oldest whose rules are known")
    shell = _root_shell(view, version)
    login = login_of(view, user or "root", shell)
    if login is None:
        raise UsageError(f"the user {user} is not in /etc/passwd")
    home = login.home or "/"
    uid, gid = _ids(view, login.name)
    environment = _initial(view, version, login, uid, user is not None)
    bare = Manager(
        version=version,
        user=user is not None,
        environment=environment,
        hostname=_line(view, "/etc/hostname") or "localhost",
        machine_id=_line(view, "/etc/machine-id"),
        boot_id=boot_id,
        kernel_release=kernel_release,
        uid=uid,
        gid=gid,
        user_name=login.name,
        home=home,
        process_environment=_process(environment, login, user is not None),
        group_name=_group(view, gid),
        shell=login.shell or shell,
        pretty_hostname=(_env_file(view, "/etc/machine-info", version) or {}).get("PRETTY_HOSTNAME", ""),
        os_release=_os_release(view, version),
    )
    return with_configuration(bare, view)


def with_configuration(manager: Manager, view: View) -> Manager:
    """The same manager with DefaultEnvironment= and ManagerEnvironment= of its configuration files.

    %h and %s are what the manager's own HOME and SHELL say, where it has them.
    """
    entries = [
        (entry.name, entry.value, Place(path, entry.first))
        for path in _configuration(view, manager)
        for entry in parse(_read(view, path) or b"").entries
        if entry.section == "Manager" and entry.kind == "assignment"
    ]
    process = dict(manager.process_environment)
    if manager.version >= 248:
        process |= {name: value for name, (value, _) in _assigned("ManagerEnvironment", entries, manager, view).items()}
    home, shell = process.get("HOME", ""), process.get("SHELL", "")
    manager = replace(
        manager,
        process_environment=process,
        home=simplify(home, manager.version) if home.startswith("/") else manager.home,
        shell=simplify(shell, manager.version) if shell.startswith("/") else manager.shell,
    )
    defaults = _assigned("DefaultEnvironment", entries, manager, view)
    return replace(
        manager,
        environment={**manager.environment, **{name: value for name, (value, _) in defaults.items()}},
        environment_places={**manager.environment_places, **{name: place for name, (_, place) in defaults.items()}},
    )


def version_in(view: View) -> int | None:
    """The systemd of a tree, by the name of its private library; None where there is none."""
    for directory in _LIBRARY_DIRECTORIES:
        try:
            entries = view.list(directory)
        except OSError:
            continue
        for entry in entries:
            if entry.startswith(_LIBRARIES):
                digits = "".join(takewhile(str.isdecimal, entry.split("-")[2]))
                if digits:
                    return int(digits)
    return None


def _assigned(
    setting: str, entries: list[tuple[str, str, Place]], manager: Manager, view: View
) -> dict[str, tuple[str, Place]]:
    """The variables of a setting of the manager's own, with their places; an empty assignment resets them."""
    found: dict[str, tuple[str, Place]] = {}
    for name, value, place in entries:
        if name == setting and not value:
            found.clear()
        elif name == setting:
            for word in _words(value, manager, view):
                if is_assignment(word):
                    variable, _, content = word.partition("=")
                    found[variable] = (content, place)
    return found


def _words(value: str, manager: Manager, view: View) -> Iterator[str]:
    subject = Subject("", "/", manager, view)
    allowed = _MORE_SPECIFIERS if manager.version >= 256 else _SPECIFIERS
    position = 0
    while True:
        try:
            word, _, position = next_word(value, position, escapes=True)
            if word is None:
                return
            if manager.version < 249:
                yield word
            elif "%" not in word or set(re.findall("%([0-9A-Za-z%])", word)) <= allowed:
                yield subject.expand(word)
        except BadSyntax:
            return
        except BadSpecifier:
            continue


def _configuration(view: View, manager: Manager) -> list[str]:
    """The configuration files in the order read: one main file, then drop-ins by name."""
    name = "user.conf" if manager.user else "system.conf"
    directories = ["/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"]
    mains = [f"{directory}/{name}" for directory in (directories if manager.version >= 255 else directories[:1])]
    found: dict[str, str] = {}
    for directory in directories:
        try:
            entries = view.list(f"{directory}/{name}.d")
        except OSError:
            continue
        for entry in entries:
            if entry.endswith(".conf") and not entry.startswith("."):
                found.setdefault(entry, f"{directory}/{name}.d/{entry}")
    main = next((path for path in mains if view.stat(path) is not None), None)
    return [*([main] if main else []), *(found[entry] for entry in sorted(found))]


def _initial(view: View, version: int, login: Login, uid: int, user: bool) -> dict[str, str]:
    """The block before DefaultEnvironment=: PATH as systemd was built, LANG from the locale's configuration."""
    locale = _env_file(view, "/etc/locale.conf", version) or _env_file(view, "/etc/default/locale", version) or {}
    block = {"PATH": _default_path(view, version), "LANG": locale.get("LANG", "C.UTF-8")}
    block |= {name: value for name, value in locale.items() if name.startswith("LC_") or name == "LANGUAGE"}
    if user:
        block |= {"HOME": login.home or "/", "LOGNAME": login.name, "USER": login.name}
        block |= {"SHELL": login.shell or "/bin/sh", "XDG_RUNTIME_DIR": f"/run/user/{uid}"}
    return block


def _process(environment: Mapping[str, str], login: Login, user: bool) -> dict[str, str]:
    """What the manager itself runs with. A system manager in a container has HOME, on bare metal it has none."""
    return dict(environment) if user else {"PATH": _SPLIT_PATH, "HOME": login.home or "/root", "LANG": "C.UTF-8"}


def _default_path(view: View, version: int) -> str:
    if version < 255:
        return _SPLIT_PATH
    if version < 256 or _is_split(view, "/usr/sbin", "/usr/bin"):
        return _FULL_PATH
    if _is_split(view, "/usr/local/sbin", "/usr/local/bin"):
        return "/usr/local/sbin:/usr/local/bin:/usr/bin"
    return "/usr/local/bin:/usr/bin"


def _is_split(view: View, one: str, other: str) -> bool:
    """Whether they are two directories; so it is taken to be where one can't be looked at."""
    return not is_directory(view, one) or view.realpath(one) != view.realpath(other)


def _root_shell(view: View, version: int) -> str:
    # A tree with no /bin at all is only a part of one: then as on Debian.
    if version >= 251 and (view.stat("/bin/bash") is not None or not is_directory(view, "/bin")):
        return "/bin/bash"
    return "/bin/sh"


def _ids(view: View, name: str) -> tuple[int, int]:
    for fields in _records(view, "/etc/passwd", 7):
        if fields[0] == name and fields[2].isdecimal() and fields[3].isdecimal():
            return int(fields[2]), int(fields[3])
    return 0, 0


def _group(view: View, gid: int) -> str:
    named = (fields[0] for fields in _records(view, "/etc/group", 3) if fields[2] == str(gid))
    return "root" if gid == 0 else next(named, str(gid))


def _records(view: View, path: str, fields: int) -> list[list[str]]:
    lines = (_read(view, path) or b"").decode("utf-8", "surrogateescape").split("\n")
    return [parts for parts in (line.split(":") for line in lines) if len(parts) >= fields]


def _os_release(view: View, version: int) -> dict[str, str] | None:
    found = _env_file(view, "/etc/os-release", version)
    return found if found is not None else _env_file(view, "/usr/lib/os-release", version)


def _env_file(view: View, path: str, version: int) -> dict[str, str] | None:
    data = _read(view, path)
    if data is None:
        return None
    text = data.decode("utf-8", "surrogateescape")
    return {assignment.name: assignment.value for assignment in envfile.parse(text, version)}


def _line(view: View, path: str) -> str:
    """The first line that says something."""
    text = (_read(view, path) or b"").decode("utf-8", "replace")
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")


def _read(view: View, path: str) -> bytes | None:
    try:
        return view.read(posixpath.normpath(path))
    except OSError:
        return None
