"""An nvcc that is not found."""

from __future__ import annotations

from remedy.causes import cmake, reading, windows
from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    GOES_ON,
    NINJA_127,
    NVCC_MISSING,
    NVCC_RUN,
    OF_NONE,
    SHELL_NOT_FOUND,
)
from remedy.hints import Final

# --- nvcc-not-found -----------------------------------------------------------------------------------------------

_NOT_FOUND: Final = (
    Signature("ould not find nvcc", r"ould not find nvcc" + GOES_ON, library="flashinfer"),
    Signature("'which', 'nvcc'", r"\['which', 'nvcc'\].*returned non-zero"),
    Signature("CUDA_HOME environment variable is not set", library="torch"),
    Signature("ould not find CUDA installation", library="tvm-ffi"),
    Signature("utomatically detect CUDA installation", library="tilelang"),
    Signature("but no `nvcc` found", library="tilelang"),
    # its target "auto": asks for the directory of a toolkit and of ROCm, and for no GPU
    Signature("No CUDA or HIP ", r"No CUDA or HIP (?:or MPS )?available on this system", library="tilelang"),
    Signature(
        "nvcc not found",
        r"nvcc not found (?:at|and PyTorch|in|on)" + GOES_ON + "|RuntimeError: nvcc not found",
        library="torch",
    ),
    Signature("is required to ", r"nvcc\)? is required to (?:build|compile)"),
    Signature("nvcc, which is missing", library="vllm"),
    # Unsloth, of FlashInfer's error; where it only goes without FlashInfer it says that nvcc "is" not found
    Signature("nvcc (", r"nvcc \([^)]{1,30}\) not found" + GOES_ON),
    Signature("NVCC compiler is not executable", library="deep-gemm"),
    # DeepGEMM's assertions: neither CUDA_HOME nor an nvcc on PATH, and none below what was found
    *any_of("not cuda_home.empty()", "exists(nvcc_path)", pattern="ssert", library="deep-gemm"),
    Signature("nvcc was not found", r"(?:unavailable since|was requested, but) nvcc was not found"),
    # what stands on the stack has raised: torch's and the set-up scripts' ways to say that there is no CUDA_HOME
    Signature("_join_cuda_home(", library="torch"),
    Signature("library_paths(cuda", r"\+= library_paths\(cuda", library="torch"),
    Signature("raise_if_cuda_home_none("),
    # the set-up scripts of flash-attn and its kin go on without nvcc, to a name that only nvcc would have set
    Signature("'bare_metal_version' is not defined"),
    Signature("FlashInfer kernels are disabled", r"nvcc \(", library="flashinfer"),
    *any_of(
        "nvcc",
        "NVCC",
        # PyCUDA's set-up script warns, and does without if it is told where the headers are; who says what happens
        # without it does not say that it is missing
        pattern=r"(?:[Cc]an(?:not|'t)|[Cc]ould (?:not|neither)|[Uu]nable to|[Ff]ailed to) (?:find|locate) (?:the )?"
        r"[`'\"]?(?i:nvcc)\b" + GOES_ON + r"|\b(?<!\* WARNING: )(?<!\b[Ii]f )(?<!\b[Ww]hen )(?i:nvcc)\b[`'\")]{0,2}"
        r" (?:compiler |binary |executable )?(?:is |was |could )?"
        r"(?:required .{0,40}but (?:is |was ))?(?:(?:wasn't|isn't|not) (?:be )?(?:installed|found|available"
        r"|(?:in|on) (?:the |your )?\$?(?i:path)\b)|missing\b)"
        + GOES_ON
        + r"|\b[Nn]o nvcc (?:is |was )?(?:found|available|installed|on PATH)\b"
        + GOES_ON
        + r"|Error: .*\bnvcc \([^()]{1,30}\) not found|(?:找不到|未找到)[^。，]{0,16}(?i:nvcc)\b",
    ),
    Signature(
        "*** CUDA", r":\d+: \*\*\* CUDA\w*(?: (?:environment )?variable)?(?: is| was)? not (?:defined|set|found)"
    ),
    # behind "-- " stands what CMake goes on without
    *any_of(
        "CUDA compiler",
        pattern=r"^(?!-- ).*(?:[Nn]o CUDA compiler found|CUDA compiler (?:is |was )?not found)" + GOES_ON,
    ),
    # distutils, where a set-up script that would hand .cu files to nvcc found none to hand them to
    Signature("nknown file type '.cu", r"unknown file type '\.cuh?'"),
    # XLA, of the assembler that comes with nvcc and of what could stand in for it
    Signature("No PTX compilation provider is available", library="jax"),
    *windows.by_shell("nvcc"),
    Signature("The CMAKE_CUDA_COMPILER:"),
    *any_of("annot find cuda path", "annot find CUDA path", pattern="annot find (?:cuda|CUDA) path"),
    Signature("CUDA is not found.", r"RuntimeError: CUDA is not found\.$", library="cupy"),
    Signature("MissingCUDAException", library="deepspeed"),
    Signature("unable to compile CUDA op(s)", library="deepspeed"),
    Signature("CUDA_TOOLKIT_ROOT_DIR", r"CUDA_TOOLKIT_ROOT_DIR not found|Specify CUDA_TOOLKIT_ROOT_DIR$"),
    Signature("ould not find compiler set in environment variable CUDACXX"),
    Signature('the environment variable "CUDACXX"'),
    *any_of("No CUDA toolset found", "No CUDA toolchain found", "No runnable CUDA toolkit was found", pattern=""),
    Signature("nvcc binary could not be located"),
    # torch's function of this name finds nothing without a word
    Signature(
        "cuda_home",
        r"assert cuda_home\b|(?:deep_gemm|tvm_ffi|tilelang)\b.*, in _find_cuda_home$|CUDA_HOME is not None",
    ),
    Signature(
        "CUDA_HOME",
        # of other makers' roots in the same breath, too
        r"(?:assert|Assertion).*CUDA_HOME"
        r"|CUDA_HOME(?:,? (?:and |or )?\w+_(?:HOME|PATH)){0,3} (?:is|was|are|all) (?:None|not (?:set|found))"
        + GOES_ON
        # a shell's, of ${CUDA_HOME:?} and under set -u
        + r"|CUDA_HOME(?: environment variable)? must be (?:set|defined)|CUDA_HOME: (?:unbound variable|parameter \w)"
        + r"|(?:annot|ould not) find CUDA_HOME|exported the environment variable CUDA_HOME",
    ),
    *any_of(
        "CUDA toolkit",
        # llama.cpp's CMake files stop with these words on a line of their own
        "CUDA Toolkit",
        pattern=r"(?:[Cc]ould not|[Cc]annot) (?:find|locate) (?:the )?CUDA [Tt]oolkit"
        r"|CUDA [Tt]oolkit (?:is |was )?not found" + GOES_ON,
    ),
    Signature("CUDA_PATH is not set", r"^CUDA_PATH is not set(?!.*\bmay\b)|Error: .*CUDA_PATH is not set"),
    # gsplat and its kin go on without their kernels, to the first call of one
    Signature(
        "o CUDA toolkit found",
        r"(?P<kin>\w+): No CUDA toolkit found\. (?i:(?P=kin)) will be disabled",
        library="gsplat",
    ),
    Signature("o CUDA toolkit", r"[Nn]o CUDA toolkit (?:was |is )?(?:found|available|installed)" + GOES_ON),
    *cmake.NO_NVCC,
)
# vLLM up to 0.31 defines its FlashInfer wrappers only where nvcc is on PATH; the lack shows as a Python error.
_SWITCHED_OFF: Final = Signature(
    "vllm.utils.flashinfer", r"module 'vllm\.utils\.flashinfer' has no attribute", weak=True, library="flashinfer"
)


# pip's words, and uv's.
_WHEEL_FAILED: Final = any_of(
    "did not run successfully", "exited-with-error", "The build backend returned an error", pattern="", weak=True
)
# A set-up script joins the path of nvcc, or of another part of the toolkit, from a CUDA_HOME that is None, or takes the
# path of an nvcc that was not found apart: Python's error doesn't say of what.
_JOINED: Final = any_of(
    "nvcc",
    "CUDA_",
    pattern=r"(?i:cuda\w*) ?\+ ?f?['\"][/\\]+bin[/\\]+nvcc|join\((?:\w+\.)*(?i:cuda\w*), ?.{0,12}\bnvcc"
    r"|join\((?:[\w.]+\(['\"])?CUDA_(?:HOME|PATH)\b|nvcc\w*(?:\(\))?\.split\(",
    weak=True,
)
# What an interactive shell says to whoever tries it out; in a service's log, a wrapper script.
_TRIED: Final = Signature(
    "nvcc", r"^(?:-?\w*sh|which): (?:[^:]{1,12}: )?(?:no (?=nvcc in)|)(?P<program>nvcc)(?:: \S| in \()"
)


def _not_found(case: Case) -> Claim | None:
    named = tuple(
        hit
        for hit in reading.missing_programs(case)
        if not reading.invalid_root(case, reading.root_of(hit.groups.get("program") or hit.groups.get("nvcc", "")))
    )
    said = case.hits(*_NOT_FOUND) + cmake.without_nvcc(case) + reading.failed_of_none(case, *_JOINED)
    switched_off = case.hits(_SWITCHED_OFF)
    if switched_off and not (named or said) and case.facts.flashinfer and not case.facts.nvcc:
        text = "FlashInfer is installed, and no nvcc is known: vLLM has switched FlashInfer off"
        return claim_from(switched_off, (case.fact(text),), certainty="likely")
    # Of a wheel's own set-up script, a warning is the reason that the wheel could not be built.
    weight = Weight.DECISIVE if said and case.has(*_WHEEL_FAILED) else None
    return claim_from(tuple(sorted(named + said, key=lambda hit: hit.line.number)), weight=weight) or _tried_out(case)


def _tried_out(case: Case) -> Claim | None:
    """A shell without nvcc is the verdict only where nothing else fails."""
    tried = case.hits(_TRIED)
    lines = {hit.line.number for hit in tried}
    if any(line.number not in lines for line in case.errors):
        return None
    return claim_from(tried, certainty="possible", weight=Weight.NOTED)


CAUSES: Final = (
    Cause(
        id="nvcc-not-found",
        title="no nvcc where the library looks for it",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=41,
        summary="A library has to compile a CUDA kernel and finds no nvcc where it looks.",
        advice="`remedy fix {unit}` installs or points to a toolkit that suits torch and the GPU.",
        judge=_not_found,
        signatures=(
            *_NOT_FOUND,
            _TRIED,
            *_JOINED,
            *OF_NONE,
            _SWITCHED_OFF,
            *_WHEEL_FAILED,
            SHELL_NOT_FOUND,
            *NVCC_MISSING,
            NVCC_RUN,
            *NINJA_127,
            *cmake.UNSET,
        ),
        observable=True,
        page=Page(
            meaning="FlashInfer, torch's extensions, TVM-FFI, SGLang, DeepGEMM and TileLang compile kernels on the "
            "machine that runs them. They look for a toolkit root (CUDA_HOME, then CUDA_PATH, then the nvcc on PATH, "
            "then /usr/local/cuda) and run ROOT/bin/nvcc. There is none.",
            origin="torch's wheels bring the CUDA *runtime*, not the compiler. Slim and runtime container images leave "
            "it out as well. On a machine where a shell finds nvcc the unit often doesn't: its PATH is systemd's "
            "default, without /usr/local/cuda/bin. Installing only a newer runtime package can also move "
            "/usr/local/cuda to a tree that has no nvcc.",
            recognised="`Could not find nvcc and default cuda_home=… doesn't exist`, `No such file or directory: "
            "'nvcc'`, `CUDA_HOME environment variable is not set`, a shell's `…/bin/nvcc: not found`, or ninja's exit "
            "status 127 behind an nvcc command. Where the path in that line comes from a bad CUDA_HOME, the cause is "
            "cuda-home-invalid.",
            mending="remedy looks for a toolkit that is already there and suits; else it installs the smallest set of "
            "packages (compiler and the development packages that the libraries present need) of torch's own CUDA "
            "release, and sets CUDA_HOME and PATH in the unit.",
            avoid="The compiler package alone is not enough: FlashInfer's sampling kernels also need cuRAND's headers. "
            "Debian's nvidia-cuda-toolkit is too old for any Blackwell GPU.",
            sources=(
                "flashinfer 0.5 to 0.7, jit/cpp_ext.py",
                "torch 2.6 to 2.15, utils/cpp_extension.py",
                "apache-tvm-ffi 0.1, cpp/extension.py",
            ),
        ),
    ),
)
