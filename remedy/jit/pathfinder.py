"""cuda-pathfinder's order: wheels in the interpreter, conda, then CUDA_PATH and CUDA_HOME."""

from __future__ import annotations

import posixpath

from remedy.jit import lookup, servers
from remedy.jit.lookup import Found
from remedy.jit.types import Context, Requirement, Resolution
from remedy.jit.versions import at_least


def root(context: Context) -> Found:
    """The root that it finds; 1.9 and later read CUDA_PATH before CUDA_HOME, earlier releases the other way round."""
    interpreter = context.snapshot.interpreter
    for site in interpreter.site_packages if interpreter else ():
        for name in ("nvidia/cu13", "nvidia/cuda_nvrtc"):
            folder = posixpath.join(site, name)
            if context.view.stat(folder) is not None:
                return lookup.at(context, folder, "wheel")
    conda = context.env.get("CONDA_PREFIX")
    if conda:
        return lookup.at(context, conda, "CONDA_PREFIX", "CONDA_PREFIX")
    version = servers.version(context, "cuda-pathfinder")
    names = ["CUDA_PATH", "CUDA_HOME"]
    if version is not None and not at_least(version, "1.9"):
        names.reverse()
    for name in names:
        if context.env.get(name):
            return lookup.at(context, context.env[name], name, name)
    return lookup.from_default(context) or lookup.NOTHING


def resolution(
    library: str,
    version: str,
    context: Context,
    found: Found,
    *,
    cache: str | None,
    variables: tuple[str, ...],
    nvcc: str | None = None,
) -> Resolution:
    """The answer of a library whose compiler is in a wheel: what it found; of a toolkit it requires nothing."""
    return Resolution(
        library=library,
        version=version,
        toolkit=found.root,
        found_by=found.by,
        variable=found.variable,
        nvcc=nvcc,
        nvcc_version=lookup.version_of(context, found),
        requires=Requirement(),
        cache=cache,
        variables=variables,
    )
