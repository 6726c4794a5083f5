"""JIT caches: what lies in them, what it was built with, and whether the service may write there."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from remedy.facts.accounts import Account, account_of
from remedy.facts.build_record import BuildRecord, parse_build_ninja
from remedy.facts.cache_places import CachePlace, cache_places
from remedy.facts.names import listing, text_of
from remedy.facts.rights import barred, may_write
from remedy.facts.sandbox import NO_SANDBOX, Sandbox
from remedy.facts.types import CacheEntry, Interpreter, JitCache
from remedy.view import View, is_directory

#: More modules than this in one cache are not read: the rest would not change a diagnosis.
MAX_ENTRIES = 1000
#: More files and folders than this are not counted for a size: a diagnosis is not to wait for them.
MAX_FILES = 1000
_CUDA_LIBRARIES = ("libcu", "libnv")


def read_caches(
    view: View,
    env: Mapping[str, str],
    interpreter: Interpreter | None,
    account: Account | None,
    sandbox: Sandbox = NO_SANDBOX,
) -> tuple[JitCache, ...]:
    """The caches that exist, and those that a library of the interpreter would make. Never raises."""
    dists = interpreter.dists if interpreter else {}
    home, user = (account.home, account.name) if account else ("/", "")
    found: list[JitCache] = []
    for place in dict.fromkeys(cache_places(env, home, user)):
        if view.stat(place.path) is not None or any(name in dists for name in place.distributions):
            found.append(read_cache(view, place, account, sandbox))
    return tuple(found)


def read_cache(view: View, place: CachePlace, account: Account | None, sandbox: Sandbox = NO_SANDBOX) -> JitCache:
    """One cache folder."""
    path = posixpath.normpath(place.path)
    folder = view.stat(path)
    why = _unseen(view, path)
    folders = [path]
    entries: list[CacheEntry] = []
    locks: list[str] = []
    for parent in _module_parents(view, place):
        folders.append(parent)
        for name in listing(view, parent):
            # torch's FileBaton, up to 2.13: the mere existence of the file says that someone builds.
            if view.lstat(f"{parent}/{name}/lock") is not None:
                locks.append(f"{parent}/{name}/lock")
            entry = _entry(view, f"{parent}/{name}")
            if entry is not None and len(entries) < MAX_ENTRIES:
                entries.append(entry)
                folders.append(entry.path)
    shut, refused = sandbox.refusal(view.realpath(path), account), None
    if account and not _becomes_own(view, sandbox, path, account):
        refused = _refused(view, [sandbox.outside(view.realpath(folder)) for folder in folders], account)
    return JitCache(
        library=place.library,
        path=path,
        exists=folder is not None,
        size=_size(view, path) if place.layout == "opaque" else sum(entry.size for entry in entries),
        entries=tuple(entries),
        writable=False if shut else None if account is None or why else refused is None,
        locks=tuple(locks),
        why=shut or why or refused,
        owner=_owner(view, folder.uid) if folder else None,
    )


def _owner(view: View, uid: int) -> str:
    account = account_of(view, str(uid))
    return account.name if account else str(uid)


def _size(view: View, path: str) -> int | None:
    """The bytes of all files below a folder; None where there are more than MAX_FILES of them, folders counted."""
    folders, files, total = [path], 0, 0
    while folders:
        folder = folders.pop()
        for name in listing(view, folder):
            files += 1
            if files > MAX_FILES:
                return None
            found = view.lstat(f"{folder}/{name}")
            if found is not None and found.kind == "directory":
                folders.append(f"{folder}/{name}")
            elif found is not None:
                total += found.size
    return total


def _becomes_own(view: View, sandbox: Sandbox, path: str, account: Account) -> bool:
    """Whether the start itself gives the service what stands at a path: in a folder that is new each time, or in one
    of CacheDirectory= and its kin, which systemd hands over with all that is in it where the owner is another.
    """
    rule = sandbox.gives(view.realpath(path))
    if rule is None or rule.kind != "own":
        return rule is not None
    found = view.stat(rule.path)
    return found is None or found.uid != account.uid


def _refused(view: View, folders: list[str], account: Account) -> str | None:
    """Why a user can't write in all of these folders; the nearest existing parent counts for a missing one."""
    for folder in folders:
        path = folder
        while (found := view.stat(path)) is None and path != "/":
            path = posixpath.dirname(path)
        if found is None or found.kind != "directory":
            return f"{path} is no directory"
        if not may_write(found, account):
            return f"{path} is not writable by {account.name} (owner {found.uid}, mode {found.mode:04o})"
        if why := barred(view, path, account):
            return why
    return None


def _unseen(view: View, path: str) -> str | None:
    """Why what lies at a path can't be told; None where it can be listed, or is certainly not there."""
    try:
        view.list(path)
    except PermissionError:
        return f"{path} may not be read by this user"
    except OSError:
        return None
    return None


def _module_parents(view: View, place: CachePlace) -> Iterator[str]:
    """The folders whose children are modules."""
    root = posixpath.normpath(place.path)
    if place.layout == "modules":
        yield root
    elif place.layout == "tagged":
        yield from (f"{root}/{tag}" for tag in listing(view, root) if is_directory(view, f"{root}/{tag}"))
    elif place.layout == "flashinfer":
        for name in listing(view, root):
            for folder in (f"{root}/{name}", *(f"{root}/{name}/{archs}" for archs in listing(view, f"{root}/{name}"))):
                if is_directory(view, f"{folder}/cached_ops"):
                    yield f"{folder}/cached_ops"


def _needed(view: View, library: str) -> frozenset[str]:
    # Most diagnoses meet no module that was built.
    from remedy.facts.elf import needed

    return needed(view, library)


def _entry(view: View, path: str) -> CacheEntry | None:
    """The module in a folder; None where the folder is none (lock files, temporary folders)."""
    files = {name: view.lstat(f"{path}/{name}") for name in listing(view, path)}
    library = next((name for name in files if name.endswith(".so")), None)
    if library is None and "build.ninja" not in files:
        return None
    record = parse_build_ninja(text_of(view, f"{path}/build.ninja")) if "build.ninja" in files else BuildRecord()
    libraries = _needed(view, f"{path}/{library}") if library else frozenset()
    stamp = files.get(library or "build.ninja")
    return CacheEntry(
        name=posixpath.basename(path),
        path=path,
        size=sum(found.size for found in files.values() if found),
        built=library is not None,
        cuda_home=record.cuda_home,
        nvcc=record.nvcc,
        targets=record.targets,
        needed=frozenset(name for name in libraries if name.startswith(_CUDA_LIBRARIES)),
        mtime_ns=stamp.mtime_ns if stamp else 0,
    )
