"""NVIDIA's packages for one CUDA release: names, dependencies, and which files of the wheels each one holds.

The names and dependencies are those of NVIDIA's apt repository; the files are those of NVIDIA's wheels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TARGET = "targets/x86_64-linux"
LINK_TO_TARGET = (("lib64", f"{TARGET}/lib"), ("include", f"{TARGET}/include"))


@dataclass(frozen=True, slots=True)
class Release:
    """One CUDA release as PyPI has it: wheel name -> version."""

    number: str
    wheels: Mapping[str, str]

    @property
    def dashed(self) -> str:
        """The release as it stands in package names: 13-0."""
        return self.number.replace(".", "-")

    @property
    def major(self) -> str:
        return self.number.split(".")[0]

    @property
    def prefix(self) -> str:
        return f"usr/local/cuda-{self.number}"


@dataclass(frozen=True, slots=True)
class Package:
    """One package: `files` pairs a glob in the wheels' tree with a folder under the release's prefix."""

    name: str
    version: str
    depends: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    #: Symbolic links under the prefix: (link, where to).
    links: tuple[tuple[str, str], ...] = ()
    #: Files of its own: absolute path -> text.
    texts: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    scripts: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""


RELEASE = Release(
    "13.0",
    {
        "nvidia-cuda-nvcc": "13.0.88",
        "nvidia-cuda-crt": "13.0.88",
        "nvidia-nvvm": "13.0.88",
        "nvidia-nvptxcompiler": "13.0.88",
        "nvidia-cuda-runtime": "13.0.96",
        "nvidia-cuda-cccl": "13.0.85",
        "nvidia-curand": "10.4.0.35",
        "nvidia-cuda-nvrtc": "13.0.88",
        "nvidia-cublas": "13.0.2.14",
        # PyPI's oldest.  It prints what any release's cubins hold, so it does as 13.0's own would.
        "nvidia-cuda-cuobjdump": "13.2.51",
    },
)
#: The version under which 13.0's cuobjdump stands in NVIDIA's repository.
CUOBJDUMP = "13.0.85"


def config_common(number: str, version: str) -> tuple[Package, ...]:
    """The packages that own /usr/local/cuda: NVIDIA's register it as an alternative, newer releases higher."""
    release = Release(number, {})
    major, priority = release.major, number.replace(".", "")
    pairs = (("/usr/local/cuda", "cuda"), (f"/usr/local/cuda-{major}", f"cuda-{major}"))
    prefix = f"/{release.prefix}"
    install = "\n".join(f"    update-alternatives --install {link} {name} {prefix} {priority}" for link, name in pairs)
    removal = "\n".join(f"    update-alternatives --remove {name} {prefix}" for _, name in pairs)
    scripts = {
        "postinst": f'#!/bin/sh\nset -e\nif [ "$1" = configure ]; then\n    echo Setting alternatives\n{install}\nfi\n',
        "prerm": f'#!/bin/sh\nset -e\nif [ "$1" = remove ] || [ "$1" = deconfigure ]; then\n{removal}\nfi\n',
        "triggers": "activate-noawait ldconfig\n",
    }
    return (
        Package(
            f"cuda-toolkit-{release.dashed}-config-common",
            f"{version}-1",
            (f"cuda-toolkit-{major}-config-common", "cuda-toolkit-config-common"),
            links=LINK_TO_TARGET,
            folders=(f"{TARGET}/lib", f"{TARGET}/include"),
            scripts=scripts,
            summary=f"Common config package for CUDA Toolkit {number}.",
        ),
        _loader_path(f"cuda-toolkit-{major}-config-common", version, f"988_cuda-{major}", f"cuda-{major}"),
    )


def common(version: str) -> Package:
    """The package below all config-common packages."""
    return _loader_path("cuda-toolkit-config-common", version, "000_cuda", "cuda")


def _loader_path(name: str, version: str, conf: str, link: str) -> Package:
    text = f"/usr/local/{link}/{TARGET}/lib\n"
    triggers = {"triggers": "activate-noawait ldconfig\n"}
    texts = {f"/etc/ld.so.conf.d/{conf}.conf": text}
    return Package(
        name, f"{version}-1", texts=texts, scripts=triggers, summary="Common config package for CUDA Toolkit."
    )


def toolkit(release: Release = RELEASE) -> tuple[Package, ...]:
    """The packages of one release that a JIT build can need."""
    x = release.dashed
    version = {wheel: f"{number}-1" for wheel, number in release.wheels.items()}
    nvcc, runtime = version["nvidia-cuda-nvcc"], version["nvidia-cuda-runtime"]
    include, lib = f"{TARGET}/include", f"{TARGET}/lib"
    return (
        Package(
            f"cuda-nvcc-{x}",
            nvcc,
            ("build-essential", f"cuda-crt-{x}", f"libnvvm-{x}", f"libnvptxcompiler-{x}"),
            (("nvidia-cuda-nvcc/bin/**", "bin"), ("nvidia-cuda-nvcc/include/**", include)),
            summary="CUDA nvcc",
        ),
        Package(f"cuda-crt-{x}", nvcc, (), (("nvidia-cuda-crt/include/**", include),), summary="CUDA crt"),
        Package(
            f"libnvvm-{x}",
            nvcc,
            (),
            (
                ("nvidia-nvvm/nvvm/**", "nvvm"),
                ("nvidia-nvvm/lib/*", "nvvm/lib64"),
                ("nvidia-nvvm/include/*", "nvvm/include"),
            ),
            summary="NVVM compiler library",
        ),
        Package(
            f"libnvptxcompiler-{x}",
            nvcc,
            (),
            (("nvidia-nvptxcompiler/lib/*", lib), ("nvidia-nvptxcompiler/include/*", include)),
            summary="PTX compiler library",
        ),
        *config_common(release.number, release.wheels["nvidia-cuda-runtime"]),
        common(release.wheels["nvidia-cuda-runtime"]),
        Package(
            f"cuda-cudart-{x}",
            runtime,
            tuple(f"cuda-toolkit-{part}config-common" for part in (f"{x}-", f"{release.major}-", "")),
            (("nvidia-cuda-runtime/lib/*.so.*", lib),),
            summary="CUDA Runtime native Libraries",
        ),
        Package(
            f"cuda-cudart-dev-{x}",
            runtime,
            (f"cuda-cudart-{x}", f"cuda-driver-dev-{x}", f"cuda-cccl-{x}"),
            (("nvidia-cuda-runtime/lib/*.a", lib), ("nvidia-cuda-runtime/include/**", include)),
            ((f"{lib}/libcudart.so", f"libcudart.so.{release.major}"),),
            summary="CUDA Runtime native dev links, headers",
        ),
        Package(
            f"cuda-driver-dev-{x}",
            runtime,
            (),
            (("driver-stub/libcuda.so", f"{lib}/stubs"),),
            summary="CUDA Driver native dev stub library",
        ),
        Package(
            f"cuda-cccl-{x}",
            version["nvidia-cuda-cccl"],
            (),
            (("nvidia-cuda-cccl/include/**", include), ("nvidia-cuda-cccl/lib/cmake/**", f"{lib}/cmake")),
            summary="CUDA CCCL",
        ),
        *_library(release, "libcurand", "nvidia-curand", "curand", "10"),
        *_library(release, "libcublas", "nvidia-cublas", "cublas", release.major),
        *_library(release, "cuda-nvrtc", "nvidia-cuda-nvrtc", "nvrtc", release.major),
        Package(
            f"cuda-cuobjdump-{x}",
            f"{CUOBJDUMP}-1",
            (),
            (("nvidia-cuda-cuobjdump/bin/*", "bin"),),
            summary="CUDA cuobjdump",
        ),
        Package(
            f"cuda-minimal-build-{x}",
            f"{release.wheels['nvidia-cuda-runtime']}-1",
            (f"cuda-nvcc-{x}", f"cuda-cudart-dev-{x}", f"cuda-cccl-{x}"),
            summary="Minimal CUDA Toolkit build-time dependencies",
        ),
    )


def _library(release: Release, name: str, wheel: str, stem: str, soname: str) -> tuple[Package, Package]:
    """A library's run-time package and its development package."""
    version, include, lib = f"{release.wheels[wheel]}-1", f"{TARGET}/include", f"{TARGET}/lib"
    stems = (stem, "cublasLt", "nvblas") if stem == "cublas" else (stem,)
    dev_name = f"{name}-dev-{release.dashed}"
    return (
        Package(
            f"{name}-{release.dashed}",
            version,
            tuple(f"cuda-toolkit-{part}config-common" for part in (f"{release.dashed}-", f"{release.major}-", "")),
            ((f"{wheel}/lib/*.so.*", lib),),
            summary=f"{stem} native runtime libraries",
        ),
        Package(
            dev_name,
            version,
            (f"{name}-{release.dashed}",),
            ((f"{wheel}/include/**", include),),
            tuple((f"{lib}/lib{each}.so", f"lib{each}.so.{soname}") for each in stems),
            summary=f"{stem} native dev links, headers",
        ),
    )
