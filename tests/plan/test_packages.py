"""Package names, wheels, and where packages come from."""

from __future__ import annotations

import pytest

from remedy.facts.types import Host
from remedy.plan import packages, wheels
from tests.memory import MemoryView


@pytest.mark.parametrize(
    ("components", "names"),
    [
        ("curand", ["libcurand-dev-13-0"]),
        ("nvcc cicc ptxas crt", ["cuda-nvcc-13-0"]),
        (
            "nvcc cudart-headers cudart-library curand stub",
            ["cuda-nvcc-13-0", "cuda-cudart-dev-13-0", "cuda-driver-dev-13-0", "libcurand-dev-13-0"],
        ),
        ("unheard-of", []),
    ],
)
def test_fewest_packages(components: str, names: list[str]) -> None:
    assert list(packages.names((13, 0), components.split())) == names


def test_what_comes_as_a_dependency() -> None:
    asked = packages.names((12, 9), ["nvcc", "cudart-library", "cccl", "stub", "curand"])
    assert packages.implied((12, 9), asked) == {"cuda-driver-dev-12-9", "cuda-cccl-12-9"}
    assert packages.implied((12, 9), ["libcurand-dev-12-9"]) == frozenset()
    assert packages.brought((12, 9), ["cuda-cudart-dev-12-9"]) >= {"cudart-headers", "cudart-library", "stub", "cccl"}


@pytest.mark.parametrize(
    ("host", "part"),
    [
        (Host("debian", "12", architecture="x86_64"), "repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb"),
        (Host("ubuntu", "24.04", architecture="aarch64"), "repos/ubuntu2404/sbsa/cuda-keyring"),
        (Host("arch", ""), "NVIDIA's repository for this distribution"),
    ],
)
def test_how_to_get_the_repository(host: Host, part: str) -> None:
    assert part in packages.how_to_get(host, MemoryView({"/etc/apt/sources.list": "deb http://deb.debian.org x main"}))


@pytest.mark.parametrize(
    ("line", "configured"),
    [
        ("deb [signed-by=/x.gpg] https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /", True),
        ("# deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /", False),
    ],
)
def test_a_repository_that_is_configured_has_to_be_read(line: str, configured: bool) -> None:
    path = "/etc/apt/sources.list.d/cuda.list"
    said = packages.how_to_get(Host("debian", "12"), MemoryView({path: line, "/etc/apt/sources.list.d/x.save": line}))
    assert (said == f"apt-get update reads what NVIDIA's repository has now ({path} names it)") is configured


def test_pins_of_one_release() -> None:
    pins, lacking = wheels.pins((13, 0), ["nvcc", "cicc", "crt", "cudart-library", "curand", "stub"])
    assert lacking == frozenset()
    assert pins == (
        "nvidia-cuda-nvcc==13.0.88",
        "nvidia-cuda-crt==13.0.88",
        "nvidia-nvvm==13.0.88",
        "nvidia-cuda-runtime==13.0.96",
        "nvidia-cuda-cccl==13.0.85",
        "nvidia-curand==10.4.0.35",
    )


@pytest.mark.parametrize("release", wheels.releases())
def test_every_release_has_a_compiler_of_its_own_minor(release: tuple[int, int]) -> None:
    pins, _ = wheels.pins(release, ["nvcc"])
    assert any(pin.startswith(f"nvidia-cuda-nvcc=={release[0]}.{release[1]}.") for pin in pins)


def test_a_component_without_a_wheel() -> None:
    assert wheels.pins((13, 0), ["cuobjdump"])[1] == {"cuobjdump"}
    assert wheels.pins((13, 2), ["cuobjdump"])[1] == frozenset()
