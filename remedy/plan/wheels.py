"""CUDA releases as NVIDIA's PyPI wheels hold them.

Only CUDA 13 has an nvcc there (``nvidia-cuda-nvcc``); 12.x's wheels stop at ptxas. Versions are the pins of the
``cuda-toolkit`` meta package of that release, so that all parts are of one minor release.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remedy.facts.types import Version

# component -> wheel
_WHEEL: Final = {
    "nvcc": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
    "crt": "nvidia-cuda-crt",
    "cicc": "nvidia-nvvm",
    "cudart-headers": "nvidia-cuda-runtime",
    "cudart-library": "nvidia-cuda-runtime",
    "cudadevrt": "nvidia-cuda-runtime",
    "cccl": "nvidia-cuda-cccl",
    "curand": "nvidia-curand",
    "cublas": "nvidia-cublas",
    "cusparse": "nvidia-cusparse",
    "cusolver": "nvidia-cusolver",
    "nvrtc": "nvidia-cuda-nvrtc",
    "cuobjdump": "nvidia-cuda-cuobjdump",
}

_NAMES: Final = (
    "nvidia-cuda-nvcc",
    "nvidia-cuda-crt",
    "nvidia-nvvm",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
    "nvidia-curand",
    "nvidia-cuda-nvrtc",
    "nvidia-cublas",
    "nvidia-cusparse",
    "nvidia-cusolver",
    "nvidia-cuda-cuobjdump",
)

# From cuda-toolkit 13.0.2, 13.1.1, 13.2.1, 13.3.0, 13.4.3 and 13.5.0 on PyPI; cuobjdump has a wheel from 13.2 on.
_PINS: Final[dict[Version, str]] = {
    (13, 0): "13.0.88 13.0.88 13.0.88 13.0.96 13.0.85 10.4.0.35 13.0.88 13.1.0.3 12.6.3.3 12.0.4.66 -",
    (13, 1): "13.1.115 13.1.115 13.1.115 13.1.80 13.1.115 10.4.1.81 13.1.115 13.2.1.1 12.7.3.1 12.0.9.81 -",
    (13, 2): "13.2.78 13.2.78 13.2.78 13.2.75 13.2.75 10.4.2.55 13.2.78 13.4.0.1 12.7.10.1 12.2.0.1 13.2.78",
    (13, 3): "13.3.33 13.3.33 13.3.33 13.3.29 13.3.3.3.1 10.4.3.29 13.3.33 13.5.1.27 12.8.1.7 12.2.2.18 13.3.29",
    (13, 4): "13.4.92 13.4.92 13.4.92 13.4.92 13.3.4.3.1 10.4.4.72 13.4.92 13.8.0.4 12.8.6.72 12.3.5.3 13.4.92",
    (13, 5): "13.5.37 13.5.37 13.5.37 13.5.37 13.3.5.0.6 10.4.5.25 13.5.37 13.10.0.20 12.9.4.2 12.4.1.2 13.5.37",
}

PREFIX: Final = "/var/lib/remedy/toolkits"


def releases() -> tuple[Version, ...]:
    """The CUDA releases whose nvcc is on PyPI."""
    return tuple(_PINS)


def pins(release: Version, components: Iterable[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The pinned requirements that hold these components, and the components that no wheel of the release has.

    The stub library is no wheel's: it is made when the wheels are laid out. CCCL always comes along, since the
    runtime's own headers include it.
    """
    versions = dict(zip(_NAMES, _PINS[release].split(), strict=True))
    asked = {"cccl", *components} - {"stub"}
    lacking = frozenset(each for each in asked if versions.get(_WHEEL.get(each, ""), "-") == "-")
    names = {_WHEEL[each] for each in asked - lacking}
    return tuple(f"{name}=={versions[name]}" for name in _NAMES if name in names), lacking
