"""Which CUDA release knows which GPU, which host compiler, which driver: data, each table with its source.

Compute capabilities are ``(12, 0)`` for 12.0, CUDA releases ``(12, 9)``; a *target* is an architecture as nvcc
spells it without ``compute_``: ``120f``.
"""

from __future__ import annotations

from functools import lru_cache

from remedy.facts.types import Version, numbers
from remedy.hints import Final
from remedy.jit import versions
from remedy.value import dataclass

Capability = tuple[int, int]


@dataclass(frozen=True)
class Generation:
    """The CUDA releases that know one compute capability.

    ``plain``, ``specific`` and ``family`` are the first release with ``X``, ``Xa`` and ``Xf`` (None: never);
    ``dropped`` is the first one that no longer knows it.
    """

    plain: Version
    specific: Version | None = None
    family: Version | None = None
    dropped: Version | None = None


_OLD: Final = (13, 0)

# From `ptxas --help` of 11.8, 12.0 to 12.6, 12.8, 12.9 and 13.0 to 13.5, and `nvcc --list-gpu-arch` of 13.0, 13.2
# and 13.5. What came before 11.8 is from the release notes of that time.
GENERATIONS: Final[dict[Capability, Generation]] = {
    (5, 0): Generation((6, 5), dropped=_OLD),
    (5, 2): Generation((6, 5), dropped=_OLD),
    (5, 3): Generation((7, 0), dropped=_OLD),
    (6, 0): Generation((8, 0), dropped=_OLD),
    (6, 1): Generation((8, 0), dropped=_OLD),
    (6, 2): Generation((8, 0), dropped=_OLD),
    (7, 0): Generation((9, 0), dropped=_OLD),
    (7, 2): Generation((9, 1), dropped=_OLD),
    (7, 5): Generation((10, 0)),
    (8, 0): Generation((11, 0)),
    (8, 6): Generation((11, 1)),
    (8, 7): Generation((11, 4)),
    (8, 8): Generation((13, 0)),
    (8, 9): Generation((11, 8)),
    (9, 0): Generation((11, 8), (12, 0)),
    (10, 0): Generation((12, 8), (12, 8), (12, 9)),
    # Thor was 10.1 up to CUDA 12.9 and is 11.0 from CUDA 13.0: neither knows the other's name.
    (10, 1): Generation((12, 8), (12, 8), (12, 9), dropped=_OLD),
    (10, 3): Generation((12, 9), (12, 9), (12, 9)),
    (10, 7): Generation((13, 4), (13, 4), (13, 4)),
    (11, 0): Generation((13, 0), (13, 0), (13, 0)),
    (12, 0): Generation((12, 8), (12, 8), (12, 9)),
    (12, 1): Generation((12, 9), (12, 9), (12, 9)),
}

# The highest gcc in crt/host_config.h of each release's wheel.
_HIGHEST_GCC: Final[dict[Version, int]] = {
    (11, 8): 11,
    (12, 0): 12,
    (12, 4): 13,
    (12, 8): 14,
    (13, 0): 15,
    (13, 4): 16,
}
_HIGHEST_GCC_KNOWN_TO: Final = (13, 5)

# glibc 2.41 declares cospi, sinpi and rsqrt; CUDA's own headers up to 12.9 declare them differently.
GLIBC_THAT_CONFLICTS: Final = (2, 41)
CUDA_THAT_ACCEPTS_IT: Final = (13, 0)

# NVIDIA's CUDA compatibility guide: the lowest driver for any toolkit of a major release.
DRIVER_MINIMUM: Final[dict[int, Version]] = {11: (450, 80, 2), 12: (525, 60, 13), 13: (580, 65, 6)}

# The driver that came with each release ("CUDA Toolkit and Corresponding Driver Versions" in the release notes).
DRIVER_OF_RELEASE: Final[dict[Version, Version]] = {
    (11, 8): (520, 61, 5),
    (12, 0): (525, 60, 13),
    (12, 1): (530, 30, 2),
    (12, 2): (535, 54, 3),
    (12, 3): (545, 23, 6),
    (12, 4): (550, 54, 14),
    (12, 5): (555, 42, 2),
    (12, 6): (560, 28, 3),
    (12, 8): (570, 26),
    (12, 9): (575, 51, 3),
    (13, 0): (580, 65, 6),
    (13, 1): (590, 44, 1),
    (13, 2): (595, 45, 4),
}

# The CUDA of torch's default wheel on PyPI, from the first release that brought it.
_TORCH_CUDA: Final[tuple[tuple[str, Version], ...]] = (
    ("2.6", (12, 4)),
    ("2.7", (12, 6)),
    ("2.8", (12, 8)),
    ("2.11", (13, 0)),
)

# ptxas and ptxas-blackwell in Triton's wheel (each binary was asked), from the first release that brought it;
# the last number is the capability's major from which the second one is used.
TRITON_PTXAS: Final[tuple[tuple[str, Version, Version | None, int], ...]] = (
    ("3.0", (12, 4), None, 0),
    ("3.3", (12, 4), (12, 8), 10),
    ("3.4", (12, 8), None, 0),
    ("3.6", (12, 8), (12, 9), 10),
    ("3.7", (12, 8), (13, 1), 10),
    ("3.8", (12, 9), (13, 3), 10),
    ("3.9", (12, 9), (13, 4), 9),
)


def spelled(capability: Capability, suffix: str = "") -> str:
    """(12, 0) and ``f`` as ``120f``."""
    return f"{capability[0]}{capability[1]}{suffix}"


def parsed(target: str) -> tuple[Capability, str] | None:
    """``120f`` as ((12, 0), "f"); None for what is no target."""
    digits = target.rstrip("af")
    if not digits.isdecimal() or len(digits) < 2 or len(target) - len(digits) > 1:
        return None
    return (int(digits[:-1]), int(digits[-1])), target[len(digits) :]


def nvcc_minimum(capability: Capability, suffix: str = "") -> Version | None:
    """The first nvcc that can target a capability with this suffix; None where none can, or it is not known."""
    generation = GENERATIONS.get(capability)
    if generation is None:
        return None
    return {"": generation.plain, "a": generation.specific, "f": generation.family}.get(suffix)


def nvcc_below(capability: Capability) -> Version | None:
    """The first nvcc that no longer knows a capability; None where none has dropped it."""
    generation = GENERATIONS.get(capability)
    return generation.dropped if generation else None


def knows(cuda: Version, target: str) -> bool | None:
    """Whether nvcc of this release can build a target; None where the table does not say."""
    found = parsed(target)
    if found is None or found[0] not in GENERATIONS:
        return None
    capability, suffix = found
    minimum, below = nvcc_minimum(capability, suffix), nvcc_below(capability)
    return minimum is not None and cuda[:2] >= minimum and (below is None or cuda[:2] < below)


@lru_cache(maxsize=32)
def targets_known(cuda: Version) -> frozenset[str]:
    """Every target that nvcc of this release can build."""
    every = (spelled(capability, suffix) for capability in GENERATIONS for suffix in ("", "a", "f"))
    return frozenset(target for target in every if knows(cuda, target))


def runs_on(target: str, capability: Capability) -> bool:
    """Whether machine code of a target runs on a GPU: same major and not newer; ``a`` only on itself.

    CUDA C++ Programming Guide, "Binary compatibility" and "Family-specific features".
    """
    found = parsed(target)
    if found is None:
        return False
    (major, minor), suffix = found
    if suffix == "a":
        return (major, minor) == capability
    return major == capability[0] and minor <= capability[1]


def highest_gcc(cuda: Version) -> int | None:
    """The highest gcc major that nvcc of this release accepts; None where the table does not say."""
    if cuda[:2] > _HIGHEST_GCC_KNOWN_TO:
        return None
    fitting = [release for release in _HIGHEST_GCC if release <= cuda[:2]]
    return _HIGHEST_GCC[max(fitting)] if fitting else None


def glibc_accepted(glibc: Version | None, cuda: Version) -> bool:
    """Whether .cu files compile with this release's headers on this glibc (unknown: yes)."""
    return glibc is None or glibc < GLIBC_THAT_CONFLICTS or cuda[:2] >= CUDA_THAT_ACCEPTS_IT


def driver_major(driver: str | None, cuda: Version | None = None) -> int | None:
    """The highest CUDA major whose runtime a driver can run; ``cuda`` is what the driver itself says, if known."""
    if cuda:
        return cuda[0]
    version = numbers(driver) if driver else ()
    fitting = [major for major, minimum in DRIVER_MINIMUM.items() if version >= minimum]
    return max(fitting) if fitting else None


def torch_cuda(torch: str) -> Version | None:
    """The CUDA of this torch release's default wheel on PyPI; None for releases before 2.6."""
    found = None
    for first, cuda in _TORCH_CUDA:
        if versions.at_least(torch, first):
            found = cuda
    return found


def triton_ptxas(triton: str, capability: Capability) -> tuple[Version, bool] | None:
    """The release of the ptxas that Triton's wheel would use for a GPU, and whether it is ptxas-blackwell."""
    found = None
    for first, plain, blackwell, from_major in TRITON_PTXAS:
        if versions.at_least(triton, first):
            second = blackwell if blackwell and capability[0] >= from_major else None
            found = (second, True) if second else (plain, False)
    return found
