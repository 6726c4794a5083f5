"""The nvcc that is found against torch's CUDA, an old GPU and the driver."""

from __future__ import annotations

from remedy.causes import reading, rules
from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    BUILD_FAILED,
    HIPCC,
    HOST_ERROR,
    INSUFFICIENT_DRIVER,
    JIT_AT_WORK,
    NVCC_RUN,
    NVRTC,
    NVRTC_TARGET,
    TOLD_WHY,
    UNDEFINED_VALUE,
    UNSUPPORTED_ARCH,
    UNSUPPORTED_PTX,
    UNSUPPORTED_PTX_CODE,
)
from remedy.hints import Final

# --- what sources demand ------------------------------------------------------------------------------------------

_OR_NEWER: Final = r"(?:\+| ?(?:or|and) (?:higher|newer|later|above|greater|up)\b)"
# A set-up script's least release, where the sentence names the compiler itself or the GPU's target that it is for. What
# speaks of torch or of the driver demands another CUDA, and who says that nothing was found means no age.
_NOT_OTHERS: Final = r"^(?!.*(?i:driver|torch|not found|no nvcc|install|find|please ensure))"
_DEMAND: Final = (
    _NOT_OTHERS + r".*\b(?:(?:(?i:nvcc)|CUDA (?i:toolkit|compiler))(?i: version)?(?: (?:must|should) be)?"
    r" ?(?:>=? ?)?1\d\.\d+"
    + _OR_NEWER
    + r"|(?i:sm_?)\d+[af]?(?:/\S+)? compilation requires CUDA 1\d\.\d+"
    + _OR_NEWER
    + r"|CUDA(?: [Vv]ersion)? ?(?:>=? ?)?1\d\.\d+"
    + _OR_NEWER
    # FlashInfer says which toolkit there is instead
    + r"(?:; (?:the local toolkit|the CUDA toolkit found|this environment's nvcc) is\b"
    r"| (?:is |are )?(?:required|needed) (?:to (?:build|compile) the package"
    r"|(?:for|to (?:build|compile|target)) .*(?:compute capability|\bsm_?\d|compute_\d|Blackwell|Hopper))))"
)
DEMANDED: Final = (
    *any_of("or higher", "or newer", "or later", "or above", "or greater", "and above", pattern=_DEMAND, needs="1"),
    Signature("+ ", _DEMAND, needs="required"),
    *any_of(
        "too old",
        "at least",
        pattern=_NOT_OTHERS + r".*\b(?:(?i:nvcc)|CUDA (?i:toolkit))(?i: version)?[ :=(]{1,2}v?1?\d\.\d+"
        r"[^ .]* ?(?:is too old|but at least)",
    ),
    Signature(
        "is too old",
        _NOT_OTHERS + r"(?!.*\b(?:[Ii]f|[Ww]hen|may|might)\b).*"
        r"\b(?i:nvcc)(?: (?:compiler|toolchain|at \S{1,200}|version(?: is \S{1,12} and)?))? is too old",
    ),
)

# --- nvcc-too-new -------------------------------------------------------------------------------------------------


def _too_new(case: Case) -> Claim | None:
    dropped = rules.nvcc_dropped_gpu(case.facts)
    facts = (case.fact(dropped, "nvcc"),) if dropped else ()
    hits = tuple(hit for hit in reading.refused(case) if reading.target(hit, case) == "new")
    if hits:
        return claim_from(hits, facts)
    if reading.toolkits_nvrtc(case) == "new":
        return claim_from(case.hits(NVRTC_TARGET), facts, certainty="likely", weight=Weight.DECISIVE)
    failed = reading.failed_builds(case)
    if facts and failed:
        return claim_from(failed, facts, certainty="likely", weight=Weight.NOTED)
    return _newer_than_driver(case)


def _newer_than_driver(case: Case) -> Claim | None:
    """Built here by a compiler that the driver is too old for. Where torch's own CUDA is as much too new for the
    driver, a wheel's library may be what failed, and the driver alone is at fault."""
    hits = case.hits(UNSUPPORTED_PTX, *UNSUPPORTED_PTX_CODE)
    if case.has(*JIT_AT_WORK) or rules.linked_past_driver(case.facts):
        hits += case.hits(INSUFFICIENT_DRIVER)
    newer = rules.nvcc_newer_than_driver(case.facts)
    if not (hits and newer) or rules.torch_newer_than_driver(case.facts):
        return None
    return claim_from(hits + case.hits(*JIT_AT_WORK)[:1], (case.fact(newer, "nvcc"),))


# --- nvcc-torch-mismatch ------------------------------------------------------------------------------------------

_MISMATCH: Final = (
    # and ColossalAI's builder in its words
    Signature(
        "he detected CUDA version",
        r"he detected CUDA version \((?P<nvcc>[\d.]+)\) mismatches(?:.*PyTorch ?\((?P<torch>[\d.]+)\))?",
        library="torch",
    ),
    # torch 2.8 and later raise the parts of the sentence unformatted
    Signature(
        "The detected CUDA version",
        r"The detected CUDA version \(%s\) mismatches.*'(?P<nvcc>[\d.]+)', '(?P<torch>[\d.]+)'",
        library="torch",
    ),
    Signature("raise RuntimeError(CUDA_MISMATCH_MESSAGE", library="torch"),
    Signature("does not match torch", r"\b(?i:nvcc)(?: version)? (?:\S{1,12} )?does not match torch"),
    Signature(
        "torch was compiled with",
        # of one major it says so as well, and goes on
        r"CUDA version (?P<nvcc>[\d.]+) does not match the version torch was compiled with (?P<torch>[\d.]+\d)"
        r"(?!.*(?i:accept|allow)ing this combination)",
        library="deepspeed",
    ),
    Signature("CUDAMismatchException", r"CUDAMismatchException(?: is not|:|$)", library="deepspeed"),
    Signature(
        "version used to compile",
        r"does not match the version used to compile Py[Tt]orch(?:.*compiled with C[Uu][Dd][Aa] (?P<torch>[\d.]+\d))?",
        library="apex",
    ),
)


def _mismatch(case: Case) -> Claim | None:
    differ = rules.majors_differ(case.facts)
    facts = (case.fact(differ, "nvcc"),) if differ else ()
    hits = case.hits(*_MISMATCH)
    if hits:
        return claim_from(hits, facts)
    failed = reading.failed_builds(case)
    return claim_from(failed, facts, certainty="likely", weight=Weight.NOTED) if failed and facts else None


CAUSES: Final = (
    Cause(
        id="nvcc-torch-mismatch",
        title="nvcc's CUDA major is not torch's",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=45,
        known_by=rules.majors_differ,
        summary="nvcc is of CUDA {nvcc}, torch was built for {torch}: extensions of one don't fit the other.||nvcc's "
        "CUDA major differs from the one torch was built with, so extensions can't be built.",
        advice="`remedy fix {unit}` brings a toolkit of torch's CUDA release.",
        judge=_mismatch,
        signatures=(*_MISMATCH, *BUILD_FAILED, *HOST_ERROR, *TOLD_WHY, HIPCC, NVCC_RUN),
        observable=True,
        page=Page(
            meaning="A torch extension links torch's CUDA runtime and is compiled against the toolkit's headers. With "
            "CUDA 12 on one side and 13 on the other the two don't fit, and torch refuses to build.",
            origin="`pip install -U torch` changed the CUDA major (2.11 went to 13.0) while the system's toolkit "
            "stayed, or the other way round.",
            recognised="`The detected CUDA version (12.8) mismatches the version that was used to compile PyTorch "
            "(13.0)`. From torch 2.8 the message is an unformatted tuple with the numbers at its end. A *minor* "
            "difference is only a warning and harmless.",
            mending="A toolkit of torch's major, best the same minor; CUDA_HOME and PATH pointed to it.",
            avoid="Don't downgrade torch to fit an old compiler, unless the driver can't run the newer CUDA either.",
            sources=("torch 2.6 to 2.15, utils/cpp_extension.py, _check_cuda_version",),
        ),
    ),
    Cause(
        id="nvcc-too-new",
        title="the nvcc found no longer knows this GPU, or builds what the driver can't load",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=43,
        known_by=rules.nvcc_dropped_gpu,
        summary="The nvcc that is found no longer builds for this GPU, or builds what this driver can't load.",
        advice="`remedy fix {unit}` points the unit to an older toolkit that serves GPU and driver.",
        judge=_too_new,
        signatures=(
            *UNSUPPORTED_ARCH,
            *NVRTC,
            UNDEFINED_VALUE,
            *BUILD_FAILED,
            UNSUPPORTED_PTX,
            *UNSUPPORTED_PTX_CODE,
            INSUFFICIENT_DRIVER,
            *JIT_AT_WORK,
        ),
        observable=True,
        page=Page(
            meaning="CUDA 13 dropped every GPU below compute capability 7.5: Pascal (GTX 10, P40, P100) and Volta "
            "(V100). And what a compiler of a newer major builds needs a driver of that major: 580 for CUDA 13.",
            origin="A toolkit upgrade on an older machine, or /usr/local/cuda moved to the newest release by a "
            "package.",
            recognised="The same words as for a compiler that is too old, `Unsupported gpu architecture "
            "'compute_70'`, with the opposite mend: the number tells. Or `PTX was compiled with an unsupported "
            "toolchain` from a module of a JIT cache. From a library of a wheel the same line means driver-too-old.",
            mending="The newest toolkit that still knows the GPU (12.9 for Volta and Pascal) or that the driver can "
            "load.",
            avoid="Upgrading the driver doesn't bring back a GPU that the compiler dropped.",
            sources=("CUDA 13.0 release notes, dropped architectures", "nvcc --list-gpu-arch of 13.0, 13.2, 13.5"),
        ),
    ),
)
