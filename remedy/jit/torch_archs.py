"""torch's own choice of architectures: ``torch.utils.cpp_extension._get_cuda_arch_flags``."""

from __future__ import annotations

from typing import Final

from remedy.jit import devices, servers, tables
from remedy.jit.flashinfer_archs import Archs
from remedy.jit.tables import Capability
from remedy.jit.types import Context
from remedy.jit.versions import at_least

VARIABLE: Final = "TORCH_CUDA_ARCH_LIST"

# Words that stand for architectures in the list.
_NAMED: Final = {
    "Kepler+Tesla": "3.7",
    "Kepler": "3.5+PTX",
    "Maxwell+Tegra": "5.3",
    "Maxwell": "5.0;5.2+PTX",
    "Pascal": "6.0;6.1+PTX",
    "Volta+Tegra": "7.2",
    "Volta": "7.0+PTX",
    "Turing": "7.5+PTX",
    "Ampere+Tegra": "8.7",
    "Ampere": "8.0;8.6+PTX",
    "Ada": "8.9+PTX",
    "Hopper": "9.0+PTX",
    "Blackwell+Tegra": "10.1",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
}

# Architectures that a release added to its list of those that it takes.
_ADDED: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("2.0", ("5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "9.0a")),
    ("2.6", ("10.0",)),
    ("2.7", ("10.0a", "10.1", "10.1a", "12.0", "12.0a")),
    ("2.8", ("10.3", "10.3a", "12.1", "12.1a")),
    ("2.9", ("11.0", "11.0a")),
    ("2.14", ("10.7", "10.7a")),
)


def supported(torch: str) -> frozenset[str]:
    """The entries that this release takes; 2.9 renamed 10.1 to 11.0."""
    found = {entry for first, entries in _ADDED if at_least(torch, first) for entry in entries}
    return frozenset(found - {"10.1", "10.1a"} if at_least(torch, "2.9") else found)


def from_list(torch: str, text: str) -> Archs:
    """The architectures of a TORCH_CUDA_ARCH_LIST; ``error`` where this release refuses an entry."""
    known = supported(torch)
    targets: list[str] = []
    expanded = text.replace(" ", ";")
    for name, entries in _NAMED.items():
        expanded = expanded.replace(name, entries)
    for entry in expanded.split(";"):
        if not entry:
            continue
        number = entry.removesuffix("+PTX")
        if number not in known:
            return Archs(tuple(targets), error=f"ValueError: Unknown CUDA arch ({entry}) or GPU not supported")
        target = number.replace(".", "")
        if target not in targets:
            targets.append(target)
    return Archs(tuple(sorted(targets)))


def detected(torch: str, capabilities: tuple[Capability, ...]) -> Archs:
    """Without a list: every visible GPU, none above the newest that this release knows."""
    known = [found for entry in supported(torch) if (found := tables.parsed(entry.replace(".", ""))) and not found[1]]
    highest = max(capability for capability, _ in known)
    return Archs(tuple(sorted({tables.spelled(min(capability, highest)) for capability in capabilities})))


def for_context(context: Context) -> Archs:
    """What torch would choose here."""
    torch = servers.version(context, "torch") or "2.6"
    text = context.env.get(VARIABLE)
    return from_list(torch, text) if text else detected(torch, devices.visible(context))
