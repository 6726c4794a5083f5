"""Readings of a case that several causes share: which nvcc was run, what a refused target means."""

from __future__ import annotations

import re

from remedy.causes import rules
from remedy.causes.case import Case, Hit
from remedy.causes.entry import Signature
from remedy.causes.shared import (
    BUILD_FAILED,
    EMPTY_ARCHS,
    HIPCC,
    HOST_ERROR,
    INSUFFICIENT_DRIVER,
    NINJA_127,
    NO_GPU,
    NVCC_MISSING,
    NVCC_RELEASE,
    NVCC_RUN,
    NVRTC_ASKED,
    NVRTC_OF_TOOLKIT,
    NVRTC_TARGET,
    OF_NONE,
    OLD_DISTUTILS,
    OLD_DRIVER,
    SHELL_NOT_FOUND,
    SWALLOWED,
    TOLD_WHY,
    UNDEFINED_VALUE,
    UNSUPPORTED_ARCH,
)
from remedy.causes.telling import speaks_of_compilers
from remedy.facts.types import Version
from remedy.hints import Final, Literal
from remedy.jit import tables

Reading = Literal["old", "new", "list", ""]


def version_in_path(path: str) -> Version | None:
    """The release in a toolkit's path: /usr/local/cuda-12.8/bin/nvcc is (12, 8)."""
    found = re.search(r"cuda[-_/](\d{1,2})\.(\d{1,2})(?!\d)", path)
    return (int(found[1]), int(found[2])) if found else None


def nvcc_version(case: Case) -> Version | None:
    """The release of the nvcc that the build ran: its path in the log speaks before the facts, which may come from
    another shell; its own version line last."""
    for hit in case.hits(NVCC_RUN):
        found = version_in_path(hit.groups.get("nvcc", ""))
        if found:
            return found
    if case.facts.nvcc:
        return case.facts.nvcc[:2]
    for hit in case.hits(NVCC_RELEASE):
        return tuple(int(part) for part in hit.groups["release"].split("."))
    return None


#: CUDA 13 dropped what is older than 7.5. Where the compiler at hand is older than 12, the one that refused such a
#: target was no newer one: toolkits of so different an age don't lie side by side.
_LAST_BEFORE_DROP: Final = 12


def _whole(hit: Hit, case: Case) -> str | None:
    """The target that a line names. One that a paste cut off is the GPU's own, if it begins like that, else unknown."""
    arch = hit.groups.get("arch", "")
    parsed = tables.parsed(arch)
    known = parsed is not None and tables.nvcc_minimum(parsed[0]) is not None
    if "close" in hit.groups or "open" not in hit.groups or known:
        return arch
    own = "{}{}".format(*case.facts.sm) if case.facts.sm else ""
    return own if arch and own.startswith(arch) else None


def target(hit: Hit, case: Case) -> Reading:
    """Why nvcc or ptxas refused a target: the compiler is older than it, no longer knows it, or the list that named
    it is wrong for this GPU; empty where the line is cut before the target."""
    arch = _whole(hit, case)
    if arch is None:
        return ""
    parsed = tables.parsed(arch)
    if parsed is None:
        return "list"
    cc, suffix = parsed
    sm, nvcc = case.facts.sm, nvcc_version(case)
    if cc < (5, 0):
        return "list" if sm and sm >= (5, 0) else "new"
    if tables.nvcc_minimum(cc) is not None and tables.nvcc_minimum(cc, suffix) is None:
        return "list"
    if cc < (7, 5):
        least = tables.nvcc_minimum(cc)
        if nvcc and ((least and nvcc < least) or nvcc[0] < _LAST_BEFORE_DROP):
            return "old"
        if not nvcc and case.has(OLD_DISTUTILS):
            # CUDA 13 came years later: the other compilers that refuse such a target are those from before it.
            return "old"
        return "list" if sm and sm >= (7, 5) else "new"
    if cc == (10, 1) and nvcc and nvcc >= (13, 0):
        return "list"
    if sm and sm[0] != cc[0]:
        return "list"
    return "old"


def toolkits_nvrtc(case: Case) -> Reading:
    """Why the toolkit's NVRTC refused its target, as ``target`` says it of nvcc; empty where it did not, or torch's own
    did."""
    if not case.has(NVRTC_TARGET) or not case.has(*NVRTC_OF_TOOLKIT):
        return ""
    asked = next((tables.parsed(hit.groups["asked"]) for hit in case.hits(NVRTC_ASKED)), None)
    cc, nvcc = asked[0] if asked else case.facts.sm, nvcc_version(case)
    dropped = cc is not None and cc < (7, 5) and (nvcc is None or nvcc[0] > _LAST_BEFORE_DROP)
    return "new" if dropped else "old"


def refused(case: Case) -> tuple[Hit, ...]:
    """The targets that a compiler refused. An assembler that refuses one older than every GPU in use is no old one:
    it was nvcc's, and asked by a build file that is older than it."""
    assembler = (hit for hit in case.hits(UNDEFINED_VALUE) if dropped_long_ago(hit))
    return case.hits(*UNSUPPORTED_ARCH) + tuple(assembler)


def dropped_long_ago(hit: Hit) -> bool:
    """Whether the line names a target that every toolkit of CUDA 12 dropped."""
    parsed = tables.parsed(hit.groups.get("arch", ""))
    return parsed is not None and parsed[0] < (5, 0)


def lists_read(case: Case) -> tuple[str, ...]:
    """The variables that may have emptied FlashInfer's set of targets: up to 0.3.0, whose line says ``sm75+``, torch's
    list is read; later versions read their own only."""
    if any("sm75+" in hit.line.text for hit in case.hits(*EMPTY_ARCHS)):
        return ("TORCH_CUDA_ARCH_LIST",)
    return ("FLASHINFER_CUDA_ARCH_LIST",)


def empty_sets(case: Case) -> tuple[Hit, ...]:
    """FlashInfer's lines that no target was found, where no other line says why: without a GPU, and with a driver that
    torch can't use, there is no capability to ask for."""
    return () if case.has(SWALLOWED, OLD_DRIVER, INSUFFICIENT_DRIVER, *NO_GPU) else case.hits(*EMPTY_ARCHS)


def unexplained_builds(case: Case) -> tuple[Hit, ...]:
    """Lines that only say that a build failed, for facts to say why; none where the log does: a header of another
    library is missing, the sources are for another release of one, nvcc was given another compiler's option, the
    compiler itself crashed, ROCm's ran in nvcc's place, or the start came further and ended of its input."""
    failed = case.hits(*BUILD_FAILED)
    of_rocm = case.has(HIPCC) and not case.has(NVCC_RUN)
    if failed and (of_rocm or case.has(*TOLD_WHY) or ended_elsewhere(case)):
        return ()
    return failed


#: What is raised over data: of a build that failed, wrappers tell with other exceptions, and callers that do without it
#: stumble over a name or None.
_OF_DATA: Final = (
    r"^(?:[\w.]+\.)?(?:KeyError|ValueError|IndexError|NotImplementedError|\w*(?:Decode|Validation)Error)\b:?"
)


def ended_elsewhere(case: Case) -> bool:
    """Whether the log's last word is an exception that is none of a compiler's."""
    last = case.last_word
    return last is not None and bool(re.match(_OF_DATA, last.text)) and not speaks_of_compilers(last.text)


def failed_builds(case: Case) -> tuple[Hit, ...]:
    """The same of builds in which nvcc had a part: none where the host compiler spoke of its own source, and nothing
    that nvcc compiles is named as failed."""
    failed = unexplained_builds(case)
    return () if case.has(*HOST_ERROR) and not any(".cu" in hit.line.text for hit in failed) else failed


def other_gpus_kernel(case: Case) -> bool:
    """Whether FlashInfer was asked for a kernel that exists for other GPUs only: no compiler helps."""
    sm = case.facts.sm
    wanted = {part.strip() for hit in case.hits(*EMPTY_ARCHS) for part in hit.groups.get("majors", "").split(",")} - {
        ""
    }
    return bool(wanted) and sm is not None and str(sm[0]) not in wanted


#: Below a line that fails of a None there may be the frames of what it was given to, and marks below each.
_BELOW: Final = 9


def failed_of_none(case: Case, *lines: Signature) -> tuple[Hit, ...]:
    """Errors of Python's that stand right below one of these lines of a traceback, which took a None for a value."""
    frames = [hit.line.number for hit in case.hits(*lines)]
    return tuple(hit for hit in case.hits(*OF_NONE) if any(0 < hit.line.number - number <= _BELOW for number in frames))


def missing_programs(case: Case) -> tuple[Hit, ...]:
    """Lines that say which nvcc could not be started; status 127 behind an nvcc command says it as well."""
    named = case.hits(SHELL_NOT_FOUND, *NVCC_MISSING)
    if named:
        return named
    if case.has(*NINJA_127):
        return tuple(hit for hit in case.hits(NVCC_RUN))[:1]
    return ()


def root_of(program: str) -> str:
    """The toolkit root that a path to nvcc was made of; empty for a bare ``nvcc``."""
    return program.removesuffix("/nvcc").removesuffix("/bin") if "/" in program else ""


def invalid_root(case: Case, root: str) -> str | None:
    """Why a root without nvcc is the variable's fault: its spelling, or that the variable names no toolkit."""
    fault = rules.root_fault(root)
    if fault:
        return f"CUDA_HOME is {root!r}: {fault}"
    wanted = {case.facts.env.get(name, "").rstrip("/") for name in ("CUDA_HOME", "CUDA_PATH")} - {""}
    if root.rstrip("/") in wanted:
        return f"CUDA_HOME is {root!r}, and no nvcc is there"
    if root == "/usr" or "/site-packages/nvidia/" in root or "/dist-packages/nvidia/" in root:
        return f"{root} is no toolkit root"
    return None
