"""Facts that stand in the log itself: the environment reports that people paste with a failure.

vLLM's collect_env, SGLang's check_env, FlashInfer's collect_env, nvidia-smi and nvcc --version print them. What is
given beside the log wins over them, for they come from the shell of whoever pasted and not from the service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from remedy.causes.case import Hit
from remedy.causes.entry import Signature
from remedy.causes.facts_file import capability, capability_of_name, dotted_version
from remedy.causes.types import PartialFacts
from remedy.hints import Any, Final
from remedy.value import replace


def _compact_cuda(text: str) -> tuple[int, ...] | None:
    """``cu130`` as (13, 0): how wheels name their CUDA."""
    return (int(text[:-1]), int(text[-1])) if text.isdigit() and len(text) in (2, 3) else None


Reader = Callable[[str], Any]

#: Field of PartialFacts, signature with one group ``value``, what reads it. The first that reads something wins.
_FIELDS: Final[tuple[tuple[str, Signature, Reader], ...]] = (
    ("sm", Signature("ompute Capability: ", r"Compute Capability: (?P<value>\d{1,2}\.\d)"), capability),
    ("sm", Signature("| SM", r"\| SM(?P<value>\d{2,3}) \|"), capability),
    ("gpu", Signature("GPU 0", r"GPU 0[,\d]*(?: \(CUDA order\))? *: (?P<value>(?:NVIDIA |Tesla |GeForce )[^|]+)"), str),
    ("nvcc", Signature("release ", r"Cuda compilation tools, release (?P<value>\d+\.\d+)"), dotted_version),
    ("nvcc", Signature("CUDA runtime version", r"CUDA runtime version *: (?P<value>\d+\.\d+\.\d+)"), dotted_version),
    (
        "torch_cuda",
        Signature("CUDA used to build PyTorch", r"build PyTorch *: (?P<value>\d+\.\d+)"),
        dotted_version,
    ),
    ("torch_cuda", Signature("torch.version.cuda", r"torch\.version\.cuda *[:=] *(?P<value>\d+\.\d+)"), dotted_version),
    (
        "torch_cuda",
        Signature("+cu", r"(?:PyTorch(?: version)?|Torch version|torch) *[:=]=? *\d\S*\+cu(?P<value>\d{2,3})\b"),
        _compact_cuda,
    ),
    ("driver", Signature("river version", r"[Dd]river [Vv]ersion *: (?P<value>\d{3}\.\d+(?:\.\d+)?)"), dotted_version),
    ("driver", Signature("Driver Version", r"Driver Version: (?P<value>\d{3}\.\d+(?:\.\d+)?)"), dotted_version),
    ("gcc", Signature("GCC version", r"GCC version *: .*?(?P<value>\d+\.\d+\.\d+)$"), dotted_version),
    ("flashinfer", Signature("flashinfer", r"flashinfer[-_]python *(?:==|: ?) *(?P<value>\d+\.\d+\S*)"), str),
    ("flashinfer", Signature("flashinfer ", r"^flashinfer +: (?P<value>\d+\.\d+\S*)"), str),
    ("cuda_home", Signature("CUDA_HOME", r"^CUDA_HOME *[:=] *(?P<value>(?![\w.]+\()\S+)"), str),
    ("os", Signature("Libc version", r"Libc version *: (?P<value>glibc-\d+\.\d+)"), str),
)
_VARIABLES: Final = Signature("CUDA_ARCH_LIST", r"^(?P<name>\w*CUDA_ARCH_LIST) *[:=] *(?P<value>[\d.][^{}]*)$")

SIGNATURES: Final = (*(signature for _, signature, _ in _FIELDS), _VARIABLES)


def completed(facts: PartialFacts, found: Mapping[Signature, tuple[Hit, ...]]) -> tuple[PartialFacts, dict[str, str]]:
    """The facts with what the log adds, and where in the log each addition stands."""
    added: dict[str, Any] = {}
    places: dict[str, str] = {}
    for name, signature, read in _FIELDS:
        if getattr(facts, name) is not None or name in added:
            continue
        for hit in found.get(signature, ()):
            value = read(hit.groups["value"].strip())
            if value:
                added[name], places[name] = value, hit.line.source
                break
    for hit in found.get(_VARIABLES, ()):
        if hit.groups["name"] not in facts.env:
            added.setdefault("env", dict(facts.env))[hit.groups["name"]] = hit.groups["value"].strip()
            places[hit.groups["name"]] = hit.line.source
    gpu = added.get("gpu") or facts.gpu
    if facts.sm is None and "sm" not in added and gpu:
        added["sm"] = capability_of_name(gpu)
    return (replace(facts, **added) if added else facts), places
