"""The NVIDIA GPUs: the driver's own files first (no process, no wait), then nvidia-smi, then PCI ids.

nvidia-smi initialises every device, which takes about a second on a machine with eight GPUs and hangs where one fell
off the bus. So it is only asked where the driver's files don't name every GPU, and NVML is never loaded in-process.
"""

from __future__ import annotations

import re

from remedy.errors import UsageError
from remedy.facts.names import listing, text_of
from remedy.facts.run import Result, Runner, Running
from remedy.facts.types import Gpu, Missing
from remedy.view import View

QUERY = ("index", "name", "compute_cap", "memory.total", "driver_version")
NVIDIA_SMI = ("nvidia-smi", f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader,nounits")
_TIMEOUT = 10.0
_MIB = 1 << 20

#: Compute capability by words of the product name, the first match wins: NVIDIA's list of CUDA GPUs.
_BY_NAME: tuple[tuple[str, tuple[int, int]], ...] = (
    (r"RTX PRO \d+ Blackwell|RTX 50[5-9]0", (12, 0)),
    (r"GB10\b|DGX Spark", (12, 1)),
    (r"\bG?B300\b", (10, 3)),
    (r"\bG?B(100|200)\b", (10, 0)),
    (r"Thor", (11, 0)),
    (r"\bG?H(20|100|200|800)\b", (9, 0)),
    (r"\bL(4|2|20|40|40S|40G)\b|RTX 40[5-9]0|RTX \d+ (SFF )?Ada|Ada Generation", (8, 9)),
    (r"\bA(100|800|30)\b|A100X|A30X", (8, 0)),
    (r"Orin", (8, 7)),
    (r"\bA(2|10|10G|10M|16|40)\b|RTX A\d+|RTX 30[5-9]0|\bA[2-5]500 Laptop", (8, 6)),
    (r"\bT4G?\b|RTX 20[6-8]0|Quadro RTX|TITAN RTX|GTX 16[3-6]0|\bT[1-6]00\b|\bT1000|\bT1200", (7, 5)),
    (r"V100|TITAN V\b|Quadro GV100", (7, 0)),
    (r"P100|Quadro GP100", (6, 0)),
    (r"\bP(4|6|40)\b|GTX 10[5-8]0|TITAN Xp|Quadro P\d+", (6, 1)),
)

#: Compute capability by ranges of PCI device ids: the chips of pci.ids. The end is inclusive.
_BY_PCI: tuple[tuple[int, int, tuple[int, int]], ...] = (
    (0x1580, 0x15FF, (6, 0)),
    (0x1B00, 0x1D7F, (6, 1)),
    (0x1D80, 0x1DFF, (7, 0)),
    (0x1E00, 0x1FFF, (7, 5)),
    (0x2080, 0x20FF, (8, 0)),
    (0x2180, 0x21FF, (7, 5)),
    (0x2200, 0x22FF, (8, 6)),
    (0x2300, 0x237F, (9, 0)),
    (0x2400, 0x25FF, (8, 6)),
    (0x2600, 0x28FF, (8, 9)),
    (0x2900, 0x29FF, (10, 0)),
    (0x2B80, 0x2DFF, (12, 0)),
    (0x2E00, 0x2E7F, (12, 1)),
    (0x2F00, 0x2FFF, (12, 0)),
    (0x3180, 0x31FF, (10, 3)),
)


def capability_of_name(name: str) -> tuple[int, int] | None:
    """The compute capability of a product name; None where the name is unknown."""
    return next((capability for words, capability in _BY_NAME if re.search(words, name)), None)


def capability_of_pci(device: int) -> tuple[int, int] | None:
    """The compute capability of an NVIDIA PCI device id; None where the id is unknown."""
    return next((capability for first, last, capability in _BY_PCI if first <= device <= last), None)


def parse_arch(text: str) -> tuple[int, int] | None:
    """A compute capability as people write one: ``12.0``, ``120``, ``sm_120a``, ``12.0f``; None for anything else."""
    digits = text.strip().removeprefix("sm_").removeprefix("compute_")
    if digits[-1:] in ("a", "f"):
        digits = digits[:-1]
    major, _, minor = digits.rpartition(".") if "." in digits else (digits[:-1], "", digits[-1:])
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() and len(minor) == 1 else None


def overridden(gpu_arch: str, count: int = 1) -> tuple[Gpu, ...]:
    """GPUs that the user says are there (``--gpu-arch``). Raises UsageError for what is no capability."""
    capability = parse_arch(gpu_arch)
    if capability is None:
        raise UsageError(f"--gpu-arch {gpu_arch!r} is no compute capability", hint="write it as 12.0 or sm_120")
    return tuple(Gpu(index, "", capability, None, "--gpu-arch") for index in range(count))


def read_driver_files(view: View) -> tuple[Gpu, ...]:
    """The GPUs that the kernel module lists under /proc/driver/nvidia/gpus, in the order of their bus addresses."""
    folder = "/proc/driver/nvidia/gpus"
    found: list[Gpu] = []
    for address in listing(view, folder):
        path = f"{folder}/{address}/information"
        lines = text_of(view, path).splitlines()
        model = next((line.removeprefix("Model:").strip() for line in lines if line.startswith("Model:")), "")
        if model:
            found.append(Gpu(len(found), model, capability_of_name(model), None, path))
    return tuple(found)


def read_pci(view: View) -> tuple[Gpu, ...]:
    """The NVIDIA display and 3D controllers that the kernel sees, with or without a driver."""
    folder = "/sys/bus/pci/devices"
    found: list[Gpu] = []
    for address in listing(view, folder):
        path = f"{folder}/{address}"
        if text_of(view, f"{path}/vendor").strip() != "0x10de":
            continue
        kind, device = text_of(view, f"{path}/class").strip(), text_of(view, f"{path}/device").strip()
        if kind.startswith("0x03") and re.fullmatch(r"0x[0-9a-f]{4}", device):
            capability = capability_of_pci(int(device, 16))
            found.append(Gpu(len(found), f"NVIDIA PCI device {device[2:]}", capability, None, path))
    return tuple(found)


def start_nvidia_smi(listed: tuple[Gpu, ...], runner: Runner) -> Running | None:
    """nvidia-smi, started where the driver's files leave a capability open."""
    if listed and all(gpu.capability for gpu in listed):
        return None
    return runner.start(NVIDIA_SMI, timeout=_TIMEOUT)


def parse_nvidia_smi(text: str) -> tuple[Gpu, ...]:
    """The lines of ``NVIDIA_SMI``; a field that reads ``[N/A]`` stays open.

    Wrappers in front of nvidia-smi answer with fields of their own choice: a name and a capability are enough.
    """
    found: list[Gpu] = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == len(QUERY) and fields[0].isdecimal():
            memory = int(fields[3]) * _MIB if fields[3].isdecimal() else None
            capability = parse_arch(fields[2]) or capability_of_name(fields[1])
            found.append(Gpu(int(fields[0]), fields[1], capability, memory, "nvidia-smi"))
            continue
        name = next((field for field in fields if field[:1].isalpha()), None)
        told = next((parse_arch(field) for field in fields if re.fullmatch(r"\d{1,2}\.\d", field)), None)
        if name and told:
            found.append(Gpu(len(found), name, told, None, "nvidia-smi"))
    return tuple(found)


def smi_driver_version(text: str) -> str | None:
    """The driver version that nvidia-smi names."""
    last = (line.rpartition(",")[2].strip() for line in text.splitlines() if "," in line)
    return next((field for field in last if "." in field and field.replace(".", "").isdecimal()), None)


def read_gpus(view: View, listed: tuple[Gpu, ...], smi: Result | None) -> tuple[tuple[Gpu, ...], Missing | None]:
    """The GPUs, from the first source that knows their capabilities: those that the driver's files list, nvidia-smi's
    answer, PCI; why there are none otherwise."""
    asked = parse_nvidia_smi(smi.text) if smi and smi.ok else ()
    pci = () if smi is None or asked else read_pci(view)
    answers = [gpus for gpus in (listed, asked, pci) if gpus]
    best = next((gpus for gpus in answers if all(gpu.capability for gpu in gpus)), answers[0] if answers else ())
    if best:
        unknown = [gpu.name for gpu in best if gpu.capability is None]
        return best, Missing("gpus", f"compute capability of {unknown[0]} is not known") if unknown else None
    said = smi.why or "its answer is not understood" if smi else "not asked"
    return (), Missing("gpus", f"the driver lists no GPU, nvidia-smi: {said}, and PCI shows none")
