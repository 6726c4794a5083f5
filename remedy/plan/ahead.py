"""Kernel modules that the planned start will need built: they are built ahead of it, while the old service runs.

Where a module's place is empty a rollback empties it again, and where it is not, what stands there is moved aside.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from remedy.facts.types import CacheEntry, Snapshot
from remedy.hints import Final
from remedy.jit import caches, flashinfer_cache, tables
from remedy.jit.types import Resolution
from remedy.plan.draft import Draft
from remedy.plan.inputs import Inputs
from remedy.plan.outlook import Outlook
from remedy.plan.types import MoveCache, Step
from remedy.value import dataclass

LIBRARY: Final = "flashinfer"
#: Libraries that write their build record at each load, and build again what it changes (torch/utils/cpp_extension.py,
#: tvm_ffi/cpp/extension.py).
REBUILT: Final = ("tvm-ffi", "torch")

# FlashInfer: jit/core.py logs the module that it loads; ninja names the folder in each command; and a traceback has
# the generator, which is named after the module.
_NAMED: Final = (r"Loading JIT ops: ([\w-]{1,200})", r"/cached_ops/([\w-]{1,200})/", r"\bin gen_(\w{1,200}?)_module\b")


def named(lines: Iterable[str]) -> tuple[str, ...]:
    """FlashInfer's modules that these lines of a log name, in order."""
    patterns = [re.compile(pattern) for pattern in _NAMED]
    found = (match[1] for line in lines for pattern in patterns for match in pattern.finditer(line))
    return tuple(name for name in dict.fromkeys(found) if name != "tmp")


def folder(resolutions: Iterable[Resolution]) -> str | None:
    """The folder that FlashInfer keeps its modules in."""
    return next((one.cache for one in resolutions if one.library == LIBRARY), None)


@dataclass(frozen=True)
class Build:
    """One module of a library to build: ``probe`` is the file that knows how, ``arguments`` what it is called with."""

    library: str
    name: str
    probe: str
    arguments: Mapping[str, str]


def builds(steps: Iterable[Step], planned: Iterable[Resolution], snapshot: Snapshot) -> Iterator[Build]:
    """What can be built into the room that these steps make; ``snapshot`` is of before."""
    by_library = {one.library: one for one in planned}
    here = {entry.path: entry for cache in snapshot.caches for entry in cache.entries}
    for step in steps:
        found = by_library.get(step.library) if isinstance(step, MoveCache) else None
        if not isinstance(step, MoveCache) or found is None or found.cache is None:
            continue
        above, name = posixpath.split(step.path)
        if step.library == LIBRARY and above == found.cache:
            yield Build(LIBRARY, name, "flashinfer_module", {"name": name, "path": step.path})
        elif step.library in REBUILT and found.toolkit and (entry := here.get(step.path)) and entry.cuda_home:
            roots = {"path": step.path, "old": entry.cuda_home, "new": found.toolkit.rstrip("/")}
            yield Build(step.library, name, "recorded_module", roots)


def modules(inputs: Inputs, draft: Draft, outlook: Outlook) -> Iterator[MoveCache]:
    """Room for the modules that failed, that were left half built, that the cache of before holds elsewhere, and that
    would be built again."""
    planned = folder(outlook.resolutions)
    if planned is None or outlook.launch.interpreter is None:
        return
    here = {entry.path: entry for cache in draft.snapshot.caches for entry in cache.entries}
    taken = {move.path for move in draft.moves}
    for entry in here.values():
        if posixpath.dirname(entry.path) == planned and not entry.built:
            taken.add(entry.path)
            yield MoveCache(entry.path, entry.size, LIBRARY, "its build came to no end")
    for name, why in _wanted(inputs, planned).items():
        path = posixpath.join(planned, name)
        if path not in here and path not in taken:
            yield MoveCache(path, 0, LIBRARY, why, new=True)
    yield from (move for move in rebuilt(inputs, outlook) if move.path not in taken)


def rebuilt(inputs: Inputs, outlook: Outlook) -> Iterator[MoveCache]:
    """What its library would find built by another compiler, or by the same one under another path, and build again."""
    for resolution in outlook.resolutions:
        if not _writes_records(resolution) or not resolution.cache or not resolution.toolkit:
            continue
        nvcc = posixpath.join(resolution.toolkit, "bin/nvcc")
        for entry in caches.entries(inputs.context, resolution.cache):
            before = flashinfer_cache.recorded_nvcc(entry) if entry.nvcc else None
            if entry.cuda_home and before not in (None, nvcc) and _runs_here(entry, inputs):
                why = f"{before} built it, and {resolution.library} builds it again with {nvcc}"
                yield MoveCache(entry.path, entry.size, resolution.library, why)


def _writes_records(resolution: Resolution) -> bool:
    """Whether the library writes its build record anew, so that ninja builds whatever the record changes."""
    flashinfer = resolution.library == LIBRARY and not flashinfer_cache.keeps_records(resolution.version)
    return flashinfer or resolution.library in REBUILT


def _wanted(inputs: Inputs, planned: str) -> dict[str, str]:
    """Names of modules, and why each is wanted."""
    wanted = dict.fromkeys(named(line.text for line in inputs.snapshot.journal), "the failing log names it")
    # RELEASE/TARGETS/cached_ops/MODULE: of the same release, for other targets.
    release = posixpath.dirname(posixpath.dirname(planned))
    for entry in (entry for cache in inputs.snapshot.caches for entry in cache.entries):
        above = posixpath.dirname(entry.path)
        if above != planned and posixpath.dirname(posixpath.dirname(above)) == release and _runs_here(entry, inputs):
            wanted.setdefault(entry.name, f"the cache of before holds it in {above}")
    return wanted


def _runs_here(entry: CacheEntry, inputs: Inputs) -> bool:
    """Whether a GPU that is here could have run it."""
    return entry.built and any(
        tables.runs_on(target, one) for target in entry.targets for one in inputs.snapshot.capabilities
    )
