"""Machines and services for the tables of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from remedy.facts.types import (
    AptPackage,
    Dist,
    Driver,
    Gpu,
    Host,
    HostCompiler,
    Interpreter,
    PackageChange,
    Simulation,
    Snapshot,
    Toolkit,
    Version,
)

WHOLE = frozenset(
    {
        *("nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cudart-library", "cudadevrt", "cccl", "curand"),
        *("cublas", "cusparse", "cusolver", "nvrtc", "stub", "cuobjdump"),
    }
)
DEBIAN = Host("debian", "12", "Debian GNU/Linux 12 (bookworm)", (2, 36), "6.1.0", "x86_64", 252)
# What the packages of a release bring along (NVIDIA's Depends).
DEPENDS = {
    "cuda-nvcc-": ("cuda-crt-", "libnvvm-"),
    "cuda-cudart-dev-": ("cuda-cudart-", "cuda-driver-dev-", "cuda-cccl-"),
}


@dataclass(frozen=True)
class AptTable:
    """An apt whose repository is a table: names to versions; ``broken`` names can't be installed, and why."""

    packages: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)

    def available(self, names: Sequence[str]) -> Mapping[str, AptPackage]:
        return {
            name: AptPackage(name, self.packages[name], "amd64", 1000, 4096) for name in names if name in self.packages
        }

    def simulate(self, requested: Sequence[str]) -> Simulation:
        names = [name.partition("=")[0] for name in requested]
        for name in names:
            if name in self.broken:
                return Simulation(errors=(self.broken[name],))
            if name not in self.packages:
                return Simulation(errors=(f"Unable to locate package {name}",))
        for name in list(names):
            for stem, others in DEPENDS.items():
                if name.startswith(stem):
                    names += [other + name[len(stem) :] for other in others]
        unique = [name for name in dict.fromkeys(names) if name in self.packages]
        return Simulation(tuple(PackageChange(name, self.packages[name], None, 1000, 4096) for name in unique))


def nvidia(*releases: str, without: Sequence[str] = ()) -> AptTable:
    """NVIDIA's repository with these releases (``13-0``), but for some packages."""
    stems = [
        *("cuda-nvcc", "cuda-crt", "libnvvm", "cuda-cudart", "cuda-cudart-dev", "cuda-driver-dev", "cuda-cccl"),
        *("libcurand-dev", "libcublas-dev", "libcusparse-dev", "libcusolver-dev", "cuda-nvrtc-dev", "cuda-cuobjdump"),
    ]
    names = [f"{stem}-{release}" for release in releases for stem in stems]
    return AptTable({name: f"{name[-4:].replace('-', '.')}.88-1" for name in names if name not in without})


def kit(
    root: str,
    version: Version | None,
    *,
    headers: Version | None = None,
    components: frozenset[str] = WHOLE,
    origin: str = "apt",
    real: str | None = None,
) -> Toolkit:
    """A toolkit; without a version one without nvcc."""
    nvcc = f"{root}/bin/nvcc" if version else None
    return Toolkit(root, nvcc, version, headers or version, components, origin, real or root)


OLD = kit("/usr/local/cuda-12.8", (12, 8), origin="runfile")


def interpreter(torch_cuda: str | None = "13.0", **versions: str) -> Interpreter:
    """The story's interpreter; ``flashinfer_python="0.6.8.post1"`` names installed distributions."""
    dists = {
        name.replace("_", "-"): Dist(name.replace("_", "-"), version, "/x.dist-info")
        for name, version in versions.items()
    }
    return Interpreter(
        path="/root/venv/bin/python3",
        prefix="/root/venv",
        version=(3, 11, 2),
        site_packages=("/root/venv/lib/python3.11/site-packages",),
        dists=dists,
        torch="2.11.0",
        torch_cuda=torch_cuda,
        headers="/usr/include/python3.11",
    )


def machine(
    *toolkits: Toolkit,
    capability: tuple[int, int] | None = (12, 0),
    python: Interpreter | None = None,
    gcc: Version | None = (12, 2, 0),
    glibc: Version = (2, 36),
    driver_cuda: Version | None = (13, 0),
    installed: Mapping[str, str] | None = None,
) -> Snapshot:
    """A machine with these toolkits, one kind of GPU, and a gcc."""
    compilers = (
        tuple(HostCompiler(name, f"/usr/bin/{name}", "gcc", gcc) for name in ("gcc", "g++", "c++")) if gcc else ()
    )
    return Snapshot(
        host=replace(DEBIAN, glibc=glibc),
        gpus=tuple(Gpu(index, "GPU", capability, None, "test") for index in range(2 if capability else 0)),
        driver=Driver("580.95.05", "580.95.05", driver_cuda, "test") if driver_cuda else None,
        toolkits=toolkits,
        interpreter=python or interpreter(flashinfer_python="0.6.8.post1"),
        compilers=compilers,
        installed=installed or {},
    )
