"""FlashInfer's cache: where it lies by release, and which entries keep an old toolkit in use.

The folder of a module holds its build record (``build.ninja``), objects and library; no part of its name depends
on the toolkit. From 0.4.0 to 0.6.11 an existing record is run as it stands, with the compiler that it names
(``JitSpec.build``); earlier and later releases write it anew, and ninja rebuilds what its commands changed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.facts.types import CacheEntry, Toolkit
from remedy.jit import caches, lookup, tables, torch_archs
from remedy.jit.flashinfer_archs import Archs
from remedy.jit.lookup import Found
from remedy.jit.types import Context, Problem, Requirement, StaleEntry
from remedy.jit.versions import at_least, between, cuda, dotted
from remedy.view import is_file


def folder(version: str, context: Context, archs: Archs) -> str:
    """The workspace of this release and architecture set; ``cached_ops`` lies in it."""
    base = lookup.home(context)
    if at_least(version, "0.2.5"):
        base = context.env.get("FLASHINFER_WORKSPACE_BASE", base)
    above = posixpath.join(base, ".cache/flashinfer")
    if at_least(version, "0.4.1"):
        above = posixpath.join(above, version)
    name = archs.folder if at_least(version, "0.4.0") else _torch_folder(context)
    return posixpath.join(above, name) if name else above


def _torch_folder(context: Context) -> str:
    """Up to 0.3.1 the folder is named after torch's flags, by their digits: ``90_120``, ``noarch`` where it raises."""
    archs = torch_archs.for_context(context)
    if archs.error or not archs.targets:
        return "noarch"
    return "_".join(sorted({target.rstrip("af") for target in archs.targets}))


def keeps_records(version: str) -> bool:
    """Whether this release runs an existing build.ninja without writing it anew."""
    return between(version, "0.4.0", "0.6.11.post1")


def stale(version: str, context: Context, workspace: str, found: Found, requires: Requirement) -> Iterator[StaleEntry]:
    """The entries in use that a repaired toolchain would not touch by itself."""
    for entry in caches.entries(context, posixpath.join(workspace, "cached_ops")):
        why = (_kept_record(entry, context, found) if keeps_records(version) else None) or _wrong(
            entry, context, found, requires, keeps_records(version)
        )
        if why:
            yield StaleEntry("flashinfer", entry, why)


def _kept_record(entry: CacheEntry, context: Context, found: Found) -> str | None:
    """A record that names another compiler than the one that the lookup gives now."""
    nvcc = recorded_nvcc(entry)
    if nvcc is None or found.nvcc is None or not found.exists:
        return None
    if not is_file(context.view, nvcc):
        return f"its build record runs {nvcc}, which is gone"
    if context.view.realpath(nvcc) != context.view.realpath(found.nvcc):
        return f"its build record runs {nvcc}, not {found.nvcc}"
    return None


def _wrong(entry: CacheEntry, context: Context, found: Found, requires: Requirement, kept: bool) -> str | None:
    """A built library of another CUDA major than its toolkit's now, or for no GPU that is here.

    The first happens where the toolkit behind an unchanged path was exchanged: ninja compares commands, not
    compilers.
    """
    nvcc = recorded_nvcc(entry)
    if kept or (nvcc is not None and nvcc == found.nvcc):
        version = lookup.version_of(context, found)
        majors = caches.cudart_majors(entry)
        if version and majors and version[0] not in majors:
            return f"it is linked with the runtime of CUDA {min(majors)}, the toolkit is {dotted(version)}"
    if kept and entry.targets and context.snapshot.capabilities and requires.targets:
        capabilities = context.snapshot.capabilities
        if not any(tables.runs_on(target, one) for target in entry.targets for one in capabilities):
            return f"it is built for {', '.join(sorted(entry.targets))}, which no GPU here runs"
    return None


def recorded_nvcc(entry: CacheEntry) -> str | None:
    """The compiler that an entry's build record runs."""
    if entry.nvcc and "$cuda_home" not in entry.nvcc:
        return entry.nvcc
    return posixpath.join(entry.cuda_home, "bin/nvcc") if entry.cuda_home else None


def problems(version: str, context: Context, found: Found, entries: tuple[StaleEntry, ...]) -> Iterator[Problem]:
    """What the stale entries do to a start: nothing as long as they load, a failure where they must be built.

    A library that is linked with the runtime of another CUDA major loads a second runtime into the process.
    """
    broken = [one for one in entries if not one.entry.built and not _can_still_build(context, one.entry)]
    for one in broken[:1]:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        text = f"FlashInfer {version} goes on with the old build of {one.entry.name}{more}: {one.why}"
        yield Problem("jit-cache-stale", text, (f"{one.entry.path}: {one.why}",), found.exists)
    rest = [one for one in entries if one not in broken]
    for one in rest[:1]:
        more = f" (and {len(rest) - 1} more)" if len(rest) > 1 else ""
        text = f"the cached {one.entry.name}{more} is of another toolchain: {one.why}"
        yield Problem("jit-cache-stale", text, (f"{one.entry.path}: {one.why}",), False)


def _can_still_build(context: Context, entry: CacheEntry) -> bool:
    """Whether the recorded compiler is there and knows the recorded targets (what is not known: yes)."""
    nvcc = recorded_nvcc(entry)
    if nvcc is None or not is_file(context.view, nvcc):
        return False
    kit: Toolkit | None = context.snapshot.toolkit_of_nvcc(nvcc)
    if kit is None or kit.version is None:
        return True
    release = kit.version[:2]
    interpreter = context.snapshot.interpreter
    torch = cuda(interpreter.torch_cuda) if interpreter else None
    known = all(tables.knows(release, target) is not False for target in entry.targets)
    return known and (torch is None or torch[0] == release[0])
