"""What each JIT library would compile with here, and what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from remedy.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from remedy.facts.types import Version
    from remedy.jit.types import Context, Library, Resolution


@cache
def libraries() -> tuple[Library, ...]:
    """Every library that this folder knows, most important first: each module that defines ``LIBRARY``."""
    from remedy.listing import modules

    every: list[Library] = [one.LIBRARY for one in modules(__name__, __path__) if hasattr(one, "LIBRARY")]
    return tuple(sorted(every, key=lambda library: library.rank))


def resolve_all(context: Context) -> tuple[Resolution, ...]:
    """The answers of all libraries that the service's interpreter holds, most important first."""
    from remedy.jit.servers import effective

    interpreter = context.snapshot.interpreter
    if interpreter is None:
        return ()
    seen = effective(context)
    found: list[Resolution] = []
    for library in libraries():
        version = next((held for name in library.distributions if (held := interpreter.dist_version(name))), None)
        if version is not None:
            found.append(library.resolve(version, seen))
    return without_details(tuple(found))


# What a toolkit may lack, as against what it is.
_LACKS = ("cuda-headers-missing", "cuda-library-not-linkable", "nvcc-not-found")


def without_details(resolutions: tuple[Resolution, ...]) -> tuple[Resolution, ...]:
    """What a toolkit lacks does not matter where its release is wrong for one library: it is replaced for all."""
    from remedy.value import replace

    wrong = {
        resolution.toolkit
        for resolution in resolutions
        for problem in resolution.problems
        if problem.fatal and problem.cause in ("nvcc-too-old", "nvcc-too-new")
    }
    return tuple(
        replace(one, problems=tuple(problem for problem in one.problems if problem.cause not in _LACKS))
        if one.toolkit in wrong
        else one
        for one in resolutions
    )


def arch_list(flashinfer: str, capabilities: Iterable[tuple[int, int]], cuda: Version) -> str | None:
    """FLASHINFER_CUDA_ARCH_LIST for these GPUs with this toolkit, None where this release reads or needs none."""
    from remedy.jit.flashinfer_archs import arch_list as for_release

    return for_release(flashinfer, capabilities, cuda)


def suffix_for(flashinfer: str, capability: tuple[int, int], cuda: Version) -> str | None:
    """The suffix that this release of FlashInfer gives a GPU with this CUDA; None where it refuses to build."""
    from remedy.jit.flashinfer_archs import suffix_for as for_release

    return for_release(flashinfer, capability, cuda)
