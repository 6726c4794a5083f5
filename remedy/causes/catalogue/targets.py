"""Which GPU architecture was built for, and by which assembler."""

from __future__ import annotations

from remedy.causes import cmake, reading, rules
from remedy.causes.case import Case, Hit, claim_from
from remedy.causes.catalogue.age import nvcc_isa
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    BUILD_FAILED,
    CACHED_ARCH,
    CUDA_FLOOR,
    EMPTY_ARCHS,
    GOES_ON,
    LATER_PTXAS,
    NO_KERNEL_IMAGE,
    NVCC_RELEASE,
    NVCC_RUN,
    OLD_DISTUTILS,
    OLD_PTX_ISA,
    TRITON_AT_WORK,
    TRITON_CODEGEN,
    UNDEFINED_VALUE,
    UNSUPPORTED_ARCH,
)
from remedy.causes.types import Certainty, Evidence
from remedy.hints import Final
from remedy.jit import tables

# --- arch-list-wrong ----------------------------------------------------------------------------------------------

_NOT_ON_TARGET: Final = Signature("not supported on .target", r"not supported on \.target '(?P<target>sm_\d+[af]?)'")
_UNKNOWN_ARCH: Final = Signature(
    "nknown CUDA arch", r"nknown CUDA arch \((?P<arch>[^)]*)\) or GPU not supported", library="torch"
)
_NOT_BUILT_FOR: Final = Signature("nsupported CUDA arch", r"nsupported CUDA arch \((?P<arch>[^)]*)\)", library="vllm")
# FindCUDA's choice of targets, which torch brings along; later releases put the name last, and Meson has its own.
_UNKNOWN_NAME: Final = Signature(
    "nknown CUDA Architecture Name",
    r"(?i)Architecture Name (?:(?P<arch>\S*) in CUDA_SELECT_NVCC_ARCH_FLAGS"
    r"|in CUDA_SELECT_NVCC_ARCH_FLAGS: ?(?P<last>\S*))",
    library="cmake",
)
# What follows such a name, for which no target was set.
_UNSET: Final = Signature("arch_bin wasn't set for some reason", library="cmake")
_MALFORMED: Final = (
    Signature("not enough values to unpack", r"values to unpack \(expected 2, got 1\)", weak=True),
    Signature("too many values to unpack", r"values to unpack \(expected 2[,)]", weak=True),
)
_NO_NUMBER: Final = Signature("invalid literal for int()", r"base 10: '(?P<part>[^']+)'", weak=True)
_CONTEXT: Final = Signature("compilation_context", weak=True, library="flashinfer")
# what a list in the environment may not be, as set-up scripts say it
_REFUSED_LIST: Final = (
    Signature("_CUDA_ARCH_LIST ", r"_CUDA_ARCH_LIST (?:must not be|is (?:empty|invalid|malformed))"),
    Signature("nvalid CUDA architecture", r"[Ii]nvalid CUDA architecture(?: value)?:? ['\"\w]"),
)
_SET_LIST: Final = any_of("set TVM_FFI_CUDA_ARCH_LIST", "Invalid CUDA architecture: ", pattern="", library="tvm-ffi")
_NO_TARGET: Final = (
    # what is no target at all: a word, a number alone, a variable that nobody expanded
    Signature(
        "is not defined for option",
        r"nvcc fatal\s*: [Vv]alue '(?!(?:sm|compute|lto)_\d+[af]?'|native'|all'|all-major')[^']*' is not defined for"
        r" option 'gpu-(?:arch|code)",
    ),
    *cmake.NO_TARGET,
)
_UNTARGETED: Final = (_UNKNOWN_ARCH, _NOT_BUILT_FOR, _UNKNOWN_NAME, _UNSET, *_SET_LIST, *_REFUSED_LIST, *_NO_TARGET)
_GENCODE: Final = Signature("gencode", r"-gencode[= ]arch=compute_(?P<arch>\d+[af]?)", weak=True)
# torch's _get_cuda_arch_flags(), printed by who looked for the fault: targets from before 7.5 beside later ones.
_OLD_BESIDE_NEW: Final = Signature(
    "', '-gencode=arch=", r"arch=compute_(?:[2-6]\d|7[0-4])\b.*arch=compute_(?:7[5-9]|[89]\d|1\d\d)", weak=True
)
_REQUIRES_TARGET: Final = Signature(
    "requires .target", r"(?:(?P<nvcc>tmpxft_\S*\.compute_)\w+\.ptx.*)?requires \.target (?P<target>sm_\w+)"
)
#: CUTLASS, in code that was compiled without the target's suffix: here by a command that shows it, else in a wheel.
CONDITIONAL: Final = Signature("rch conditional MMA instruction used without targeting", weak=True)
_PLAIN_TARGET: Final = any_of(
    "-arch=sm_", "-gencode", pattern=r"(?:-arch=sm_|arch=compute_)(?:9\d|1\d\d)(?![\daf])", weak=True
)


def _listed(case: Case, names: tuple[str, ...] = rules.ARCH_LISTS) -> tuple[Evidence, ...]:
    """What is wrong with the lists in the environment."""
    found = []
    for name in names:
        value = case.variable(name)
        fault = rules.arch_list_fault(name, value, case.facts) if value else None
        if fault:
            found.append(case.fact(fault, name))
    return tuple(found)


def _arch_list(case: Case) -> Claim | None:
    listed = _listed(case)
    refused = tuple(hit for hit in reading.refused(case) if reading.target(hit, case) == "list")
    said = refused + case.hits(*_UNTARGETED) + _without_suffix(case)
    if case.has(*_PLAIN_TARGET):
        said += case.hits(CONDITIONAL)
    if said:
        return claim_from(said, listed)
    unread = _unread(case)
    if unread and (listed or case.has(_CONTEXT)):
        return claim_from(unread, listed)
    empty = reading.empty_sets(case)
    if empty and not case.has(CUDA_FLOOR) and not reading.other_gpus_kernel(case):
        return _empty_with_list(case, empty)
    if case.has(NO_KERNEL_IMAGE):
        return _image_of_cache(case, listed)
    failed = reading.failed_builds(case)
    return claim_from(failed, listed, certainty="likely", weight=Weight.NOTED) if failed and listed else None


def _unread(case: Case) -> tuple[Hit, ...]:
    """Python's words for an entry of a list that is no ``major.minor``, or for a part of it that is no number."""
    values = [value for value in map(case.variable, rules.ARCH_LISTS) if value]
    parts = (hit for hit in case.hits(_NO_NUMBER) if any(hit.groups["part"] in value for value in values))
    parted = case.hits(*_MALFORMED) if case.has(_CONTEXT) or any(map(_parts_badly, values)) else ()
    return parted + tuple(parts)


def _parts_badly(value: str) -> bool:
    """Whether an entry of a list, or what stands where one should, is not in two parts: ``major.minor``."""
    return any(entry.count(".") != 1 for entry in value.replace(";", " ").split(" "))


def _without_suffix(case: Case) -> tuple[Hit, ...]:
    """An instruction that a GPU has only under its own target (sm_120a), compiled for the plain one; from Triton it
    would be Triton's choice, which no list changes."""
    if case.has(*TRITON_AT_WORK):
        return ()
    plain = tuple(hit for hit in case.hits(_NOT_ON_TARGET) if hit.groups["target"][-1].isdigit())
    return tuple(hit for hit in plain if not _is_own(case, hit)) + tuple(
        hit for hit in case.hits(_REQUIRES_TARGET) if not _beyond(case, hit)
    )


def _is_own(case: Case, hit: Hit) -> bool:
    """Whether the target is this GPU's own, of a generation that has no other target."""
    target = tables.parsed(hit.groups["target"].removeprefix("sm_"))
    return target is not None and case.facts.sm == target[0] < (9, 0)


def _beyond(case: Case, hit: Hit) -> bool:
    """Whether the kernel is for later GPUs than this one: no list makes it run here. Where the GPU is not known, only
    nvcc's intermediate file tells that a list was at work: Triton and the driver compile for the GPU that is there."""
    target, sm = tables.parsed(hit.groups["target"].removeprefix("sm_")), case.facts.sm
    if sm is None:
        return "nvcc" not in hit.groups
    return target is not None and sm < target[0]


def _empty_with_list(case: Case, empty: tuple[Hit, ...]) -> Claim | None:
    """No target was left, and a list is set: the list is what emptied it, unless the compiler is too old as well."""
    names = reading.lists_read(case)
    torch = "TORCH_CUDA_ARCH_LIST" in names
    if not torch and rules.nvcc_too_old(case.facts, flashinfer=True):
        return None
    preset = [name for name in names if case.variable(name)]
    facts = _listed(case, names)
    if not facts and preset:
        facts = (case.fact(f"{preset[0]}={case.variable(preset[0])} replaces detection", preset[0]),)
    if not facts and rules.nvcc_serves(case.facts, flashinfer=True) and (case.facts.sm or (0, 0)) >= (7, 5):
        text = "nvcc is new enough for this GPU, so a list of architectures must have emptied the targets"
        facts = (case.fact(text, "nvcc"),)
    if not facts and torch and case.has(_OLD_BESIDE_NEW) and (case.facts.sm or (7, 5)) >= (7, 5):
        # detection would have named this machine's GPU alone
        return claim_from(empty + case.hits(_OLD_BESIDE_NEW), certainty="likely", weight=Weight.DECISIVE)
    if not facts:
        return None
    certainty: Certainty = "confirmed" if _listed(case, names) else "likely"
    return claim_from(empty, facts, certainty=certainty, weight=Weight.DECISIVE)


def _image_of_cache(case: Case, listed: tuple[Evidence, ...]) -> Claim | None:
    """A module of a JIT cache that was built for another GPU."""
    sm = case.facts.sm
    wrong = [
        hit
        for hit in case.hits(CACHED_ARCH)
        if sm and not any(tables.runs_on(arch, sm) for arch in hit.groups["archs"].split("_"))
    ]
    built = [hit for hit in case.hits(_GENCODE) if sm and not tables.runs_on(hit.groups["arch"], sm)]
    if wrong or built:
        return claim_from(case.hits(NO_KERNEL_IMAGE) + tuple(wrong + built)[:1], listed, weight=Weight.DECISIVE)
    if listed and case.has(CACHED_ARCH):
        return claim_from(case.hits(NO_KERNEL_IMAGE), listed)
    return None


# --- ptxas-too-old ------------------------------------------------------------------------------------------------

_PTXAS_NEEDS: Final = Signature("ptxas", r"needs ptxas >= (?P<needed>[\d.]+)", library="flashinfer")
_PTXAS_VERSION: Final = (
    Signature("Triton only support CUDA", r"support CUDA(?!.*got CUDA version: [1-9]\d)", library="triton"),
    Signature("Cannot find ptxas", library="triton"),
    Signature("ptxas not found", r"(?:^|Error: )ptxas not found" + GOES_ON),
    # XLA, whose warning of the same words ends in a fall back that works
    Signature("ptxas too old", library="jax"),
    Signature("ptxas does not support CC", library="jax"),
)
# The driver then compiled what XLA wrote for another assembler, and the module came out without its kernels.
_KERNEL_LOST: Final = any_of(
    "get PTX kernel", "ould not find the corresponding function", pattern="", weak=True, library="jax"
)
# What XLA thinks of the ptxas that it found: it goes on, and may compile wrongly or not at all.
_PTXAS_WARNED: Final = (
    Signature("using ptxas", r"using ptxas [\d.]+x?, (?:which is older than|but TF requires)", library="jax"),
    Signature("Invoking ptxas with version", library="jax"),
)
# Triton's own ptxas, as subprocess and Triton tell of its failure; what it said itself may stand elsewhere.
_BUNDLED_PTXAS: Final = Signature(
    "backends/nvidia/bin/ptxas'", r"--gpu-name=sm_(?P<arch>1\d\d)", needs="exit status 255", weak=True, library="triton"
)
_PTXAS_SAID: Final = Signature(
    "ptxas", r"ptxas\S*\s+(?:\S+, line \d+; )?(?:fatal|error)\s*:|\bptxas\b.*line \d+;", weak=True
)
# The latest ptxas that Triton's wheels call so is 12.8's, and ptxas-blackwell is another: these came later.
_AFTER_BUNDLED: Final = ((10, 3), (11, 0), (12, 1))
_PTXAS_KNOWN: Final = Signature("sm_", r"'sm_\w+' is not a recognized processor", library="triton")


def _wordless(case: Case) -> tuple[Hit, ...]:
    """Triton's ptxas failed, and its own words are not in the log: a GPU that is newer than it is told by number."""
    if case.has(_PTXAS_SAID):
        return ()
    sm = case.facts.sm
    after = [f"{major}{minor}" for major, minor in _AFTER_BUNDLED]
    run = tuple(hit for hit in case.hits(_BUNDLED_PTXAS) if hit.groups["arch"] in after or (sm and sm >= (10, 0)))
    return run or (case.hits(TRITON_CODEGEN) if sm in _AFTER_BUNDLED else ())


def _ptxas(case: Case) -> Claim | None:
    named = tuple(
        hit
        for hit in case.hits(UNDEFINED_VALUE)
        if hit.groups["option"] in ("gpu-name", "gpu-architecture") and not reading.dropped_long_ago(hit)
    )
    hits = named + case.hits(_PTXAS_NEEDS, *_PTXAS_VERSION)
    if case.variable("TRITON_PTXAS_PATH"):
        # not the one that came with Triton, and so one that can be changed for it
        hits += case.hits(LATER_PTXAS)
    if not nvcc_isa(case):
        hits += case.hits(OLD_PTX_ISA)
    sm = case.facts.sm
    facts = (case.fact(f"the GPU is of compute capability {rules.dotted(sm)}", "sm"),) if sm and sm >= (10, 0) else ()
    if hits:
        lost = any(hit.library == "jax" for hit in hits) and case.has(*_KERNEL_LOST)
        return claim_from(hits, facts, weight=Weight.DECISIVE if lost else None)
    unknown = case.hits(_PTXAS_KNOWN)
    if unknown:
        return claim_from(unknown, facts, certainty="likely")
    wordless = _wordless(case)
    if wordless:
        return claim_from(wordless, facts, certainty="likely", weight=Weight.DECISIVE)
    warned = case.hits(*_PTXAS_WARNED)
    return claim_from(warned, facts, certainty="possible", weight=Weight.NOTED) if warned else None


CAUSES: Final = (
    Cause(
        id="arch-list-wrong",
        title="the list of GPU architectures is malformed or names the wrong ones",
        handling="mend",
        mend="architectures",
        toolchain=True,
        rank=43,
        known_by=rules.arch_lists_fault,
        summary="The list of GPU architectures to build for is malformed, or names what this GPU or nvcc can't do.",
        advice="`remedy show {unit}` tells where *_CUDA_ARCH_LIST is set; `remedy fix {unit}` writes the right one.",
        judge=_arch_list,
        signatures=(
            *UNSUPPORTED_ARCH,
            UNDEFINED_VALUE,
            *_UNTARGETED,
            _NOT_ON_TARGET,
            _REQUIRES_TARGET,
            *_MALFORMED,
            _NO_NUMBER,
            _CONTEXT,
            _GENCODE,
            _OLD_BESIDE_NEW,
            CONDITIONAL,
            *_PLAIN_TARGET,
            *EMPTY_ARCHS,
            CUDA_FLOOR,
            NO_KERNEL_IMAGE,
            CACHED_ARCH,
            NVCC_RUN,
            NVCC_RELEASE,
            OLD_DISTUTILS,
            *BUILD_FAILED,
            *TRITON_AT_WORK,
        ),
        page=Page(
            meaning="FLASHINFER_CUDA_ARCH_LIST, TORCH_CUDA_ARCH_LIST and TVM_FFI_CUDA_ARCH_LIST replace the detection "
            "of the GPU. A wrong entry is built for faithfully: for another GPU, for a target that the compiler "
            "doesn't have, or without the suffix that the kernels need.",
            origin="Container images preset TORCH_CUDA_ARCH_LIST; a value is copied from another machine; each library "
            "has its own grammar: FlashInfer wants single blanks and takes `12.0f`, torch takes semicolons and "
            "knows no `f`, TVM-FFI adds no suffix. `12.0` is another target than `12.0a`: FP4 instructions exist only "
            "under the second.",
            recognised="`Instruction '…' not supported on .target 'sm_120'`, `Unknown CUDA arch (12.0f)`, `not enough "
            "values to unpack` at import, `Unsupported gpu architecture` for a GPU that isn't here, or the sm75 line "
            "although nvcc is new enough.",
            mending="The list is set for the GPUs that are here, in the grammar of the library's version and with the "
            "suffix that the toolkit knows; or removed where detection does better.",
            avoid="Setting the list to silence an nvcc that is too old: the check goes, the failure stays. SGLang "
            "0.5.5 to 0.5.23 overwrites FLASHINFER_CUDA_ARCH_LIST when it loads the model.",
            sources=(
                "flashinfer 0.3.1 to 0.7.4, compilation_context.py",
                "torch 2.6 to 2.15, utils/cpp_extension.py, _get_cuda_arch_flags",
                "apache-tvm-ffi 0.1, cpp/extension.py",
            ),
        ),
    ),
    Cause(
        id="ptxas-too-old",
        title="the ptxas in use does not know this GPU",
        handling="mend",
        mend="ptxas",
        toolchain=True,
        rank=44,
        summary="The assembler ptxas that is used, usually Triton's own, does not know {arch}.||The assembler ptxas "
        "that is used, usually Triton's own, is too old for this GPU.",
        advice="`remedy fix {unit}` points Triton to a newer ptxas; a newer Triton brings one.",
        judge=_ptxas,
        signatures=(
            UNDEFINED_VALUE,
            OLD_PTX_ISA,
            _PTXAS_NEEDS,
            *_PTXAS_VERSION,
            LATER_PTXAS,
            _PTXAS_KNOWN,
            *_PTXAS_WARNED,
            *_KERNEL_LOST,
            _BUNDLED_PTXAS,
            _PTXAS_SAID,
            *TRITON_AT_WORK,
        ),
        page=Page(
            meaning="Triton and Inductor don't use nvcc. They bring a ptxas of their own in the wheel and run that. It "
            "must know the GPU.",
            origin="Triton 3.0 to 3.5 bundle ptxas 12.4 or 12.8: neither knows 12.1 (GB10) or 10.3. From 3.6 a second "
            "one, ptxas-blackwell, serves capabilities of 10 and above.",
            recognised="`ptxas fatal : Value 'sm_121a' is not defined for option 'gpu-name'`, or `Unsupported .version "
            "9.0; current version is '8.7'`; the repro command below names whose ptxas it was.",
            mending="TRITON_PTXAS_PATH to a newer toolkit's ptxas; from Triton 3.6 on TRITON_PTXAS_BLACKWELL_PATH, for "
            "the first has no effect on new GPUs any more. Or a newer Triton with its torch.",
            avoid="CUDA_HOME and PATH are not read by Triton: changing them does nothing here.",
            sources=("triton 3.0 to 3.9, backends/nvidia/compiler.py", "each wheel's ptxas --version"),
        ),
    ),
)
