"""What the snapshot knows of a library's cache: writable, locked, and which of its entries are stale."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.facts.types import CacheEntry, JitCache
from remedy.jit.types import Context, Problem


def known(context: Context, path: str) -> JitCache | None:
    """The cache at a path, else the one that the path lies in, else the nearest one within it."""
    every = context.snapshot.caches
    for cache in every:
        if cache.path == path:
            return cache
    above = [cache for cache in every if path.startswith(cache.path.rstrip("/") + "/")]
    if above:
        return max(above, key=lambda cache: len(cache.path))
    return next((cache for cache in every if cache.path.startswith(path.rstrip("/") + "/")), None)


def entries(context: Context, folder: str) -> tuple[CacheEntry, ...]:
    """The entries that stand directly or deeper in a folder."""
    prefix = folder.rstrip("/") + "/"
    return tuple(entry for cache in context.snapshot.caches for entry in cache.entries if entry.path.startswith(prefix))


def writable(context: Context, who: str, path: str, *, fatal: bool) -> Iterator[Problem]:
    """A cache that the service's user can't write.

    One cache may hold folders of several releases; one that this release never touches is no matter.
    """
    cache = known(context, path)
    if cache is None or cache.writable is not False or not _concerns(cache.why, path):
        return
    why = f": {cache.why}" if cache.why else ""
    text = f"{who} writes its cache to {path}, which user {context.user} can't write{why}"
    yield Problem("jit-cache-unwritable", text, (f"{cache.path} is not writable by {context.user}",), fatal)


def _concerns(why: str | None, path: str) -> bool:
    """Whether a reason, which begins with the folder that refused, speaks of this path, a parent or a child."""
    refused = (why or "").partition(" is ")[0].partition(" can't ")[0].rstrip("/")
    if not refused.startswith("/"):
        return True
    return path == refused or path.startswith(f"{refused}/") or refused.startswith(f"{path}/")


def locked(context: Context, who: str, folder: str, *, fatal: bool) -> Iterator[Problem]:
    """Lock files whose mere presence makes others wait (torch's FileBaton)."""
    prefix = folder.rstrip("/") + "/"
    for cache in context.snapshot.caches:
        for lock in cache.locks:
            if lock.startswith(prefix):
                name = posixpath.basename(posixpath.dirname(lock))
                text = f"{who} waits for {lock}: a build of {name} that was killed left it"
                yield Problem("jit-cache-locked", text, (f"{lock} exists",), fatal)


def idle(context: Context) -> bool:
    """Whether the service is known not to run, so that no process of it holds a lock."""
    state = context.snapshot.state
    return state is not None and state.active_state in ("failed", "inactive")


def cudart_majors(entry: CacheEntry) -> frozenset[int]:
    """The CUDA majors of the runtimes that a built module loads (``libcudart.so.12``)."""
    found = (name.rpartition(".so.")[2].partition(".")[0] for name in entry.needed if name.startswith("libcudart.so."))
    return frozenset(int(major) for major in found if major.isdecimal())
