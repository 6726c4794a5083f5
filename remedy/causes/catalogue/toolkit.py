"""A toolkit that is misnamed or incomplete."""

from __future__ import annotations

from remedy.causes import cmake, reading, rules, windows
from remedy.causes.case import Case, Hit, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    BUILD_FAILED,
    GOES_ON,
    INSUFFICIENT_DRIVER,
    JIT_AT_WORK,
    NINJA_127,
    NVCC_MISSING,
    NVCC_RUN,
    SHELL_NOT_FOUND,
    SOURCE_ERRORS,
)
from remedy.causes.types import Evidence
from remedy.hints import Final

# --- cuda-home-invalid --------------------------------------------------------------------------------------------

_NO_DIRECTORY: Final = any_of(
    "t exist",
    "not a director",
    "not a valid",
    "is invalid",
    "t point to",
    "t contain",
    pattern=r"(?:CUDA_HOME|CUDA_PATH|CUDA_ROOT|CUDA_TOOLKIT_ROOT_DIR)\b.{0,60}"
    r"(?:does(?:n't| not) (?:exist(?!, una)|point to|contain)"
    r"|is not a (?:valid )?director|not a valid|is invalid)",
    needs="CUDA_",
)
# nvcc starts its parts through a shell.
_CICC: Final = any_of(
    "cicc",
    "cudafe++",
    "fatbinary",
    "ptxas",
    "nvlink",
    pattern=r"\bsh: .{0,60}\b(?:cicc|cudafe\+\+|fatbinary|ptxas|nvlink): (?:(?:command )?not found|No such file)"
    r"|cicc['\"]?: No such file",
)
# CMake found an nvcc, and no toolkit around it.
_NO_LIBRARY_ROOT: Final = Signature("Couldn't find CUDA library root")
# What XLA and sgl-kernel look for below the root that they take for the toolkit's.
_NOTHING_BELOW: Final = (
    Signature("libdevice not found at", library="jax"),
    Signature("ould not find CUDA lib directory", library="sglang"),
)
_NO_OBJECT: Final = Signature(
    ".o", r"(?:cannot find|error:) (?P<object>\S*(?:cuda_?\d*|\.cuda)\.o)(?:\b|: No such)", weak=True
)
_NVVM_MISSING: Final = Signature("libNVVM cannot be found", weak=True, library="numba")
_NVCC_SILENT: Final = Signature("NVCC:", r"^\s*NVCC:\s*(?:None|N/A|Not Available)?\s*$", weak=True)


def _home_invalid(case: Case) -> Claim | None:
    lines: list[Hit] = []
    facts: list[Evidence] = []
    for hit in reading.missing_programs(case):
        fault = reading.invalid_root(case, reading.root_of(hit.groups.get("program") or hit.groups.get("nvcc", "")))
        if fault:
            lines.append(hit)
            facts.append(case.fact(fault, "CUDA_HOME"))
    if lines:
        return claim_from(tuple(lines), tuple(facts[:1]))
    said = case.hits(*_NO_DIRECTORY, _NO_LIBRARY_ROOT, *_NOTHING_BELOW, *_CICC)
    if said:
        return claim_from(said)
    failed = case.hits(*BUILD_FAILED)
    if failed and case.has(_NO_OBJECT):
        return claim_from(case.hits(_NO_OBJECT), certainty="likely")
    if failed and case.has(_NVCC_SILENT):
        text = "CUDA_HOME is set, and the nvcc below it names no release"
        return claim_from(case.hits(_NVCC_SILENT), (case.fact(text, "CUDA_HOME"),), certainty="likely")
    return _misspelt(case)


def _looked_below_root(case: Case) -> tuple[Hit, ...]:
    """What is looked for in $CUDA_HOME/include, lib64 and nvvm, and was not found; Triton looks elsewhere."""
    linked = () if driver_library_unlinked(case) else case.hits(*_LINKER, _NOT_LINKED)
    return case.hits(*_HEADER_MISSING, _NVVM_MISSING) + linked


def _misspelt(case: Case) -> Claim | None:
    """A root whose spelling can't work, where the log shows a search below the root, or a build that may have failed of
    it: other faults end a build as well.
    """
    sought, built = _looked_below_root(case), reading.failed_builds(case) + case.hits(NVCC_RUN)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        value = case.variable(name)
        fault = rules.root_fault(value)
        facts = (case.fact(f"{name}={value}: {fault}", name),)
        if fault and sought:
            return claim_from(sought[:2], facts, weight=Weight.DECISIVE)
        # A compiler that was run from elsewhere was not found by the variable; one that counts errors did run.
        if fault and built and not case.has(SOURCE_ERRORS) and _all_below(case, value or ""):
            return claim_from(built[:2], facts, certainty="likely", weight=Weight.NOTED)
    return _ran_from_list(case) if reading.failed_builds(case) else None


def _all_below(case: Case, root: str) -> bool:
    return all(reading.root_of(hit.groups["nvcc"]) == root.rstrip("/") for hit in case.hits(NVCC_RUN))


def _ran_from_list(case: Case) -> Claim | None:
    """A failed build whose compiler lies below a root that was written like PATH: no such file can be."""
    for hit in case.hits(NVCC_RUN):
        root = reading.root_of(hit.groups["nvcc"])
        if ":" in (root[:1], root[-1:]):
            fact = case.fact(f"CUDA_HOME is {root!r}: {rules.root_fault(root)}", "CUDA_HOME")
            return claim_from((hit,), (fact,), certainty="likely", weight=Weight.DECISIVE)
    return None


# --- cuda-headers-missing -----------------------------------------------------------------------------------------

# gcc and EDG put the header between colons or quotes; the words around it are translated, the header is not.
_HEADERS: Final = (
    r"(?P<header>(?:cu(?:rand|blas|sparse|solver|fft|da|dnn(?!_frontend)|pti|file)\w*|nvrtc|nvToolsExt\w*|nvml|nccl|vector_types|nvJitLink"
    r"|nvPTXCompiler|cooperative_groups|device_launch_parameters|driver_types|host_config|texture_fetch_functions)"
    r"(?:\.h|\.hpp|\.cuh)|(?:cub|thrust|nv|cuda/std|cuda|crt|nvtx3|cooperative_groups|mma)/[\w./]+|nv/target"
    r"|cuda/std/\w+)"
)
_HEADER_MISSING: Final = (
    *any_of(
        ".h",
        ".cuh",
        "cuda/",
        "nv/target",
        # the compiler proper complains of a header that nvcc includes by itself: it stands in no line of a file
        pattern=r"(?::\d+:\d+|\bcc1(?:plus)?|<command-line>|<built-in>): .{2,30}[:：] ?'?"
        + _HEADERS
        + r"'?(?: ?[:：]| file not found)",
    ),
    Signature("fatal error: ", r"fatal error: '?" + _HEADERS + r"'?(?:: \S| file not found)"),
    Signature("/include/", r"No such file or directory: ['\"]/\S*/include/" + _HEADERS + r"['\"]"),
    Signature(": No such file", r"^" + _HEADERS + r": No such file"),
    # nvcc's front end, NVRTC
    Signature("open source file", r"(?:cannot|could not) open source file \"" + _HEADERS + r"\""),
    windows.by_compiler(_HEADERS),
    Signature("ould not find", r"[Cc]ould not find (?:the )?(?:header )?['\"]?" + _HEADERS + GOES_ON),
    Signature(".h", _HEADERS + r"['\"]?:? (?:was )?not found" + GOES_ON),
)


_NO_HEADERS: Final = (
    *any_of("annot find CUDA headers in", "ailed to find CUDA headers", "CUDA Toolkit headers not found", pattern=""),
    Signature("CUDA headers not found", "CUDA headers not found" + GOES_ON),
    Signature("ind cuda include path", library="tvm"),
    *cmake.NO_HEADER,
)


def _headers_missing(case: Case) -> Claim | None:
    nvcc = reading.nvcc_version(case)
    hits = tuple(
        hit
        for hit in case.hits(*_HEADER_MISSING)
        if not (hit.groups["header"] == "cuda_fp8.h" and nvcc and nvcc < (11, 8))
        and not (hit.groups["header"] in ("cuda_fp4.h", "cuda_fp6.h") and nvcc and nvcc < (12, 8))
    )
    said = claim_from(hits + case.hits(*_NO_HEADERS))
    return said or claim_from(case.hits(cmake.NO_MATH_HEADER), certainty="possible", weight=Weight.NOTED)


# --- cuda-library-not-linkable ------------------------------------------------------------------------------------

_LIBRARY: Final = (
    r"-l:?(?P<library>cudart\w*|cudadevrt|cuda|cublas\w*|nvrtc\w*|curand\w*|cusparse\w*|cusolver\w*"
    r"|nvJitLink\w*|cudnn\w*|nccl\w*|cufft\w*|nvToolsExt|cupti|cutensor\w*|cufile\w*|cudss|nvidia-ml|nvjpeg|npp\w+"
    r"|nvfatbin\w*|nvptxcompiler\w*)(?![\w.])"
)
_LINKER: Final = any_of(
    "-lcu",
    "-lnv",
    "-lnccl",
    "-lnpp",
    "-l:",
    pattern=r"(?:^|[/\s])(?:[\w.-]*-)?l?ld(?:\.\w+)?(?: ?: .*| cannot find )" + _LIBRARY,
)
# GNU ld, gold; LLVM's lld
_NOT_LINKED: Final = Signature("-lcud", r"(?:cannot find|unable to find library) " + _LIBRARY)
# ninja's words and make's
_NEEDED: Final = Signature(
    "needed by",
    r"'\S*/lib(?P<library>cudart\w*|cudadevrt|cuda|cublas\w*|nvrtc\w*|curand\w*|cusparse\w*|cusolver\w*|cufft\w*"
    r"|nvJitLink\w*|nvToolsExt|nvidia-ml)\.(?:so|a)', needed by",
)
_MICROSOFTS: Final = windows.by_linker(
    r"(?P<library>cuda|cudart\w*|cudadevrt|cublas\w*|nvrtc\w*|curand|cusparse|cusolver|cufft|nvJitLink\w*|cudnn\w*"
    r"|nvToolsExt\w*|cupti)"
)
_MOLD: Final = Signature("library not found: cud", r"library not found: (?P<library>cuda\w*)")
_DEVICE_RUNTIME: Final = Signature("cudadevrt is not found", library="cupy")
_STUBS: Final = Signature("stubs", r"-L\S*stubs", weak=True)
_INCOMPATIBLE_LIBRARY: Final = Signature("skipping incompatible", r"libcud\w+\.so")
_UNRESOLVED: Final = Signature(
    "undefined reference to", r"undefined reference to [`'‘]_*(?P<symbol>cu(?:da)?[A-Z_]\w+)"
)
_INSUFFICIENT_CODE: Final = Signature("cudaErrorInsufficientDriver", weak=True)
_INVALID_HANDLE: Final = Signature("nvalid resource handle", weak=True)


def driver_library_unlinked(case: Case) -> tuple[Hit, ...]:
    """``cannot find -lcuda`` where no toolkit's stub was asked for: Triton's own link line wants the driver's library,
    and that is libcuda-missing."""
    hits = case.hits(*_LINKER, _NOT_LINKED)
    driver_only = all(hit.groups.get("library") == "cuda" for hit in hits)
    return hits if driver_only and not case.has(_STUBS, *JIT_AT_WORK) else ()


def _not_linkable(case: Case) -> Claim | None:
    hits = case.hits(
        *_LINKER,
        _NOT_LINKED,
        _NEEDED,
        *_MICROSOFTS,
        _MOLD,
        _DEVICE_RUNTIME,
        _INCOMPATIBLE_LIBRARY,
        _UNRESOLVED,
        *cmake.NO_LIBRARY,
    )
    hits += cmake.unknown_targets(case)
    if hits:
        return None if hits == driver_library_unlinked(case) else claim_from(hits)
    linked = rules.linked_elsewhere(case.facts)
    # With a driver that is too old for torch as well, no module is needed for these words.
    served = not (rules.torch_newer_than_driver(case.facts) or rules.linked_past_driver(case.facts))
    wrong = case.hits(_INVALID_HANDLE, *((INSUFFICIENT_DRIVER, _INSUFFICIENT_CODE) if served else ()))
    if linked:
        # Such a module shows in CUDA's own errors; beside others it is only there.
        weight = Weight.DECISIVE if wrong else Weight.ASIDE if case.lines else Weight.NOTED
        return claim_from(wrong, (case.fact(linked, "linked_cudart"),), weight=weight)
    insufficient = case.hits(INSUFFICIENT_DRIVER)
    if insufficient and case.has(*JIT_AT_WORK) and rules.driver_serves(case.facts):
        text = "the driver serves torch's CUDA, so a module built here must be linked with another"
        return claim_from(insufficient, (case.fact(text, "driver"),), certainty="likely")
    return None


CAUSES: Final = (
    Cause(
        id="cuda-home-invalid",
        title="CUDA_HOME or CUDA_PATH names no usable toolkit",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=40,
        known_by=rules.roots_fault,
        summary="CUDA_HOME or CUDA_PATH is malformed, missing, or names something that is no toolkit.",
        advice="`remedy show {unit}` tells where the variable is set; `remedy fix {unit}` sets it right.",
        judge=_home_invalid,
        signatures=(
            *_NO_DIRECTORY,
            _NO_LIBRARY_ROOT,
            *_NOTHING_BELOW,
            *_CICC,
            _NO_OBJECT,
            _NVCC_SILENT,
            SHELL_NOT_FOUND,
            *NVCC_MISSING,
            NVCC_RUN,
            SOURCE_ERRORS,
            *NINJA_127,
            *BUILD_FAILED,
            *_HEADER_MISSING,
            *_LINKER,
            _NOT_LINKED,
            _NVVM_MISSING,
        ),
        observable=True,
        page=Page(
            meaning="The libraries take CUDA_HOME (else CUDA_PATH) unchecked and run $CUDA_HOME/bin/nvcc, include "
            "$CUDA_HOME/include, link from $CUDA_HOME/lib64. What it names is not a complete toolkit.",
            origin="It was built like PATH, so a colon stands at an end (`:/usr/local/cuda-12.8`); it holds a `$VAR` "
            "or `~` that systemd doesn't expand; the versioned folder was removed by an upgrade; it is /usr, a bin "
            "folder, or a wheel's folder that has no nvcc; or someone set it to /dev/null to trick one library.",
            recognised="The path in the failing line shows it: `/bin/sh: 1: :/usr/local/cuda-12.8/bin/nvcc: not "
            "found`, `Not a directory: '/dev/null/bin/nvcc'`, `cicc: not found` (a compiler without its parts).",
            mending="remedy writes the versioned root of one toolkit that suits all libraries, in the place that wins "
            "(a later EnvironmentFile= would override an Environment= line), together with PATH and CUDA_PATH.",
            avoid="Pointing it at nothing, so that one library falls back to torch's version, breaks the others. "
            "/usr/local/cuda is a link that moves with the next package.",
            sources=("flashinfer 0.4 to 0.7, jit/cpp_ext.py, get_cuda_path", "systemd.exec(5), Environment="),
        ),
    ),
    Cause(
        id="cuda-headers-missing",
        title="the toolkit lacks a header that the build needs",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=50,
        summary="The toolkit has no {header}, which this build includes.||The toolkit lacks a header that this build "
        "includes.",
        advice="`remedy fix {unit}` installs the development package that brings it.",
        judge=_headers_missing,
        signatures=(*_HEADER_MISSING, *_NO_HEADERS, cmake.NO_MATH_HEADER, NVCC_RUN),
        page=Page(
            meaning="nvcc ran, and a CUDA header was not in the toolkit. Each library of CUDA has a development "
            "package of its own; the compiler's package brings none of them.",
            origin="Only cuda-nvcc-X-Y was installed, or cuda-minimal-build, or a conda nvcc: no cuRAND, cuBLAS, "
            "cuSPARSE or NVRTC headers.",
            recognised="`fatal error: curand_kernel.h: No such file or directory`, in whatever language the compiler "
            "speaks: the header's name is never translated. Headers of the library's own downloads "
            "(BatchedGemmEnums.h) mean artifact-download-failed; Python.h means python-headers-missing.",
            mending="The packages by header: curand*.h from libcurand-dev-X-Y, cublas*.h from libcublas-dev-X-Y, "
            "cusparse.h, cusolver*.h likewise, nvrtc.h from cuda-nvrtc-dev-X-Y, cuda_runtime.h and cuda.h from "
            "cuda-cudart-dev-X-Y, cub/ and thrust/ from cuda-cccl-X-Y; all of the nvcc's own release.",
            avoid="Don't add another toolkit's include folder to CPATH: that mixes releases.",
            sources=("flashinfer csrc/, its includes", "NVIDIA's apt repository, package contents"),
        ),
    ),
    Cause(
        id="cuda-library-not-linkable",
        title="the linker finds no libcudart or libcuda, or a wrong one",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=52,
        summary="The linker finds no suitable {library} in the toolkit.||The linker finds no suitable CUDA library.",
        advice="`remedy fix {unit}` completes the toolkit or takes one that can be linked.",
        judge=_not_linkable,
        signatures=(
            *_LINKER,
            _NOT_LINKED,
            _NEEDED,
            *_MICROSOFTS,
            _MOLD,
            _DEVICE_RUNTIME,
            *cmake.NO_LIBRARY,
            *cmake.UNKNOWN_TARGET,
            _STUBS,
            _INCOMPATIBLE_LIBRARY,
            _UNRESOLVED,
            _INSUFFICIENT_CODE,
            _INVALID_HANDLE,
            INSUFFICIENT_DRIVER,
            *JIT_AT_WORK,
        ),
        page=Page(
            meaning="The kernels compiled; making a shared object of them failed, or gave one that is linked with "
            "another CUDA's runtime than torch's.",
            origin="Build lines say -L$CUDA_HOME/lib64 -L$CUDA_HOME/lib64/stubs -lcudart -lcuda. Wheels have neither "
            "lib64 nor an unversioned libcudart.so nor a stub libcuda.so; conda keeps them elsewhere; in Debian's own "
            "layout there is no lib64.",
            recognised="`cannot find -lcudart` from ld in any language; or the module loads and fails with `invalid "
            "resource handle` or `driver version is insufficient` although the driver is fine: its NEEDED entry names "
            "the other major.",
            mending="The development packages of the runtime and of the driver's stub, or a complete toolkit; modules "
            "linked with the wrong runtime are moved aside.",
            avoid="Symlinks made by hand inside site-packages are lost with the next pip upgrade.",
            sources=("flashinfer 0.4 to 0.7, jit/cpp_ext.py", "apache-tvm-ffi 0.1, cpp/extension.py", "ld(1)"),
        ),
    ),
)
