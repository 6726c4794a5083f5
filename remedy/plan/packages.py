"""CUDA releases as NVIDIA's apt repository holds them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import Final

from remedy.facts.types import Host, Version
from remedy.jit.versions import dotted
from remedy.view import View

# component -> package; "{}" is the release as 13-0. cicc, ptxas and crt are dependencies of the compiler's package.
_PACKAGE: Final = {
    "nvcc": "cuda-nvcc-{}",
    "ptxas": "cuda-nvcc-{}",
    "cicc": "cuda-nvcc-{}",
    "crt": "cuda-nvcc-{}",
    "cudart-headers": "cuda-cudart-dev-{}",
    "cudart-library": "cuda-cudart-dev-{}",
    "cudadevrt": "cuda-cudart-dev-{}",
    "stub": "cuda-driver-dev-{}",
    "cccl": "cuda-cccl-{}",
    "curand": "libcurand-dev-{}",
    "cublas": "libcublas-dev-{}",
    "cusparse": "libcusparse-dev-{}",
    "cusolver": "libcusolver-dev-{}",
    "nvrtc": "cuda-nvrtc-dev-{}",
    "cuobjdump": "cuda-cuobjdump-{}",
}
_ORDER: Final = tuple(dict.fromkeys(_PACKAGE.values()))

# What one package's files and those of its dependencies hold (the Depends of NVIDIA's packages).
_COMES_WITH: Final = {
    "cuda-nvcc-{}": frozenset({"nvcc", "ptxas", "cicc", "crt"}),
    "cuda-cudart-dev-{}": frozenset({"cudart-headers", "cudart-library", "cudadevrt", "stub", "cccl"}),
}

# NVIDIA's names for the distributions that it has a repository for.
_DISTRIBUTIONS: Final = frozenset({"debian12", "debian13", "ubuntu2204", "ubuntu2404", "ubuntu2604"})
_HOST: Final = "developer.download.nvidia.com/compute/cuda"
_REPOSITORY: Final = f"https://{_HOST}/repos"


def toolkit_root(release: Version) -> str:
    """Where NVIDIA's packages put a release."""
    return f"/usr/local/cuda-{dotted(release)}"


def names(release: Version, components: Iterable[str]) -> tuple[str, ...]:
    """The fewest packages that bring these components, in a fixed order."""
    wanted = {_PACKAGE[each] for each in components if each in _PACKAGE}
    dashed = _dashed(release)
    return tuple(package.format(dashed) for package in _ORDER if package in wanted)


def implied(release: Version, requested: Iterable[str]) -> frozenset[str]:
    """Those packages that come as a dependency of another one in ``requested``."""
    dashed, asked = _dashed(release), frozenset(requested)
    found = {
        _PACKAGE[component].format(dashed)
        for package, components in _COMES_WITH.items()
        if package.format(dashed) in asked
        for component in components
    }
    return frozenset(found - {package.format(dashed) for package in _COMES_WITH})


def brought(release: Version, requested: Iterable[str]) -> frozenset[str]:
    """The components that these packages bring."""
    dashed, asked, found = _dashed(release), frozenset(requested), set[str]()
    for component, package in _PACKAGE.items():
        if package.format(dashed) in asked:
            found |= {component} | _COMES_WITH.get(package, frozenset())
    return frozenset(found)


def _dashed(release: Version) -> str:
    return "-".join(map(str, release))


def how_to_get(host: Host, view: View) -> str:
    """What an administrator does so that apt knows NVIDIA's packages."""
    configured = next(_naming(view, _HOST), None)
    if configured:
        return f"apt-get update reads what NVIDIA's repository has now ({configured} names it)"
    slug = f"{host.os_id}{host.os_version.replace('.', '')}"
    if slug not in _DISTRIBUTIONS:
        return "add NVIDIA's repository for this distribution (its cuda-keyring package)"
    architecture = "sbsa" if host.architecture in ("aarch64", "arm64") else "x86_64"
    return f"add NVIDIA's with cuda-keyring: {_REPOSITORY}/{slug}/{architecture}/cuda-keyring_1.1-1_all.deb"


def _naming(view: View, words: str) -> Iterator[str]:
    """apt's lists of sources that name an address: sources.list(5)."""
    folder = "/etc/apt/sources.list.d"
    try:
        listed = [posixpath.join(folder, name) for name in view.list(folder) if name.endswith((".list", ".sources"))]
    except OSError:
        listed = []
    for path in ("/etc/apt/sources.list", *listed):
        try:
            lines = view.read(path).decode(errors="replace").splitlines()
        except OSError:
            continue
        if any(words in line for line in lines if not line.lstrip().startswith("#")):
            yield path
