"""A compiler and headers or libraries of different CUDA releases."""

from __future__ import annotations

from remedy.causes import reading, rules
from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    BUILD_FAILED,
    JIT_AT_WORK,
    JIT_LINKER,
    NVJITLINK,
)
from remedy.hints import Final

_INCOMPATIBLE: Final = (
    Signature("CUDA compiler and CUDA toolkit headers are incompatible"),
    # NVRTC, of a type that its own release's headers complete; and of one that it defines itself, in an older cuda.h
    Signature('incomplete type "__nv_', r"incomplete type \"__nv_\w+\" is not allowed"),
    Signature("invalid redeclaration of type name", r"cuda\.h\(\d+\): error: invalid redeclaration of type name \"CU"),
    # nvJitLink, of a device runtime that is newer than it
    Signature("bad input:", r"bad input: ?\S*libcudadevrt\.a"),
    # nvlink, of objects and device libraries of another release
    Signature("cannot be linked due to version mismatch"),
    Signature("newer than toolkit", r"(?:fatal|error)\s*: .*newer than toolkit \(\d+ vs \d+\)"),
    # nvcc's stubs call what crt/host_runtime.h of their own release defines
    Signature(
        'macro "__cuda', r'macro "__cuda\w+" (?:passed \d+ arguments, but takes|requires \d+ arguments, but only)'
    ),
    # torch's and CMake's FindCUDA, wrapped behind "the CUDA"
    Signature("indCUDA says", r"indCUDA says .*but the CUDA", library="torch"),
)
# What the toolkit's own headers do not find in one another: a compiler of their release brings it, or they would.
_HEADER_BROKEN: Final = any_of(
    ".hpp(", ".h(",
    pattern=r"/include/(?:crt/)?(?:cuda_\w+|cuda|vector_\w+|sm_\d\d_\w+|mma|device_\w+|common_functions|math_functions)"
    r"\.hp?p?\(\d+\): error: ",
    weak=True, needs="error: ",
)  # fmt: skip
# A module built here wants a function of a newer libcudart than the one that torch brought into the process.
_OTHER_CUDART: Final = Signature(
    "version libcudart", r"undefined symbol: cuda\w+, version libcudart\.so\.(?P<major>\d+)"
)


def _mixed(case: Case) -> Claim | None:
    differ = rules.headers_differ(case.facts)
    facts = (case.fact(differ, "nvcc"),) if differ else ()
    hits = case.hits(*_INCOMPATIBLE)
    if case.has(*JIT_AT_WORK):
        hits += case.hits(_OTHER_CUDART)
    if case.has(NVJITLINK):
        # libNVVM or nvcc wrote what nvJitLink, of an older release, can't read.
        hits += case.hits(JIT_LINKER)
    if hits:
        return claim_from(hits, facts)
    if facts and case.has(*_HEADER_BROKEN):
        return claim_from(case.hits(*_HEADER_BROKEN), facts)
    failed = reading.failed_builds(case)
    return claim_from(failed, facts, certainty="likely", weight=Weight.NOTED) if failed and facts else None


CAUSES: Final = (
    Cause(
        id="toolkit-mixed",
        title="compiler and headers are of different CUDA releases",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=42,
        known_by=rules.headers_differ,
        summary="nvcc and the CUDA headers or libraries that it uses come from different CUDA releases.",
        advice="`remedy toolkits` shows which; `remedy fix {unit}` points everything to one complete toolkit.",
        judge=_mixed,
        signatures=(*_INCOMPATIBLE, *_HEADER_BROKEN, _OTHER_CUDART, JIT_LINKER, NVJITLINK, *BUILD_FAILED, *JIT_AT_WORK),
        observable=True,
        page=Page(
            meaning="A toolkit's parts are made for one another. nvcc of 13.3 with runtime headers of 13.0 stops at "
            "the first file that includes libcu++.",
            origin="pip installs the newest nvidia-cuda-nvcc beside the runtime that torch pins, since the packages "
            "don't name one another's versions; an include path of another toolkit stands in CPATH; a conda "
            "environment's headers are found before the system's.",
            recognised="`CUDA compiler and CUDA toolkit headers are incompatible`, or CUDA_VERSION in cuda.h differs "
            "from what nvcc says.",
            mending="One toolkit of one release for compiler, headers and link libraries; CPATH and LD_LIBRARY_PATH "
            "entries of the other removed from the unit.",
            avoid="The macro that switches the check off leaves a module that may compute wrongly.",
            sources=("CCCL 2.8 and 3, cuda/std/__internal/cuda_toolkit.h",),
        ),
    ),
)
