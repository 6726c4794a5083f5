"""Triton 3: its own ptxas, a host C compiler, and Python.h; no toolkit (``knobs.py``, ``runtime/build.py``)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import caches, devices, judge, lookup, tables
from remedy.jit.tables import Capability
from remedy.jit.types import Context, Problem, Requirement, Resolution
from remedy.jit.versions import at_least, dotted
from remedy.view import is_executable, which

PLAIN: Final = "TRITON_PTXAS_PATH"
BLACKWELL: Final = "TRITON_PTXAS_BLACKWELL_PATH"


def suffix(version: str, capability: Capability) -> str:
    """Triton asks ptxas for ``sm_90a`` and, from 3.3 on, for the suffixed name of everything newer."""
    if capability[0] == 9 or (capability[0] > 9 and at_least(version, "3.3")):
        return "a"
    return ""


def variable(version: str, capability: Capability) -> str | None:
    """The variable that can replace the ptxas used for this GPU.

    From 3.6 on the plain one has no effect on Blackwell (3.9: on Hopper neither): ``get_ptxas`` parts them. 3.3
    parts them too, but looks for a variable with a hyphen in its name, which no unit can set.
    """
    found = tables.triton_ptxas(version, capability)
    if not found or not found[1]:
        return PLAIN
    return BLACKWELL if at_least(version, "3.6") else None


def _override(version: str, context: Context, capability: Capability) -> tuple[str | None, Version | None]:
    """The ptxas that the variable names, where it can be run, and its release as far as its toolkit is known."""
    path = context.env.get(variable(version, capability) or "")
    if not path or not is_executable(context.view, path):
        return None, None
    real = context.view.realpath(path)
    for kit in context.snapshot.toolkits:
        if real == context.view.realpath(posixpath.join(kit.root, "bin/ptxas")):
            return path, kit.version[:2] if kit.version else None
    return path, None


def ptxas_problems(version: str, context: Context, *, fatal: bool) -> Iterator[Problem]:
    """A ptxas that does not know a GPU: the bundled one, or the one that a variable put in its place."""
    for capability in devices.visible(context):
        target = tables.spelled(capability, suffix(version, capability))
        path, release = _override(version, context, capability)
        name = variable(version, capability)
        if path is None:
            bundled = tables.triton_ptxas(version, capability)
            release = bundled[0] if bundled else None
        if release is None:
            continue
        if tables.knows(release, target) is False:
            whose = f"{path} (from {name})" if path else f"the ptxas {dotted(release)} in Triton {version}"
            text = f"{whose} does not know sm_{target}; {_hint(version, context, capability, path)}"
            yield Problem(
                "ptxas-too-old", text, (f"ptxas is of CUDA {dotted(release)}",), fatal, name if path else None
            )
        elif path and release >= (13, 0) and not at_least(version, "3.5"):
            text = f"Triton {version} can't read the version of a ptxas of CUDA {dotted(release)} ({name}={path})"
            yield Problem("ptxas-too-old", text, (f"{name}={path}",), fatal, name)


def _hint(version: str, context: Context, capability: Capability, path: str | None) -> str:
    """What would help, and the variable that seems to but does not."""
    name = variable(version, capability)
    if name is None:
        return f"no variable replaces it in Triton {version}, a newer Triton does"
    if path is None and name == BLACKWELL and context.env.get(PLAIN):
        return f"{PLAIN} has no effect on this GPU, {BLACKWELL} has"
    minimum = tables.nvcc_minimum(capability, suffix(version, capability))
    return f"{name} can name a ptxas of CUDA {dotted(minimum)} or later" if minimum else f"{name} can name another"


def compiler_problems(context: Context, who: str, *, fatal: bool) -> Iterator[Problem]:
    """$CC as one word, else gcc, else clang: the launcher of every kernel is compiled with it."""
    path, named = context.env.get("PATH"), context.env.get("CC")
    if named:
        if which(context.view, named, path, lookup.UNSET_PATH) is None:
            text = f"{who} takes $CC as one program name: there is no {named!r}"
            yield Problem("host-compiler-missing", text, (f"CC={named}",), fatal, "CC")
        return
    if not any(which(context.view, name, path, lookup.UNSET_PATH) for name in ("gcc", "clang")):
        text = f"{who} needs a C compiler: neither gcc nor clang is on the unit's PATH, and CC is not set"
        yield Problem("host-compiler-missing", text, (), fatal)


def cache(context: Context) -> str:
    """TRITON_CACHE_DIR, else ``.triton/cache`` below TRITON_HOME or the home folder."""
    named = context.env.get("TRITON_CACHE_DIR")
    return named or posixpath.join(context.env.get("TRITON_HOME") or lookup.home(context), ".triton/cache")


def python_header_problems(context: Context, who: str, *, fatal: bool) -> Iterator[Problem]:
    """Python.h of the service's own interpreter."""
    needs = Requirement(python_headers=True)
    yield from judge.python_headers_are_there(judge.build(who, lookup.NOTHING, needs, context, fatal=fatal))


class Triton:
    """Kernels that are written in Python; part of nearly every model's start."""

    name = "triton"
    rank = 40
    frames = ("/triton/",)

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here; SGLang and vLLM can't start without it."""
        fatal = context.server in ("sglang", "vllm")
        who, folder = f"Triton {version}", cache(context)
        capabilities = devices.visible(context)
        problems = (
            *ptxas_problems(version, context, fatal=fatal),
            *compiler_problems(context, who, fatal=fatal),
            *python_header_problems(context, who, fatal=fatal),
            *caches.writable(context, who, folder, fatal=fatal),
        )
        path = _override(version, context, capabilities[-1])[0] if capabilities else None
        name = variable(version, capabilities[-1]) if path else None
        return Resolution(
            library=self.name,
            version=version,
            toolkit=posixpath.dirname(posixpath.dirname(path)) if path else None,
            found_by=name or "bundled",
            variable=name,
            requires=Requirement(python_headers=fatal, host_compiler=fatal),
            problems=problems,
            cache=folder,
            variables=(PLAIN, BLACKWELL, "CC", "TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_LIBCUDA_PATH"),
        )


LIBRARY: Final = Triton()
