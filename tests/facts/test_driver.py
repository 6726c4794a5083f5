from __future__ import annotations

import pytest

from remedy.facts.driver import offered_cuda, read_driver
from remedy.facts.types import Driver
from tests.memory import MemoryView

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22)  Tue Sep 23
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
LIB = "/usr/lib/x86_64-linux-gnu"


@pytest.mark.parametrize(
    ("files", "links", "smi", "expected"),
    [
        (
            {"/proc/driver/nvidia/version": OPEN, f"{LIB}/libcuda.so.580.95.05": ""},
            {f"{LIB}/libcuda.so.1": "libcuda.so.580.95.05"},
            None,
            Driver("580.95.05", "580.95.05", (13, 0), "/proc/driver/nvidia/version"),
        ),
        # A reboot is pending: the library is newer than the module.
        (
            {"/proc/driver/nvidia/version": CLOSED, f"{LIB}/libcuda.so.570.86.10": ""},
            {f"{LIB}/libcuda.so.1": f"{LIB}/libcuda.so.570.86.10"},
            None,
            Driver("570.86.10", "535.183.01", (12, 8), "/proc/driver/nvidia/version"),
        ),
        ({"/sys/module/nvidia/version": "550.54.14\n"}, {}, None, Driver(None, "550.54.14", (12, 4), "x")),
        ({}, {}, "580.95.05", Driver("580.95.05", None, (13, 0), "nvidia-smi")),
        ({}, {}, None, None),
    ],
)
def test_driver(files: dict[str, str], links: dict[str, str], smi: str | None, expected: Driver | None) -> None:
    found = read_driver(MemoryView(files, links), smi)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.library, found.kernel_module, found.cuda) == (
            expected.library,
            expected.kernel_module,
            expected.cuda,
        )


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [("580.65.06", (13, 0)), ("575.51.03", (12, 9)), ("572.16", (12, 8)), ("418.40", None), ("", None), ("x", None)],
)
def test_cuda_of_a_branch(driver: str, cuda: tuple[int, ...] | None) -> None:
    assert offered_cuda(driver) == cuda
