"""What is wrong, with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from remedy.hints import Literal
from remedy.value import dataclass, field, replace

Certainty = Literal["confirmed", "likely", "possible"]
EvidenceKind = Literal["log", "fact", "probe"]


@dataclass(frozen=True)
class Evidence:
    """One thing that was seen: a log line, a fact, or what a probe answered; ``source`` says where."""

    kind: EvidenceKind
    text: str
    source: str = ""


@dataclass(frozen=True)
class Finding:
    """A cause found in this case. Exactly one finding of a diagnosis has ``root`` set, and it comes first."""

    id: str
    root: bool
    certainty: Certainty
    toolchain: bool
    summary: str
    evidence: tuple[Evidence, ...] = ()
    libraries: tuple[str, ...] = ()
    mendable: bool = False
    advice: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All findings of one case, root first; never empty (``healthy`` or ``unknown`` where nothing else)."""

    findings: tuple[Finding, ...]
    #: What of the log was not read, in a sentence; empty where all of it was.
    unread: str = ""

    def rewritten(self, rewrite: Callable[[str], str]) -> Diagnosis:
        """The same findings with every text passed through ``rewrite``: log lines and summaries hold what others wrote,
        secrets among it, and are not shown before ``remedy.show.secrets.redact`` has seen them.
        """
        return replace(self, findings=tuple(_rewritten(finding, rewrite) for finding in self.findings))

    @property
    def root(self) -> Finding:
        """The root cause."""
        return self.findings[0]


def _rewritten(finding: Finding, rewrite: Callable[[str], str]) -> Finding:
    evidence = tuple(replace(one, text=rewrite(one.text)) for one in finding.evidence)
    return replace(finding, summary=rewrite(finding.summary), advice=rewrite(finding.advice), evidence=evidence)


@dataclass(frozen=True)
class PartialFacts:
    """What is known beside a log, each None where it is not: the facts file of ``remedy explain -``, or a digest
    of a Snapshot. Versions are tuples; ``sm`` is the compute capability; ``nvcc`` is None also where it is unreadable.
    """

    gpu: str | None = None
    sm: tuple[int, int] | None = None
    torch: tuple[int, ...] | None = None
    torch_cuda: tuple[int, ...] | None = None
    nvcc: tuple[int, ...] | None = None
    cuda_headers: tuple[int, ...] | None = None
    driver: tuple[int, ...] | None = None
    flashinfer: str | None = None
    gcc: tuple[int, ...] | None = None
    os: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cuda_home: str | None = None
    unit: str | None = None
    kernel_module: tuple[int, ...] | None = None
    driver_packages: tuple[int, ...] | None = None
    linked_cudart: str | None = None
    silent_s: float | None = None
    lock_files: tuple[str, ...] = ()
    note: str | None = None
