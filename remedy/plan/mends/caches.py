"""JIT caches that keep a fault alive: stale entries, locks of dead builds, folders that can't be written."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Final

from remedy.causes.entry import MendKind
from remedy.facts.types import JitCache
from remedy.plan.draft import Draft
from remedy.plan.task import Mend, Task
from remedy.plan.types import MoveCache
from remedy.value import replace

#: Where each library is told to keep its cache, with a folder below the new one. Not XDG_CACHE_HOME: downloaded
#: models lie below it too, and would be downloaded again.
VARIABLES: Final = {
    "flashinfer": ("FLASHINFER_WORKSPACE_BASE", ""),
    "torch": ("TORCH_EXTENSIONS_DIR", "torch_extensions"),
    "inductor": ("TORCHINDUCTOR_CACHE_DIR", "torchinductor"),
    "triton": ("TRITON_CACHE_DIR", "triton"),
    "tvm-ffi": ("TVM_FFI_CACHE_DIR", "tvm-ffi"),
    "sglang": ("SGLANG_CACHE_DIR", "sglang"),
    "vllm": ("VLLM_CACHE_ROOT", "vllm"),
    "deep-gemm": ("DG_JIT_CACHE_DIR", "deep_gemm"),
    "tilelang": ("TILELANG_CACHE_DIR", "tilelang"),
    "cupy": ("CUPY_CACHE_DIR", "cupy"),
    "numba-cuda": ("NUMBA_CACHE_DIR", "numba"),
}


def without(draft: Draft, moves: Iterable[MoveCache]) -> Draft:
    """The draft with these entries moved aside; the planned machine no longer has them."""
    new = {move.path: move for move in moves}
    gone = frozenset(new)
    caches = tuple(
        replace(
            cache,
            entries=tuple(entry for entry in cache.entries if entry.path not in gone),
            locks=tuple(lock for lock in cache.locks if lock not in gone),
        )
        for cache in draft.snapshot.caches
    )
    known = {move.path for move in draft.moves}
    added = tuple(move for path, move in new.items() if path not in known)
    return replace(draft, moves=(*draft.moves, *added), snapshot=replace(draft.snapshot, caches=caches))


def clear_stale(task: Task) -> Draft:
    """The entries that the libraries call stale, and those that the log's lines name."""
    stale = [
        MoveCache(one.entry.path, one.entry.size, one.library, one.why)
        for resolution in task.now.resolutions
        for one in resolution.stale
    ]
    said = task.says()
    named = [
        MoveCache(entry.path, entry.size, cache.library, "the failing log lines name it")
        for cache in task.draft.snapshot.caches
        for entry in cache.entries
        if entry.path in said
    ]
    if not stale and not named and not task.draft.moves:
        return task.draft.give_up("the log speaks of a stale JIT cache, but no entry here is one")
    return without(task.draft, [*named, *stale])


def clear_locks(task: Task) -> Draft:
    """The lock files that builds wait for; their makers are dead, since the service restarts."""
    said = [fact for problem in task.now.problems("jit-cache-locked") for fact in problem.facts]
    locks = [
        MoveCache(lock, 0, cache.library, "a killed build left it, and others wait for it")
        for cache in task.draft.snapshot.caches
        for lock in cache.locks
        if any(lock in fact for fact in said)
    ]
    if not locks:
        return task.draft.give_up("the log speaks of a locked JIT cache, but no lock file is here any more")
    return without(task.draft, locks)


def use_cache_directory(task: Task) -> Draft:
    """The caches moved to a folder that systemd makes and gives to the service's user (CacheDirectory=).

    See systemd.exec(5), RuntimeDirectory=. Changing owners is left to the administrator.
    """
    caches = _unwritable(task)
    if not caches:
        return task.draft.give_up("no JIT cache of this service is known to be unwritable")
    if task.inputs.manager.user:
        return task.draft.give_up(f"{caches[0].path} belongs to someone else: chown -R it to the service's user")
    given = task.now.service.variables().get("CACHE_DIRECTORY")
    chosen = task.inputs.service.name.removesuffix(".service").replace("@", "-")
    folder = given.partition(":")[0] if given else posixpath.join("/var/cache", chosen)
    values: dict[str, str | None] = {}
    planned: list[JitCache] = []
    home = _missing_home(task)
    for cache in caches:
        if home is not None and f"{cache.path}/".startswith(f"{home.rstrip('/')}/."):
            variable, value, path = "HOME", folder, folder + cache.path[len(home.rstrip("/")) :]
        else:
            variable, below = _variable(task, cache.library)
            value = path = posixpath.join(folder, below) if below else folder
        values[variable] = value
        planned.append(JitCache(cache.library, path, exists=False, size=0, writable=True))
    kept = tuple(cache for cache in task.draft.snapshot.caches if cache not in caches)
    draft = replace(task.draft, snapshot=replace(task.draft.snapshot, caches=(*kept, *planned)))
    if given is None:
        draft = draft.wish("Service", "CacheDirectory", chosen)
    return draft.want(values).warn(f"the kernels are built anew in {folder}: the first start takes longer")


def _variable(task: Task, library: str) -> tuple[str, str]:
    """The variable that decides here: SGLang gives DeepGEMM a folder of its own, whatever DG_JIT_CACHE_DIR says."""
    if library == "deep-gemm" and task.inputs.context.server == "sglang":
        return "SGLANG_DG_CACHE_DIR", "deep_gemm"
    if library == "sglang" and task.env.get("SGLANG_JIT_CACHE_DIR"):
        return "SGLANG_JIT_CACHE_DIR", "sglang/jit"
    return VARIABLES[library]


def _missing_home(task: Task) -> str | None:
    """The home folder where the service's user has none: ``/`` (DynamicUser=), or a path where nothing stands.

    A library that asks for ``~`` at import fails there before it reads a variable of its own, and nothing is lost by
    another HOME. A folder that may not be looked into is no missing one.
    """
    context = task.inputs.context
    home = posixpath.normpath(task.env.get("HOME") or context.home or "/")
    path = home
    while path != "/" and context.view.stat(posixpath.dirname(path)) is None:
        path = posixpath.dirname(path)
    try:
        missing = path == "/" or posixpath.basename(path) not in context.view.list(posixpath.dirname(path))
    except OSError:
        return None
    return home if missing else None


def _unwritable(task: Task) -> list[JitCache]:
    """The caches that can't be written and can be told elsewhere to be; those that the log names come too."""
    said = task.says()
    caches = [cache for cache in task.draft.snapshot.caches if cache.library in VARIABLES]
    found = [cache for cache in caches if cache.writable is False]
    return found or [cache for cache in caches if cache.writable is not True and cache.path in said]


MENDS: Final[dict[MendKind, Mend]] = {
    "stale-cache": clear_stale,
    "cache-lock": clear_locks,
    "cache-directory": use_cache_directory,
}
