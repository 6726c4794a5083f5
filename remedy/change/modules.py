"""Modules that a start which failed has built with the new toolkit: they go with it.

The folders' names are noted before the restart. What came since, and whose build record names the new toolkit, was
built by that start, unless a process that still runs uses it: then it is another service's, and stays.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator

from remedy.change.caches import remove
from remedy.change.paths import Folder, as_root, folder_of
from remedy.change.types import ModulesBefore
from remedy.errors import RemedyError
from remedy.facts.build_record import parse_build_ninja

#: Names in one folder beyond which it is not kept track of: a ledger's record is no place for them.
_MOST = 5000
#: Bytes of a build record that are read; the largest of FlashInfer's have some ten thousand.
_BYTES = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def look(folders: Iterable[str]) -> tuple[ModulesBefore, ...]:
    """Note what stands in each folder. One that can't be looked into is left out: nothing is taken from it later."""
    found: list[ModulesBefore] = []
    for path in dict.fromkeys(folders):
        with contextlib.suppress(OSError, RemedyError):
            names = _names(path)
            if len(names) <= _MOST:
                found.append(ModulesBefore(path, names))
    return tuple(found)


def _names(path: str) -> tuple[str, ...]:
    try:
        with folder_of(os.path.join(path, "x")) as (folder, _):
            return tuple(sorted(os.listdir(folder.fd)))
    except FileNotFoundError:
        return ()


def take_away(before: ModulesBefore, toolkit: str, transaction: str, *, rebooted: bool = False) -> tuple[str, ...]:
    """Delete what came since and was built with ``toolkit``; returns what stays because a process uses it. Where the
    machine has ``rebooted`` since, also what a power cut has left without a build record: it would not be built anew.

    May be done twice. Raises OSError and RemedyError where the folder can't be reached or changed any more.
    """
    stays: list[str] = []
    try:
        with folder_of(os.path.join(before.folder, "x")) as (folder, _):
            aside = f".remedy-{transaction[:150]}-built"
            remove(folder, aside)
            for name in sorted(set(os.listdir(folder.fd)) - set(before.names)):
                record = _record(folder, name)
                if record is None or not (_names_toolkit(record, toolkit) or (rebooted and not record.strip("\0"))):
                    continue
                with as_root():
                    used = _used(f"/{os.path.basename(before.folder)}/{name}")
                if used:
                    stays.append(os.path.join(before.folder, name))
                    continue
                # Under its own name a module that is half deleted could be taken for a whole one.
                os.rename(name, aside, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
                remove(folder, aside)
            os.fsync(folder.fd)
    except FileNotFoundError:
        pass
    return tuple(stays)


def _record(folder: Folder, name: str) -> str | None:
    """A module's build record, empty where there is none yet; None for what is no module. Read with the rights of the
    folder's owner."""
    try:
        module = os.open(name, _READ | os.O_DIRECTORY, dir_fd=folder.fd)
    except OSError:
        return None
    try:
        fd = os.open("build.ninja", _READ, dir_fd=module)
    except FileNotFoundError:
        return None if os.listdir(module) else ""
    except OSError:
        return None
    finally:
        os.close(module)
    with open(fd, "rb") as file:
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
        return file.read(_BYTES).decode(errors="replace") if regular else None


def _names_toolkit(text: str, toolkit: str) -> bool:
    record = parse_build_ninja(text)
    return record.cuda_home == toolkit or (record.nvcc or "").startswith(f"{toolkit}/")


def _used(end: str) -> bool:
    """Whether a process has mapped a file of the module, works in its folder, or builds it (proc(5)). The end of the
    path is compared: a mount namespace may show another beginning."""
    within, own = f"{end}/", str(os.getpid())
    for process in filter(str.isdigit, os.listdir("/proc")):
        if process != own and any(within in text or text.endswith(end) for text in _mentions(f"/proc/{process}")):
            return True
    return False


def _mentions(process: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield os.readlink(f"{process}/cwd")
    for name, separator in (("cmdline", "\0"), ("maps", "\n")):
        with contextlib.suppress(OSError), open(f"{process}/{name}", "rb") as file:
            yield from file.read().decode(errors="replace").split(separator)
