"""The architectures that FlashInfer builds for, by its release: ``compilation_context.CompilationContext``.

Read in the wheels of 0.3.1 to 0.7.4 and compared with them by running their own class
(tests/jit/test_real_flashinfer.py). Releases up to 0.3.0 leave the choice to torch.
"""

from __future__ import annotations

from collections.abc import Iterable

from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit.tables import Capability
from remedy.jit.versions import at_least, between, dotted
from remedy.value import dataclass

VARIABLE: Final = "FLASHINFER_CUDA_ARCH_LIST"
FIRST_WITH_VARIABLE: Final = "0.3.1"

Pair = tuple[int, str]


class NotBuildable(Exception):
    """What FlashInfer raises where a GPU's architecture needs a newer CUDA; the text is FlashInfer's."""

    def __init__(self, text: str, minimum: Version) -> None:
        super().__init__(text)
        self.minimum = minimum


@dataclass(frozen=True)
class Archs:
    """FlashInfer's architecture set: targets in the order of its folder name, and why it is not what was meant.

    ``warning`` is the text that detection swallowed, ``error`` what is raised at ``import flashinfer``.
    """

    targets: tuple[str, ...] = ()
    warning: str | None = None
    error: str | None = None

    @property
    def folder(self) -> str:
        """The name of the cache folder: ``90a_120f``, empty where no architecture was found."""
        return "_".join(self.targets)


def requirement(version: str, capability: Capability) -> tuple[Version, str] | None:
    """FlashInfer's own floor for a GPU and the words it gives for it; None where it has none."""
    if capability[0] != 12 or not at_least(version, "0.6.7"):
        return None
    if at_least(version, "0.7.1"):
        return ((12, 8), "SM 120 requires CUDA") if capability[1] == 0 else ((12, 9), "SM 12.1+ requires CUDA")
    return (12, 9), "SM 12.x requires CUDA"


def normalised(version: str, capability: Capability, cuda: Version | None) -> Pair:
    """A detected GPU as FlashInfer spells it: (12, "0f").

    ``cuda`` is the release that it takes for the toolkit's. Raises NotBuildable as FlashInfer raises.
    """
    major, minor = capability
    floor = requirement(version, capability)
    if floor and cuda is not None and cuda < floor[0]:
        raise NotBuildable(f"{floor[1]} >= {dotted(floor[0])}", floor[0])
    if major == 12 and at_least(version, "0.6.7"):
        if between(version, "0.6.7", "0.6.8"):
            return major, "0f"
        family = minor == 0 and (cuda is None or cuda >= (12, 9))
        return major, "0f" if family else f"{minor}a"
    return major, f"{minor}a" if major >= 9 else str(minor)


def detected(version: str, capabilities: Iterable[Capability], cuda: Version | None) -> Archs:
    """Without the variable: every visible GPU in turn; the first failure ends it with what was found so far."""
    found: set[Pair] = set()
    for capability in capabilities:
        try:
            found.add(normalised(version, capability, cuda))
        except NotBuildable as error:
            return Archs(_sorted(found), warning=str(error))
    return Archs(_sorted(found))


def listed(version: str, text: str, cuda: Version | None) -> Archs:
    """With the variable: parted at single blanks, each entry at its one dot; anything else raises at import."""
    found: set[Pair] = set()
    for entry in text.split(" "):
        try:
            major_text, minor = entry.split(".")
            major = int(major_text)
            found.add(_entry(version, major, minor, cuda))
        except NotBuildable as error:
            return Archs(_sorted(found), error=f"RuntimeError: {error}")
        except (ValueError, IndexError) as error:
            return Archs(_sorted(found), error=f"{type(error).__name__}: {error}")
    return Archs(_sorted(found))


def _entry(version: str, major: int, minor: str, cuda: Version | None) -> Pair:
    """One entry: literal from 0.4.0 to 0.6.6; before that an ``a`` is added; after that it is detected's spelling."""
    if at_least(version, "0.6.7"):
        return (major, minor) if minor[-1].isalpha() else normalised(version, (major, int(minor)), cuda)
    if not at_least(version, "0.4.0") and major >= 9 and minor.isdecimal():
        return major, f"{minor}a"
    return major, minor


def _sorted(found: set[Pair]) -> tuple[str, ...]:
    return tuple(f"{major}{minor}" for major, minor in sorted(found))


def suffix_for(version: str, capability: Capability, cuda: Version) -> str | None:
    """The suffix (``""``, ``a``, ``f``) that a release of FlashInfer gives a GPU with this CUDA; None: it refuses."""
    try:
        return normalised(version, capability, cuda)[1].lstrip("0123456789")
    except NotBuildable:
        return None


def arch_list(version: str, capabilities: Iterable[Capability], cuda: Version) -> str | None:
    """FLASHINFER_CUDA_ARCH_LIST for these GPUs, spelled as this release spells them with this CUDA: ``12.0f``.

    None where the release reads no such variable, no GPU is known, or the GPU can't be built for with this CUDA.
    Every entry carries its suffix where it has one, so that no release adds another or leaves it out.
    """
    every = sorted(set(capabilities))
    if not every or not at_least(version, FIRST_WITH_VARIABLE):
        return None
    entries: list[str] = []
    for capability in every:
        try:
            major, minor = normalised(version, capability, cuda)
        except NotBuildable:
            return None
        entry = f"{major}.{minor}"
        if entry not in entries:
            entries.append(entry)
    return " ".join(entries)
