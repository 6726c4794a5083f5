"""What each JIT library would compile with here, and what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from remedy.hints import TYPE_CHECKING, Final
from remedy.listing import module, module_names, modules

if TYPE_CHECKING:
    from remedy.facts.types import Interpreter, Version
    from remedy.jit.types import Context, Library, Resolution

#: The distributions that a library is installed by, where they are not named as its file is (``numba_cuda.py``:
#: ``numba-cuda``).
DISTRIBUTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy"),
    "deep_gemm": ("sgl-deep-gemm", "deep-gemm"),
    "flashinfer": ("flashinfer-python",),
    "inductor": ("torch",),
    "torch_extension": ("torch",),
    "tvm_ffi": ("apache-tvm-ffi",),
}


def libraries() -> tuple[Library, ...]:
    """Every library that this folder knows: each module that defines ``LIBRARY``."""
    return tuple(one.LIBRARY for one in modules(__name__, __path__) if hasattr(one, "LIBRARY"))


def installed(interpreter: Interpreter) -> Iterator[tuple[str, Library]]:
    """The libraries that an interpreter holds, with their versions: those modules of this folder that define
    ``LIBRARY``. The others are not even imported."""
    for name in module_names(__path__):
        distributions = DISTRIBUTIONS.get(name, (name.replace("_", "-"),))
        version = next((held for one in distributions if (held := interpreter.dist_version(one))), None)
        if version and hasattr(found := module(f"{__name__}.{name}"), "LIBRARY"):
            yield version, found.LIBRARY


def resolve_all(context: Context) -> tuple[Resolution, ...]:
    """The answers of all libraries that the service's interpreter holds, most important first."""
    from remedy.jit.servers import effective

    interpreter = context.snapshot.interpreter
    if interpreter is None:
        return ()
    seen = effective(context)
    held = sorted(installed(interpreter), key=lambda one: one[1].rank)
    return without_details(tuple(library.resolve(version, seen) for version, library in held))


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
