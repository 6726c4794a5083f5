"""What a build needs beside the toolkit: ninja, a host compiler that nvcc accepts, Python's headers."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Final

from remedy.causes.entry import MendKind
from remedy.facts.types import HostCompiler, Version, numbers
from remedy.jit import tables
from remedy.jit.versions import dotted
from remedy.plan.draft import Draft
from remedy.plan.environment import with_folder
from remedy.plan.task import Mend, Task
from remedy.plan.types import InstallPackages
from remedy.value import replace
from remedy.view import is_executable, which

# The lowest gcc that compiles what the libraries write (C++17 throughout, C++20 in some).
_LOWEST_GCC: Final = 9
# The variables that name a host compiler, to the libraries or to nvcc.
_NAMING: Final = ("CC", "CXX", "NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


def install(task: Task, name: str, reason: str) -> Draft:
    """The draft with a distribution's package installed, or given up with apt's reason; as it is where apt has done
    that already."""
    simulation = task.inputs.apt.simulate((name,))
    if simulation.errors:
        return task.draft.give_up(f"apt can't install {name}: {simulation.errors[0]}")
    requested = tuple(f"{change.name}={change.version}" for change in simulation.changes if change.name == name)
    if not requested:
        return task.draft
    return task.draft.install(InstallPackages(requested, simulation.changes, "", reason=reason))


def find_ninja(task: Task) -> Draft:
    """The ninja beside the service's interpreter on PATH, behind all else; without one, the distribution's."""
    view, python = task.now.view, task.inputs.snapshot.interpreter
    if which(view, "ninja", task.env.get("PATH")):
        return task.draft
    folders = [posixpath.dirname(python.path), posixpath.join(python.prefix, "bin")] if python else []
    folder = next((each for each in folders if is_executable(view, posixpath.join(each, "ninja"))), None)
    if folder:
        return task.draft.want({"PATH": with_folder(task.env.get("PATH", ""), folder)})
    draft = install(task, "ninja-build", "the JIT builds run ninja from PATH, and there is none")
    return replace(draft, programs=draft.programs | {"/usr/bin/ninja"})


def find_compiler(task: Task) -> Draft:
    """A gcc that nvcc accepts: PATH's own where a variable names nothing, one that is here, else the distribution's."""
    nvcc = _nvcc(task)
    highest = tables.highest_gcc(nvcc) if nvcc else None
    plain, dead = _plain(task), _dead(task)
    whole = plain and all(which(task.now.view, name, task.env.get("PATH")) for name in ("g++", "c++"))
    if plain and accepted(plain.version, highest) and (dead or (whole and task.cause == "host-compiler-missing")):
        return task.draft.want(dead)
    here = next(_versioned(task, highest), None)
    if here:
        return _use(task.draft, task.env, here)
    offered = task.inputs.apt.available(["g++", *(f"g++-{number}" for number in _numbers(highest))])
    default = numbers(offered["g++"].version.rpartition(":")[2]) if "g++" in offered else None
    if accepted(default, highest) and not (plain and which(task.now.view, "g++", task.env.get("PATH"))):
        return _with_compiler(install(task, "g++", "nvcc needs a host compiler"), "", default or ()).want(dead)
    number = next((each for each in _numbers(highest) if f"g++-{each}" in offered), None)
    if number is None:
        limit = f" up to {highest}" if highest else ""
        return task.draft.give_up(f"nvcc needs a gcc{limit}: none is here, and apt has none")
    draft = install(task, f"g++-{number}", f"nvcc accepts gcc up to {highest}")
    return _use(_with_compiler(draft, f"-{number}", (number,)), task.env, number)


def _nvcc(task: Task) -> Version | None:
    """The release of the nvcc that will be used."""
    if task.draft.toolkit:
        return task.draft.toolkit.version
    return next((one.nvcc_version for one in task.now.resolutions if one.nvcc_version), None)


def _plain(task: Task) -> HostCompiler | None:
    """The gcc that PATH finds."""
    path = which(task.now.view, "gcc", task.env.get("PATH"))
    known = (one for one in task.draft.snapshot.compilers if one.command in ("gcc", "g++", "c++") and one.version)
    return next(known, None) if path else None


def _dead(task: Task) -> dict[str, None]:
    """The variables that name a compiler which is not there."""
    return {
        name: None
        for name in _NAMING
        for word in task.env.get(name, "").replace("=", " ").split()
        if word.startswith("/") and task.now.view.stat(word) is None
    }


def accepted(version: Version | None, highest: int | None) -> bool:
    """Whether nvcc takes a gcc of this version; an unknown limit excludes none."""
    return bool(version) and _LOWEST_GCC <= (version or (0,))[0] <= (highest or 999)


def _numbers(highest: int | None) -> Iterator[int]:
    yield from range(highest or 14, _LOWEST_GCC - 1, -1)


def _versioned(task: Task, highest: int | None) -> Iterator[int]:
    """The versioned gcc that are here with their C++ side, newest first."""
    for number in _numbers(highest):
        if all(is_executable(task.now.view, f"/usr/bin/{name}-{number}") for name in ("gcc", "g++")):
            yield number


def _use(draft: Draft, env: Mapping[str, str], number: int) -> Draft:
    """Name a versioned gcc to everyone: CC and CXX to the libraries, ``-ccbin`` to nvcc where they don't hand it on.

    TVM-FFI and SGLang call nvcc without ``-ccbin``; nvcc reads NVCC_PREPEND_FLAGS itself (nvcc's manual, 4.2.9).
    """
    flag = f"-ccbin=/usr/bin/g++-{number}"
    others = [word for word in env.get("NVCC_PREPEND_FLAGS", "").split() if "ccbin" not in word]
    draft = replace(draft, snapshot=replace(draft.snapshot, compilers=(*_named(number), *draft.snapshot.compilers)))
    return draft.want(
        {
            "CC": f"/usr/bin/gcc-{number}",
            "CXX": f"/usr/bin/g++-{number}",
            "NVCC_PREPEND_FLAGS": " ".join([flag, *others]),
        }
    )


def _named(number: int) -> tuple[HostCompiler, ...]:
    paths = (f"/usr/bin/gcc-{number}", f"/usr/bin/g++-{number}")
    return tuple(HostCompiler(path, path, "gcc", (number,)) for path in paths)


def _with_compiler(draft: Draft, suffix: str, version: Version) -> Draft:
    """The planned machine with this gcc installed."""
    names = ("gcc", "g++", "cc", "c++") if not suffix else (f"gcc{suffix}", f"g++{suffix}")
    compilers = tuple(HostCompiler(name, f"/usr/bin/{name}", "gcc", version) for name in names)
    snapshot = replace(draft.snapshot, compilers=(*compilers, *draft.snapshot.compilers))
    programs = frozenset(f"/usr/bin/{name}" for name in names)
    return replace(draft, snapshot=snapshot, programs=draft.programs | programs)


def find_python_headers(task: Task) -> Draft:
    """Python.h of the service's interpreter, from the package that its own python comes from."""
    python = task.inputs.snapshot.interpreter
    if python is None or not python.version:
        return task.draft.give_up("which Python the service runs is not known, so neither are its headers")
    if python.headers:
        return task.draft
    release = dotted(python.version[:2])
    real = task.now.view.realpath(python.path)
    if not real.startswith("/usr/bin/"):
        return task.draft.give_up(
            f"{real} is no package's Python: its headers (Python.h of {release}) must come from where it came from"
        )
    draft = install(task, f"python{release}-dev", f"builds include Python.h of Python {release}")
    headers = replace(python, headers=f"/usr/include/python{release}")
    return replace(draft, snapshot=replace(draft.snapshot, interpreter=headers))


MENDS: Final[dict[MendKind, Mend]] = {
    "ninja": find_ninja,
    "host-compiler": find_compiler,
    "python-headers": find_python_headers,
}
