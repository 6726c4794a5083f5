from __future__ import annotations

import pytest

from remedy.errors import UsageError
from remedy.facts.gpus import (
    capability_of_name,
    capability_of_pci,
    overridden,
    parse_arch,
    parse_nvidia_smi,
    read_driver_files,
    read_gpus,
    smi_driver_version,
)
from remedy.facts.run import Result
from remedy.facts.types import Gpu
from tests.memory import MemoryView

SMI = """\
0, NVIDIA RTX PRO 6000 Blackwell Server Edition, 12.0, 97887, 580.95.05
1, NVIDIA RTX PRO 6000 Blackwell Server Edition, 12.0, 97887, 580.95.05
"""
#: nvidia-smi of drivers before 510 knows no compute_cap.
OLD_SMI = "0, Tesla T4, [N/A], [N/A], 470.57.02\n"


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", (12, 0)),
        ("NVIDIA GeForce RTX 5090", (12, 0)),
        ("NVIDIA GB10", (12, 1)),
        ("NVIDIA B300 SXM6 AC", (10, 3)),
        ("NVIDIA GB300", (10, 3)),
        ("NVIDIA B200", (10, 0)),
        ("NVIDIA GB200", (10, 0)),
        ("NVIDIA H100 80GB HBM3", (9, 0)),
        ("NVIDIA H200 NVL", (9, 0)),
        ("NVIDIA H20", (9, 0)),
        ("NVIDIA GH200 480GB", (9, 0)),
        ("NVIDIA L40S", (8, 9)),
        ("NVIDIA L4", (8, 9)),
        ("NVIDIA GeForce RTX 4090", (8, 9)),
        ("NVIDIA RTX 6000 Ada Generation", (8, 9)),
        ("NVIDIA A100-SXM4-80GB", (8, 0)),
        ("NVIDIA A30", (8, 0)),
        ("NVIDIA A10G", (8, 6)),
        ("NVIDIA RTX A6000", (8, 6)),
        ("NVIDIA GeForce RTX 3090 Ti", (8, 6)),
        ("Tesla T4", (7, 5)),
        ("Quadro RTX 8000", (7, 5)),
        ("NVIDIA TITAN RTX", (7, 5)),
        ("Tesla V100-SXM2-32GB", (7, 0)),
        ("Tesla P100-PCIE-16GB", (6, 0)),
        ("NVIDIA GeForce GTX 1080 Ti", (6, 1)),
        ("Matrox G200eW3", None),
    ],
)
def test_capability_of_a_product_name(name: str, capability: tuple[int, int] | None) -> None:
    assert capability_of_name(name) == capability


@pytest.mark.parametrize(
    ("device", "capability"),
    [
        (0x2BB5, (12, 0)),
        (0x2B85, (12, 0)),
        (0x2330, (9, 0)),
        (0x2335, (9, 0)),
        (0x20B2, (8, 0)),
        (0x2684, (8, 9)),
        (0x26B9, (8, 9)),
        (0x2204, (8, 6)),
        (0x1EB8, (7, 5)),
        (0x1DB5, (7, 0)),
        (0x2901, (10, 0)),
        (0x0020, None),
    ],
)
def test_capability_of_a_pci_id(device: int, capability: tuple[int, int] | None) -> None:
    assert capability_of_pci(device) == capability


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("12.0", (12, 0)),
        ("120", (12, 0)),
        ("sm_120a", (12, 0)),
        ("12.0f", (12, 0)),
        ("compute_90", (9, 0)),
        (" 8.9 ", (8, 9)),
        ("7", None),
        ("Ampere", None),
        ("[N/A]", None),
    ],
)
def test_a_capability_as_people_write_it(text: str, capability: tuple[int, int] | None) -> None:
    assert parse_arch(text) == capability


def test_the_user_s_own_word() -> None:
    assert overridden("sm_90a") == (Gpu(0, "", (9, 0), None, "--gpu-arch"),)
    with pytest.raises(UsageError, match="'Hopper' is no compute capability"):
        overridden("Hopper")


def test_nvidia_smi() -> None:
    gpus = parse_nvidia_smi(SMI)
    assert [gpu.index for gpu in gpus] == [0, 1]
    assert gpus[0].capability == (12, 0) and gpus[0].memory == 97887 << 20
    assert parse_nvidia_smi(OLD_SMI) == (Gpu(0, "Tesla T4", (7, 5), None, "nvidia-smi"),)
    wrapped = parse_nvidia_smi("NVIDIA H100 80GB HBM3, 9.0\nNVIDIA H100 80GB HBM3, 9.0\n")
    assert [(gpu.index, gpu.name, gpu.capability) for gpu in wrapped] == [
        (index, "NVIDIA H100 80GB HBM3", (9, 0)) for index in (0, 1)
    ]
    assert parse_nvidia_smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n") == ()
    assert smi_driver_version(SMI) == "580.95.05"


def test_the_driver_s_files_come_first() -> None:
    information = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 122\nGPU UUID: \t GPU-aa\n"
    view = MemoryView({f"/proc/driver/nvidia/gpus/0000:{bus}:00.0/information": information for bus in ("3b", "86")})
    gpus, missing = read_gpus(view, read_driver_files(view), None)
    assert [(gpu.index, gpu.capability) for gpu in gpus] == [(0, (9, 0)), (1, (9, 0))]
    assert missing is None


def test_a_name_that_is_not_known_yet_is_asked_of_nvidia_smi() -> None:
    path = "/proc/driver/nvidia/gpus/0000:01:00.0/information"
    view = MemoryView({path: "Model: NVIDIA X9000\n"})
    gpus, missing = read_gpus(view, read_driver_files(view), Result(0, b"0, NVIDIA X9000, 14.0, 500000, 700.10\n"))
    assert gpus[0].capability == (14, 0) and missing is None
    gpus, missing = read_gpus(view, read_driver_files(view), Result(None, why="no answer within 10 s"))
    assert gpus[0].name == "NVIDIA X9000" and missing is not None
    assert missing.why == "compute capability of NVIDIA X9000 is not known"


def test_pci_is_the_last_source() -> None:
    device = "/sys/bus/pci/devices/0000:3b:00.0"
    audio = "/sys/bus/pci/devices/0000:3b:00.1"
    files = {f"{device}/vendor": "0x10de\n", f"{device}/class": "0x030200\n", f"{device}/device": "0x2bb5\n"}
    files |= {f"{audio}/vendor": "0x10de\n", f"{audio}/class": "0x040300\n", f"{audio}/device": "0x22e8\n"}
    gpus, missing = read_gpus(MemoryView(files), (), Result(None, why="nvidia-smi is not there or not executable"))
    assert [gpu.capability for gpu in gpus] == [(12, 0)] and missing is None


def test_no_gpu_says_what_was_tried() -> None:
    gpus, missing = read_gpus(MemoryView(), (), Result(None, why="nvidia-smi is not there or not executable"))
    assert gpus == () and missing is not None
    assert "nvidia-smi is not there" in missing.why and "PCI shows none" in missing.why
