"""CUDA libraries that the loader does not find."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from remedy.causes.entry import MendKind
from remedy.plan.draft import Draft
from remedy.plan.mends.build_tools import install
from remedy.plan.task import Mend, Task
from remedy.plan.toolkit import RELEASES
from remedy.plan.touched import edited
from remedy.view import View

_SONAME: Final = r"\blib(cudart|nvrtc|cublas|cublasLt|curand|cusparse|cusolver|cufft|nvJitLink|cupti)\.so\.(\d+)"

# Run-time packages whose soname carries CUDA's own major number.
_PACKAGES: Final = {"cudart": "cuda-cudart-{}", "nvrtc": "cuda-nvrtc-{}", "cublas": "libcublas-{}"}


def find_library(task: Task) -> Draft:
    """The folder that holds the library on LD_LIBRARY_PATH, or the package that brings it."""
    found = re.search(_SONAME, task.says())
    if not found:
        return task.draft.give_up("the missing library is none of the CUDA toolkit's")
    soname = found.group()
    entries = [entry for entry in task.env.get("LD_LIBRARY_PATH", "").split(":") if entry]
    searched = next((each for each in entries if task.now.view.stat(posixpath.join(each, soname))), None)
    if searched and edited(task.inputs):
        return task.draft
    if searched:
        return task.draft.give_up(f"{searched} is on LD_LIBRARY_PATH and holds {soname}, and yet it was not found")
    folder = next((each for each in _folders(task) if task.now.view.stat(posixpath.join(each, soname))), None)
    if folder is None:
        return _package(task, found[1], int(found[2]), soname)
    return task.draft.want({"LD_LIBRARY_PATH": ":".join([*entries, folder])})


def _folders(task: Task) -> Iterator[str]:
    """The interpreter's own CUDA wheels first, since torch was built against those, then the toolkits."""
    view, snapshot = task.now.view, task.draft.snapshot
    for site in snapshot.interpreter.site_packages if snapshot.interpreter else ():
        for name in _names(view, posixpath.join(site, "nvidia")):
            yield posixpath.join(site, "nvidia", name, "lib")
    for kit in snapshot.toolkits:
        yield posixpath.join(kit.root, "lib64")


def _names(view: View, folder: str) -> tuple[str, ...]:
    try:
        return view.list(folder)
    except OSError:
        return ()


def _package(task: Task, name: str, major: int, soname: str) -> Draft:
    """The run-time package of the newest release of that major that apt has."""
    pattern = _PACKAGES.get(name)
    releases = [release for release in reversed(RELEASES) if release[0] == major]
    names = [pattern.format("-".join(map(str, release))) for release in releases] if pattern else []
    known = task.inputs.apt.available(names) if names else {}
    for release, package in zip(releases, names, strict=False):
        if package in known:
            draft = install(task, package, f"it holds {soname}")
            folder = f"/usr/local/cuda-{release[0]}.{release[1]}/lib64"
            entries = [entry for entry in task.env.get("LD_LIBRARY_PATH", "").split(":") if entry]
            return draft.want({"LD_LIBRARY_PATH": ":".join([*entries, folder])})
    return task.draft.give_up(f"{soname} is nowhere on this machine, and apt has no package that holds it")


MENDS: Final[dict[MendKind, Mend]] = {"library-path": find_library}
