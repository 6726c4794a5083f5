"""torch's own choice of architectures: ``torch.utils.cpp_extension._get_cuda_arch_flags``."""

from __future__ import annotations

from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import devices, servers, tables
from remedy.jit.flashinfer_archs import Archs
from remedy.jit.tables import Capability
from remedy.jit.types import Context
from remedy.jit.versions import at_least, cuda
from remedy.value import dataclass

VARIABLE: Final = "TORCH_CUDA_ARCH_LIST"

_THOR: Final = "Blackwell+Tegra"

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
    _THOR: "10.1",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
}

# Architectures that a release added to its list of those that it takes.
_ADDED: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "2.0",
        (
            "3.5",
            "3.7",
            "5.0",
            "5.2",
            "5.3",
            "6.0",
            "6.1",
            "6.2",
            "7.0",
            "7.2",
            "7.5",
            "8.0",
            "8.6",
            "8.7",
            "8.9",
            "9.0",
            "9.0a",
        ),
    ),
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


@dataclass(frozen=True)
class TorchArchs(Archs):
    """torch's choice; ``forward`` is set where PTX goes along, which newer GPUs can run."""

    forward: bool = False


def from_list(torch: str, text: str) -> TorchArchs:
    """The architectures of a TORCH_CUDA_ARCH_LIST; ``error`` where this release refuses an entry (an empty one too)."""
    known = supported(torch)
    targets: set[str] = set()
    expanded = text.replace(" ", ";")
    for name, entries in _NAMED.items():
        expanded = expanded.replace(name, "11.0" if name == _THOR and at_least(torch, "2.9") else entries)
    for entry in expanded.split(";"):
        number = entry.removesuffix("+PTX")
        if number not in known:
            said = f"ValueError: Unknown CUDA arch ({entry}) or GPU not supported"
            return TorchArchs(tuple(sorted(targets)), error=said)
        targets.add(number.replace(".", ""))
    return TorchArchs(tuple(sorted(targets)), forward="+PTX" in expanded)


def detected(torch_cuda: Version | None, capabilities: tuple[Capability, ...]) -> TorchArchs:
    """Without a list: every visible GPU, none above the newest that torch's own wheel is built for."""
    highest = (12, 0) if torch_cuda is None or torch_cuda >= (12, 8) else (9, 0)
    targets = sorted({tables.spelled(min(capability, highest)) for capability in capabilities})
    return TorchArchs(tuple(targets), forward=True)


def for_context(context: Context) -> TorchArchs:
    """What torch would choose here."""
    interpreter = context.snapshot.interpreter
    torch = servers.version(context, "torch") or "2.6"
    text = context.env.get(VARIABLE)
    if text and not (text == "native" and at_least(torch, "2.9")):
        return from_list(torch, text)
    return detected(cuda(interpreter.torch_cuda) if interpreter else None, devices.visible(context))
