"""An nvcc that is too old for the GPU or for the sources."""

from __future__ import annotations

from remedy.causes import reading, rules
from remedy.causes.case import Case, Hit, claim_from, weigh
from remedy.causes.catalogue.releases import DEMANDED
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    BUILD_FAILED,
    CUDA_FLOOR,
    EMPTY_ARCHS,
    JIT_AT_WORK,
    NEWER_OPTION,
    NVCC_RELEASE,
    NVCC_RUN,
    NVRTC,
    NVRTC_TARGET,
    OLD_PTX_ISA,
    SWALLOWED,
    TRITON_AT_WORK,
    UNSUPPORTED_ARCH,
)
from remedy.causes.types import Evidence
from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import tables
from remedy.value import replace

# --- nvcc-too-old -------------------------------------------------------------------------------------------------

_TOO_OLD: Final = (
    *DEMANDED,
    # sampling.cuh asks for FlagHeads where nvcc is under 12.1; the CUB that FlashInfer ships has it no longer.
    Signature("FlagHeads", r'BlockAdjacentDifference<.*has no member "FlagHeads', library="flashinfer"),
    Signature(
        "NVCC version", r"NVCC version (?:should be >=|must be at least) ?(?P<needed>[\d.]+)", library="deep-gemm"
    ),
    Signature(
        "only supported on CUDA", r"only supported on CUDA (?P<needed>[\d.]+) (?:and above|or (?:above|later|newer))"
    ),
    Signature(
        "#error", r"#error.*\b(?:CUDA|nvcc)(?: [Tt]oolkit)? (?P<needed>1\d\.\d+)(?:\+| or (?:newer|later|higher|above))"
    ),
    Signature("nvcc fatal", r"nvcc fatal\s*: Unknown option " + NEWER_OPTION),
    Signature(
        "is not defined for option",
        r"Value '(?:c\+\+\d\w' is not defined for option 'std|(?:native|all|all-major)' is not defined for option"
        r" 'gpu-arch)",
    ),
    *any_of(
        *("CUDA", "nvcc", "NVCC", " cuda >"),
        pattern=r"(?:requires?|needs?|must be compiled with|at least) (?:CUDA|cuda(?= >)|nvcc|CUDA [Tt]oolkit"
        r"|NVCC)(?: [Vv]ersion)? ?(?:>=? ?)?(?P<needed>1\d\.\d+)(?! driver| for (?:the )?best)",
        weak=True,
    ),
    *any_of(
        "must be",
        "should be",
        pattern=r"CUDA(?: [Vv]ersion)? (?:must|should) be (?:>=|at least) ?(?P<needed>1\d\.\d+)",
        weak=True,
        needs="CUDA",
    ),
)
# Types that came with a release, in headers that older ones have without them.
_NEWER_TYPE: Final = Signature(
    "__nv_", r"identifier \"(?P<type>__nv_(?:fp8|fp6|fp4|bfloat16))(?P<e8m0>_e8m0)?\w*\" is undefined"
)
_TYPE_SINCE: Final = {"__nv_fp8": (11, 8), "__nv_fp6": (12, 8), "__nv_fp4": (12, 8), "__nv_bfloat16": (11, 0)}
# Functions and types of the runtime and the driver likewise; NVRTC knows none of the device runtime's, of any age.
_NEWER_NAME: Final = Signature(
    "is undefined",
    r"identifier \"(?P<name>cudaLaunchKernelEx|cudaLaunchAttributePreferredCluster|cudaLaunchAttribute"
    r"|cudaGridDependencySynchronize|cudaTriggerProgrammaticLaunch|CUtensorMap|cuTensorMapEncode"
    r"|cudaGraphConditionalHandle|cuGreenCtx|cudaGetDriverEntryPointByVersion|cudaMallocAsync)\w*\" is undefined",
    weak=True,
)
_NAME_SINCE: Final = {
    "cudaMallocAsync": (11, 2), "cudaLaunchKernelEx": (11, 8), "cudaLaunchAttribute": (11, 8),
    "cudaGridDependencySynchronize": (11, 8), "cudaTriggerProgrammaticLaunch": (11, 8), "CUtensorMap": (12, 0),
    "cuTensorMapEncode": (12, 0), "cudaGraphConditionalHandle": (12, 3), "cuGreenCtx": (12, 4),
    "cudaGetDriverEntryPointByVersion": (12, 5), "cudaLaunchAttributePreferredCluster": (12, 8),
}  # fmt: skip
# Headers that came with a release: their absence tells the compiler's age.
_NEWER_HEADER: Final = Signature(
    "cuda_fp", r"\b(?P<header>cuda_fp[468]\.h)\b.{0,40}(?:No such|not found|cannot open|没有)"
)
_HEADER_SINCE: Final = {"cuda_fp8.h": (11, 8), "cuda_fp6.h": (12, 8), "cuda_fp4.h": (12, 8)}
# A flood of errors inside headers that the library itself ships: the compiler is older than they are.
_BUNDLED: Final = any_of(
    "has no member",
    "is undefined",
    "no instance",
    "not a template",
    "Error limit reached",
    pattern=r"(?:cub::_V_\d|cuda::__\d|/cccl/|cutlass/|libcudacxx/|sampling\.cuh).*(?:has no member|is undefined"
    r"|no instance|not a template)|^(?!.*\b(?:at|c10|torch)::).*has no member|Error limit reached",
    weak=True,
)
# FlashInfer 0.6.12 and later use libcu++ of CCCL 3; without the copy it ships, CUDA 12's own is too old for them.
_NEWER_API: Final = Signature("qualified name is not allowed", weak=True, library="flashinfer")
_BUNDLED_WANT: Final = (12, 3)
# libcu++ wraps more of PTX with each release: the tensor maps and bulk copies of Hopper came with CCCL 2.4, CUDA 12.5.
_NEWER_PTX: Final = Signature("cuda::ptx", r"namespace ['\"]cuda::ptx['\"] has no member", weak=True)
_PTX_WANT: Final = (12, 5)


def nvcc_isa(case: Case) -> bool:
    """Whether the ptxas that complains is the toolkit's own (its ISA is that of the nvcc), not Triton's."""
    nvcc = case.facts.nvcc
    known = rules.PTX_ISA.get(nvcc[:2]) if nvcc else None
    said = {hit.groups.get("isa") for hit in case.hits(OLD_PTX_ISA)}
    return known is not None and rules.dotted(known) in said and not case.has(*TRITON_AT_WORK)


def _too_old(case: Case) -> Claim | None:
    for part in (_refused_target, _nvrtc, _floor, _empty_set, _old_for_sources):
        found = part(case)
        if found is not None:
            return found
    return _failed_build(case)


def _aged(case: Case) -> tuple[Evidence, ...]:
    text = rules.nvcc_too_old(case.facts, flashinfer=True)
    return (case.fact(text, "nvcc"),) if text else ()


def _below(case: Case, needed: str) -> tuple[Evidence, ...]:
    """That the nvcc is older than a release that the log names; nothing where it is not, or not known."""
    nvcc = reading.nvcc_version(case)
    below = nvcc is not None and nvcc < tuple(int(part) for part in needed.split("."))
    return (case.fact(f"nvcc is {rules.dotted(nvcc)}", "nvcc"),) if nvcc and below else ()


def _refused_target(case: Case) -> Claim | None:
    hits = tuple(hit for hit in case.hits(*UNSUPPORTED_ARCH) if reading.target(hit, case) == "old")
    return claim_from(hits, _too_old_for(case, hits[0].groups.get("arch", ""))) if hits else None


def _nvrtc(case: Case) -> Claim | None:
    hits = case.hits(NVRTC_TARGET) if reading.toolkits_nvrtc(case) == "old" else ()
    return claim_from(hits, _aged(case), certainty="likely", weight=Weight.DECISIVE) if hits else None


def _too_old_for(case: Case, arch: str) -> tuple[Evidence, ...]:
    """That the nvcc which ran is older than a target; nothing where it is not known, or another one ran."""
    nvcc, parsed = reading.nvcc_version(case), tables.parsed(arch)
    least = tables.nvcc_minimum(*parsed) if parsed else None
    if nvcc is None or least is None or nvcc >= least:
        return ()
    return (case.fact(f"nvcc is {rules.dotted(nvcc)}; compute_{arch} is known from {rules.dotted(least)}", "nvcc"),)


def _floor(case: Case) -> Claim | None:
    hits = case.hits(CUDA_FLOOR)
    if not hits:
        return None
    # The line is always a warning, swallowed by its caller; what makes it the cause is that something failed of it.
    failed = case.hits(*EMPTY_ARCHS) + reading.failed_builds(case)
    fails = any(not hit.line.quiet for hit in failed) or any("rror" in hit.line.text for hit in hits)
    weight = Weight.DECISIVE if fails else Weight.NOTED
    facts = _aged(case) or _below(case, hits[0].groups["needed"])
    claim = claim_from(hits + case.hits(*EMPTY_ARCHS), facts, weight=weight)
    # A build fails of much else; the empty set of targets tells that it was this.
    ambiguous = not case.has(*EMPTY_ARCHS) and not any("rror" in hit.line.text for hit in hits)
    return claim and replace(claim, last_line=hits[-1].line.number if fails else 0, ambiguous=ambiguous)


def _empty_set(case: Case) -> Claim | None:
    """FlashInfer's sm75 line says only that no target was found; the facts say why."""
    hits = reading.empty_sets(case)
    facts, lists = case.facts, reading.lists_read(case)
    if (
        not hits
        or "TORCH_CUDA_ARCH_LIST" in lists
        or (facts.sm and facts.sm < (7, 5))
        or reading.other_gpus_kernel(case)
    ):
        return None
    aged = _aged(case)
    if aged:
        return claim_from(hits, aged)
    if any(case.variable(name) for name in lists) or rules.nvcc_serves(facts, flashinfer=True):
        return None
    if facts.sm and facts.sm >= (10, 0):
        text = f"compute capability {rules.dotted(facts.sm)} needs a recent nvcc, and none is known here"
        return claim_from(hits, (case.fact(text, "sm"),), certainty="likely", weight=weigh(hits))
    if any("majors" in hit.groups for hit in hits):
        return claim_from(hits, certainty="possible", weight=weigh(hits))
    if facts.env:
        text = "no list of architectures is set in the environment, so the compiler's age is what is left"
        return claim_from(hits, (case.fact(text),), certainty="possible", weight=weigh(hits))
    return None


def _newer_than(hit: Hit, nvcc: Version | None) -> bool:
    """Whether a missing header or type came after this nvcc. With nvcc unknown a missing type says so by itself; a
    missing header may as well be a package that is not there."""
    if "header" in hit.groups:
        return nvcc is not None and nvcc < _HEADER_SINCE[hit.groups["header"]]
    if "name" in hit.groups:
        return nvcc is not None and nvcc < _NAME_SINCE[hit.groups["name"]]
    since = (12, 8) if "e8m0" in hit.groups else _TYPE_SINCE[hit.groups["type"]]
    return nvcc is None or nvcc < since


def _old_for_sources(case: Case) -> Claim | None:
    said = case.hits(*(s for s in _TOO_OLD if not s.weak))
    if said:
        return claim_from(said, _aged(case))
    nvcc = reading.nvcc_version(case)
    newer = tuple(hit for hit in case.hits(_NEWER_HEADER, _NEWER_TYPE, _NEWER_NAME) if _newer_than(hit, nvcc))
    if newer:
        return claim_from(newer, (case.fact(f"nvcc is {rules.dotted(nvcc)}", "nvcc"),) if nvcc else ())
    if nvcc_isa(case):
        return claim_from(case.hits(OLD_PTX_ISA), (case.fact("that is the ISA of the toolkit's own ptxas", "nvcc"),))
    newer_api = case.hits(_NEWER_API)
    if newer_api and nvcc and nvcc < (13, 0):
        text = f"nvcc {rules.dotted(nvcc)} brings a libcu++ that is older than these sources"
        return claim_from(newer_api, (case.fact(text, "nvcc"),), certainty="likely")
    bundled = case.hits(*_BUNDLED)
    if bundled and nvcc and nvcc < _BUNDLED_WANT:
        text = f"nvcc {rules.dotted(nvcc)} is older than the headers that the library ships"
        return claim_from(bundled, (case.fact(text, "nvcc"),), certainty="likely")
    wrapped = case.hits(_NEWER_PTX)
    if wrapped and nvcc and nvcc < _PTX_WANT:
        text = f"nvcc {rules.dotted(nvcc)} brings a libcu++ that wraps less of PTX than these sources use"
        return claim_from(wrapped, (case.fact(text, "nvcc"),), certainty="likely")
    needed = case.hits(*(s for s in _TOO_OLD if s.weak))
    below = _below(case, needed[0].groups["needed"]) if needed else ()
    return claim_from(needed, below) if below else None


def _failed_build(case: Case) -> Claim | None:
    """Ambiguous build failures, decided by what the facts show."""
    failed, nvcc = reading.failed_builds(case), reading.nvcc_version(case)
    flashinfer = any(hit.library == "flashinfer" for hit in failed + case.hits(*JIT_AT_WORK))
    text = rules.nvcc_too_old(case.facts, flashinfer or case.facts.flashinfer is not None)
    if text is None and flashinfer and nvcc and nvcc < (12, 0):
        text = f"nvcc is {rules.dotted(nvcc)}; FlashInfer's sources are for CUDA 12 and later"
    if not (failed and text):
        return None
    return claim_from(failed, (case.fact(text, "nvcc"),), certainty="likely", weight=Weight.NOTED)


CAUSES: Final = (
    Cause(
        id="nvcc-too-old",
        title="the nvcc found is too old for this GPU or this library",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=44,
        known_by=rules.nvcc_serves_not,
        summary="The nvcc that is found can't build for this GPU, or is under the library's minimum of CUDA {needed}."
        "||The nvcc that is found is too old: it can't build for this GPU, or is under the library's minimum.",
        advice="`remedy fix {unit}` installs a toolkit of torch's CUDA release and points the unit to it.",
        judge=_too_old,
        signatures=(
            *_TOO_OLD,
            _NEWER_HEADER,
            _NEWER_TYPE,
            _NEWER_NAME,
            _NEWER_API,
            _NEWER_PTX,
            *_BUNDLED,
            OLD_PTX_ISA,
            *EMPTY_ARCHS,
            SWALLOWED,
            CUDA_FLOOR,
            *UNSUPPORTED_ARCH,
            *NVRTC,
            NVCC_RUN,
            NVCC_RELEASE,
            *BUILD_FAILED,
            *TRITON_AT_WORK,
            *JIT_AT_WORK,
        ),
        observable=True,
        page=Page(
            meaning="Each CUDA release knows the GPUs of its time. nvcc 12.8 is the first for compute capability 12.0 "
            "(RTX PRO 6000 Blackwell, RTX 50), 12.9 the first for 12.1 and for the family target 120f; 11.8 the first "
            "for 8.9 and 9.0.",
            origin="torch was upgraded and brought a newer CUDA runtime, the toolkit under /usr/local stayed. It can "
            "go unnoticed for weeks: kernels that were compiled before lie in a cache, and only a new module, a new "
            "version or an emptied cache needs the compiler again.",
            recognised="`SM 12.x requires CUDA >= 12.9` (only a warning, yet the cause), `Unsupported gpu architecture "
            "'compute_120f'`, `NVCC version should be >= 12.3`. FlashInfer swallows its own exception, is left with "
            "an empty list of targets, and then says `FlashInfer requires GPUs with sm75 or higher`: that line is "
            "about the list, hardly ever about the GPU.",
            mending="A toolkit of torch's own CUDA release, beside the old one; CUDA_HOME, PATH and the list of "
            "architectures in the unit; the modules that the old compiler built, moved aside.",
            avoid="CUDA_HOME=/dev/null makes FlashInfer fall back to torch's number and breaks every other JIT "
            "compiler in the process, minutes into the start. FLASHINFER_CUDA_ARCH_LIST skips the check and doesn't "
            "teach nvcc a target. The driver's CUDA version (nvidia-smi) says nothing about nvcc.",
            sources=(
                "flashinfer 0.6.7 to 0.7.4, compilation_context.py",
                "ptxas --help of 11.8 to 13.5, the targets each release knows",
                "DeepGEMM 2.1 to 2.8, jit/compiler.hpp",
            ),
        ),
    ),
)
