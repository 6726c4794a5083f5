"""Shared libraries that are missing or don't fit one another."""

from __future__ import annotations

import re

from remedy.causes import rules
from remedy.causes.built_against import BUILT_AGAINST, NO_BINARY, OTHER_ARGUMENTS, OTHER_BUILD, TORCHS_OWN, UNLOADED
from remedy.causes.case import Case, Hit, claim_from, near
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import BUILD_FAILED, CACHED_MODULE, LATER_PTXAS, SHARED_OBJECT, UNDEFINED_SYMBOL
from remedy.causes.telling import says_only_that, speaks_of_compilers
from remedy.causes.types import Evidence
from remedy.hints import Final
from remedy.value import replace

# --- shared-library-missing ---------------------------------------------------------------------------------------

_CUDA_LIBRARY: Final = (
    r"lib(?:cudart|nvrtc|cublas|cublasLt|cudnn|cusparse|cusparseLt|cusolver|curand|cufft|cupti|nvJitLink|nvToolsExt"
    r"|nvshmem|cufile|nccl|nvfatbin|nvptxcompiler|cutensor|nvinfer|nvvm|cudss)"
)
_LOAD: Final = (
    Signature("ould not load library", r"ould not load library (?P<lib>" + _CUDA_LIBRARY + r"[\w.]*|cudnn_\w+\.dll)"),
    # Windows' loader, of a DLL that another one needs
    Signature("which is missing", r"\"(?P<lib>(?:cu|nv)\w+\.dll)\" which is missing", library="onnxruntime"),
    Signature("nable to load any of", r"Unable to load any of \{(?P<lib>lib[\w.]+)"),
    Signature("nable to load cu", r"Unable to load (?P<lib>cu[A-Za-z]+)\. Is it installed", library="jax"),
    Signature(
        "Failed to load dynamic shared library",
        r"shared library \S+(?: (?P<lib>lib\S+\.so[.\d]*)| lib)",
        library="tvm-ffi",
    ),
    Signature(
        "dlopen",
        r"(?:Error in|[Uu]nable to|[Ff]ailed to) dlopen(?: for library)?:? (?P<lib>"
        + _CUDA_LIBRARY
        + r"\w*\.so(?:\.\d+)*)",
    ),
    # cuDNN's own loader of its parts
    Signature("load symbol cu", r"(?:annot|ould not) load symbol (?P<lib>cudnn|cublas)"),
    *any_of(
        "ould not locate cu",
        "is not found or cannot be loaded",
        pattern=r"(?:ould not locate|Library) (?P<lib>cu[\w.]+\.dll)",
    ),
    # Python's ctypes on Windows, where no file name begins with lib
    Signature(
        "ould not find module '",
        r"ould not find module '(?:[^']*[\\/])?(?P<lib>(?:nvrtc|nvvm|nvJitLink|nvToolsExt|nvinfer"
        r"|cu(?:dart|blas|dnn|sparse|solver|rand|fft|pti|tensor))\w*\.dll)'",
    ),
    # tinygrad binds what it finds in the library, which is nothing where there is none
    *any_of(
        "has no attribute 'nv",
        "failed to load library nv",
        pattern=r"(?:has no attribute '|failed to load library )(?P<lib>nvrtc|nvJitLink|nvjitlink|nvvm)",
        library="tinygrad",
    ),
    Signature("NVRTC cannot be loaded", library="numba"),
    Signature("libNVVM", r"(?P<lib>libNVVM) (?:cannot be found|is not available)", library="numba"),
    Signature("library nvvm not found", library="numba"),
    Signature("CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"),
    Signature("annot dlopen some GPU libraries"),
    *any_of(
        "ould not find",
        "ould not locate",
        pattern=r"ould not (?:find|locate) (?:any )?(?:(?:shared )?(?:object |library )?(?:file)?:? ?)"
        r"['\"]?(?:\S*/)?(?P<lib>" + _CUDA_LIBRARY + r"[\w-]*\.so[.\d]*|NVRTC(?= library))",
    ),
    # cudarc, the binding of candle, mistral.rs and burn; what has no version in its name is asked for by many
    *any_of(
        "under the names [",
        "searched for library names",
        pattern=r"Unable to (?:find|dynamically load the) \"?(?P<lib>(?!cuda\b)\w+)\"? (?:lib under|shared library)",
        library="cudarc",
    ),
    # NVRTC's error 7: libnvrtc-builtins is not beside libnvrtc
    Signature("BUILTIN_OPERATION_FAILURE", library="nvrtc"),
    Signature("failed to load builtins", library="nvrtc"),
    Signature("ailed to open lib", r"[Ff]ailed to open (?P<lib>" + _CUDA_LIBRARY + r"[\w.-]*)"),
    # torch's search for the wheels that it needs, and bitsandbytes'
    Signature("not found in the system path", r"(?P<lib>lib\w+)\.so\S* not found in the system path", library="torch"),
    Signature("issing dependency: lib", r"issing dependency: (?P<lib>" + _CUDA_LIBRARY + r"[\w.]*)"),
    Signature("runtime libraries were not found in the LD_LIBRARY_PATH"),
    Signature(
        "DynamicLibNotFoundError",
        r"Failure finding \"(?P<lib>lib[\w.]+)|DynamicLibNotFoundError: (?P<lib2>nvrtc|nvvm)",
        library="cuda-pathfinder",
    ),
    Signature(
        "in the system", r"Cannot find (?P<lib>" + _CUDA_LIBRARY + r"[\w-]*\.so[.\d]*) in the system", library="vllm"
    ),
    Signature("is not loaded in the current process", r"(?P<lib>" + _CUDA_LIBRARY + r") is not loaded in the current"),
    Signature("not found", r"(?P<lib>" + _CUDA_LIBRARY + r"\.so[.\d]*)(?: was| is|:)? not found"),
    Signature(
        "not found", r"(?:^|Error: )(?P<lib>lib(?:cudart|cublas|cublasLt|nvrtc|cudnn|cufft|cusparse)) not found\b"
    ),
    Signature("=> not found", r"(?P<lib>lib\S+\.so[.\d]*) => not found"),
    *any_of(
        "Paddle depends on",
        "shared library. Cannot invoke",
        "an not find library",
        pattern=r"library \((?P<lib>lib(?!cuda\.so)\S+\.so[.\d]*)\) that Paddle|Cannot load cu\w+ shared library"
        r"|[Cc]an not find library: lib(?!cuda\.so)",
        library="paddle",
    ),
    Signature(
        "OSError",
        r"OSError: (?:\S*/)?(?P<lib>"
        + _CUDA_LIBRARY
        + r"\S*): (?!undefined|file too short|invalid ELF|wrong ELF|cannot (?!open)|failed to map)",
    ),
    Signature(
        "ailed to load", r"[Ff]ailed to load (?:library |shared library )?['\"]?(?P<lib>" + _CUDA_LIBRARY + r"[\w.]*)"
    ),
)
# A search that went on, and ended well.
_FOUND: Final = Signature("found: ", r"found: \S*/(?P<lib>lib\w+)\.so", weak=True)


def _shared_library(case: Case) -> Claim | None:
    missing = tuple(
        hit
        for hit in case.hits(SHARED_OBJECT)
        if not (
            re.match(r"libcuda\.so|libnccl-net|" + TORCHS_OWN, hit.groups["lib"])
            # TensorFlow looks for TensorRT wherever it starts, and does without
            or re.search(r"dynamic library 'libnvinfer", hit.line.text)
            or _wanted_by_cache(case, hit)
        )
    )
    cuda = tuple(hit for hit in missing if re.match(_CUDA_LIBRARY, hit.groups["lib"]))
    found = {hit.groups["lib"] for hit in case.hits(_FOUND)}
    hits = cuda + tuple(hit for hit in case.hits(*_LOAD) if not _wanted_by_cache(case, hit) and _stem(hit) not in found)
    if hits:
        return claim_from(hits, _majors(case, hits))
    # Not CUDA's: a system package, which has nothing to do with the toolchain.
    return claim_from(missing, toolchain=False) if missing else None


def _stem(hit: Hit) -> str:
    """A library's name without its version."""
    return hit.groups.get("lib", "").partition(".so")[0]


def _wanted_by_cache(case: Case, hit: Hit) -> bool:
    """Whether it is a module of a JIT cache that wants the library: then the module is the wrong one."""
    return any(near(hit, module) for module in case.hits(*CACHED_MODULE))


def _majors(case: Case, hits: tuple[Hit, ...]) -> tuple[Evidence, ...]:
    torch = case.facts.torch_cuda
    for hit in hits:
        major = rules.library_major(hit.groups.get("lib", ""))
        if torch and major in (11, 12, 13) and major != torch[0]:
            text = f"{hit.groups['lib']} belongs to CUDA {major}, torch is built for CUDA {rules.dotted(torch)}"
            return (case.fact(text, "torch_cuda"),)
    return ()


# --- library-version-mismatch -------------------------------------------------------------------------------------

_VERSIONS: Final = (
    Signature(
        "does not match flashinfer version",
        r"(?P<package>flashinfer-[\w-]+) version \((?P<have>[^)]*)\) does not match flashinfer version"
        r" \((?P<want>[^)]*)\)",
    ),
    Signature("does not match flashinfer-", r"version \([^)]*\) does not match flashinfer-[\w-]+ version"),
    Signature("Ignoring incompatible flashinfer-"),
    Signature(
        "common_ops",
        r"(?:No module named|[Cc]ould not load any|undefined symbol|ImportError).*common_ops"
        r"|common_ops.*(?:undefined symbol|not found|cannot)",
    ),
    Signature("[sgl_kernel] CRITICAL"),
    *any_of(
        "sgl-kernel",
        "sgl_kernel",
        "sglang-kernel",
        pattern=r"(?:sgl[-_]kernel|sglang-kernel)(?: is installed with)? .{0,40}(?:version|minimum).{0,60}(?:less"
        r"|required|does not match|mismatch|older)",
    ),
    Signature("nvJitLink", r"undefined symbol: __nvJitLink\w+"),
    Signature(", version lib", r"undefined symbol: \w+, version lib\w+\.so"),
    # ld.so, where the library is there and too old for the symbol's version
    Signature("not defined in file", r"symbol \S+,? version \S+ not defined in file (?P<lib>lib\S+)"),
    Signature(
        "compiled with different", r"(?:PyTorch|torch\w*) .{0,60}compiled with different CUDA (?:major )?versions"
    ),
    # an operator that the extension of another release, or one that was not loaded, did not register
    Signature("operator ", r"\boperator \w+::[\w.]+ does not exist", library="torch", needs="does not exist"),
    Signature("No such operator ", r"No such operator \w+::\w+"),
    *OTHER_ARGUMENTS,
    *OTHER_BUILD,
    Signature("does not match with NVSHMEM host library version", library="nvshmem"),
    Signature("selected bootstrap returned an incompatible version", library="nvshmem"),
    Signature("was compiled with NCCL version", library="nccl"),
    Signature("NCCL version", r"NCCL version [\d.]+ or (?:higher|newer|later) is required"),
    Signature("load custom C++ ops", library="torch"),
    Signature(
        "Could not find ",
        r"Could not find (?:shared object file: )?(?:Transformer Engine \w+ lib|libtransformer_engine)",
        library="transformer-engine",
    ),
    Signature("compiled against a different version of P"),
    # who was built against one release, and wants or meets another
    Signature("compile-time ", r"requires cu(?:BLAS|DNN) .*but (?:compile-|run-)time \w+ version"),
    Signature(
        "version mismatch",
        r"(?:Transformer Engine package|cuDNN frontend (?:Python/C\+\+ )?|(?<!driver )NVSHMEM) ?version mismatch",
    ),
    Signature(
        "minimum required version",
        r"flashinfer_python .{0,60}minimum required version|is less than the minimum required version(?! by CUDA)",
    ),
    Signature(
        "No module named",
        r"No module named ['\"](?:vllm\._C|sgl_kernel\.\w+|vllm\._moe_C|vllm\.vllm_flash_attn\._vllm_fa\w*"
        r"|flash_attn_2_cuda|exllamav2_ext)",
    ),
    Signature("_OpNamespace", r"'_OpNamespace' '\w+' object has no attribute"),
    # Inductor asks Triton's classes for what its own release of Triton has
    Signature(
        "has no attribute",
        r"(?:type object |Error: |^)'(?:CompiledKernel|KernelMetadata|JITFunction)'(?: object)? has no attribute",
        library="triton",
    ),
    Signature("incompatible with this", r"(?:torch|flash[-_]attn|xformers|sgl|flashinfer)\S* .{0,80}incompatible with"),
)
# ld.so's, of a library that the loader took for another; a page that takes the quotes for its own markup loses them
_OLD_LIBRARY: Final = any_of(
    "version GLIBC",
    "version CXXABI",
    "version `",
    "version '",
    "version ‘",
    pattern=r"version [`'‘]?(?:(?:GLIBCXX|CXXABI|GLIBC)_[\d.]+|lib\w+\.so[.\d]*)['’]? not found",
)
_TORCH_BUILD: Final = Signature("+cu", r"torch[ =]=?\s*(?P<torch>\d\S*?)\+cu(?P<cu>\d{2,3})\b", weak=True)


# vLLM only warns of its kernel library, and fails of every operator that it would have brought.
_INDISPENSABLE: Final = "Failed to import from vllm._C with"
# The driver's functions, NVML's and the CUDA runtime's; cuDNN's, cuBLAS' and their like are libraries of wheels.
_DRIVERS_OWN: Final = r"nvml[A-Z]|cu(?!dnn|blas|sparse|solver|rand|fft|tensor|file)"


#: torch's last step of a build: it loads what ninja was to have made.
LOADED_BUILT: Final = Signature("_import_module_from_library", weak=True, library="torch")
# The frames of a traceback between that step and its error.
_FRAMES: Final = 8


def was_to_be_built(case: Case, hit: Hit) -> bool:
    """Whether a module that is missing is one that its package builds at import, and could not."""
    # Python's imp names its ImportError so; of a module that the built one wants, Python says ModuleNotFoundError.
    named = re.search(r"(?<!ModuleNotFoundError: )No module named", hit.line.text)
    if named and any(0 < hit.line.number - step.line.number <= _FRAMES for step in case.hits(LOADED_BUILT)):
        return True
    return case.has(*BUILD_FAILED) and re.search(r"No module named '\w+_ext'", hit.line.text) is not None


# How sgl_kernel sums up; the errors that it met on its way stand around it.
_SUMMED_UP: Final = r"any common_ops library|\[sgl_kernel\] CRITICAL|No module named ['\"]common_ops"


def _sums_up_a_missing_library(case: Case, hit: Hit) -> bool:
    return re.search(_SUMMED_UP, hit.line.text) is not None and any(
        near(hit, missing) and not missing.groups["lib"].startswith("libnccl-net")
        for missing in case.hits(SHARED_OBJECT)
    )


#: FlashInfer 0.7 warns of a package of another release, and builds or fetches itself what that would have brought;
#: SGLang of each of its models that can't be imported, though another one is served.
_IGNORED: Final = r"Ignoring incompatible flashinfer|^\s*Ignore import error when loading "


def _ignored(case: Case, hits: tuple[Hit, ...]) -> Claim | None:
    """What was ignored decides nothing; where the log tells of something else that no compiler says, it is an aside."""
    told = [line.text for line in case.errors if not (says_only_that(line.text) or re.search(_IGNORED, line.text))]
    # a model whose import was ignored is not supported, as SGLang says of its architecture
    elsewhere = bool(told) and not any(speaks_of_compilers(text) or "rchitecture" in text for text in told)
    claim = claim_from(hits, certainty="likely", weight=Weight.ASIDE if elsewhere else Weight.NOTED)
    return claim and replace(claim, last_line=0)


def _mismatch(case: Case) -> Claim | None:
    wheels = tuple(
        hit
        for hit in case.hits(UNDEFINED_SYMBOL)
        if hit.groups["symbol"].startswith(("_Z", "ZN", "aoti_", "torch_", "TVMFFI", "THP"))
    )
    wheels += tuple(
        hit
        for hit in case.hits(SHARED_OBJECT)
        if re.match(TORCHS_OWN, hit.groups["lib"]) and not _wanted_by_cache(case, hit)
    )
    # Another ptxas than Triton's own is a matter of where TRITON_PTXAS_PATH points.
    later = () if case.variable("TRITON_PTXAS_PATH") else case.hits(LATER_PTXAS)
    # A module of a JIT cache was built here: its wrong symbols are another cause's.
    hits = tuple(
        hit
        for hit in case.hits(*_VERSIONS, *BUILT_AGAINST) + wheels + later
        if not (
            rules.in_jit_cache(hit.line.text) or was_to_be_built(case, hit) or _sums_up_a_missing_library(case, hit)
        )
    )
    # Built again by the same compiler, such a module would want the same libstdc++; but the C library is the machine's
    # own, so a cached module that wants a newer one was built on another.
    hits += tuple(
        hit for hit in case.hits(*_OLD_LIBRARY) if not (rules.in_jit_cache(hit.line.text) and "GLIBC_" in hit.line.text)
    )
    if hits and all(re.search(_IGNORED, hit.line.text) for hit in hits):
        return _ignored(case, hits)
    if hits:
        lost = any(_INDISPENSABLE in hit.line.text for hit in hits)
        return claim_from(hits, weight=Weight.DECISIVE if lost else None)
    other = tuple(
        hit
        for hit in case.hits(UNDEFINED_SYMBOL)
        if not re.match(_DRIVERS_OWN, hit.groups["symbol"]) and not rules.in_jit_cache(hit.line.text)
    )
    if other:
        return claim_from(other)
    if case.has(*NO_BINARY):
        return claim_from(case.hits(*NO_BINARY), certainty="likely", weight=Weight.NOTED)
    builds = case.hits(_TORCH_BUILD)
    if len({hit.groups["cu"] for hit in builds}) > 1:
        return claim_from(builds, certainty="possible", weight=Weight.NOTED)
    return claim_from(case.hits(*UNLOADED), certainty="possible", weight=Weight.HINT)


CAUSES: Final = (
    Cause(
        id="shared-library-missing",
        title="a CUDA library is not found when it is loaded",
        handling="mend",
        mend="library-path",
        toolchain=True,
        rank=31,
        summary="{lib} is not found by the service's dynamic loader.||A CUDA library is not found by the service's "
        "dynamic loader.",
        advice="`find / -name '{lib}*'` tells whether it is there: then the path is wrong, else the package is.||Look "
        "for the library with `find`: where it is there, the path is wrong, else the package is missing.",
        judge=_shared_library,
        signatures=(SHARED_OBJECT, *_LOAD, _FOUND, *CACHED_MODULE),
        page=Page(
            meaning="A prebuilt module names the libraries it needs with their CUDA major (libcudart.so.13, "
            "libnvrtc.so.12). The dynamic loader looks in the module's own search path, LD_LIBRARY_PATH, and "
            "ldconfig's cache, and didn't find one.",
            origin="A wheel for another CUDA major than torch's, an LD_LIBRARY_PATH that the shell has and the unit "
            "hasn't, a runtime image without that library, or a cleaned-up toolkit.",
            recognised="`libcudart.so.13: cannot open shared object file`. The number is the CUDA major that the "
            "module was built for; if torch is of the other one, the module's wheel is the wrong one. libcuda.so.1 "
            "is the driver's: see libcuda-missing.",
            mending="Where a copy lies in the virtual environment or a toolkit, the unit's LD_LIBRARY_PATH; else the "
            "package that brings it, or the wheel for torch's CUDA.",
            avoid="A symlink from one major's file name to another's loads, and crashes later.",
            sources=("ld.so(8)", "ldd(1)"),
        ),
    ),
    Cause(
        id="library-version-mismatch",
        title="Python packages that must match don't",
        handling="advise",
        rank=30,
        summary="{package} {have} and flashinfer {want} must be the same version.||Compiled Python packages that must "
        "match one another don't: one was built for another torch, CUDA or release.",
        advice="Install the versions that belong together: `{python} -m pip check`, then the server's own pinned "
        "requirements.||Install the versions that belong together: `pip check`, then the server's own pins.",
        judge=_mismatch,
        signatures=(
            *_VERSIONS,
            *_OLD_LIBRARY,
            *BUILT_AGAINST,
            *NO_BINARY,
            *UNLOADED,
            LATER_PTXAS,
            UNDEFINED_SYMBOL,
            SHARED_OBJECT,
            _TORCH_BUILD,
            *BUILD_FAILED,
            LOADED_BUILT,
        ),
        page=Page(
            meaning="A compiled extension is made for one torch, sometimes for one exact release of its sister "
            "package. Beside another it doesn't load.",
            origin="pip upgraded one of a pair: torch without sgl-kernel, flash-attn or vLLM; flashinfer-python "
            "without flashinfer-cubin or flashinfer-jit-cache.",
            recognised="`undefined symbol: _ZN3c10…` (C++ names are torch's), `No module named 'common_ops'`, "
            "`flashinfer-cubin version (A) does not match flashinfer version (B)`.",
            mending="The set that the server's release pins, installed in one pip call.",
            avoid="Compilers play no part in it. FLASHINFER_DISABLE_VERSION_CHECK hides the message, not the fault.",
            sources=("flashinfer 0.4 to 0.7, __init__.py", "sgl-kernel, load_utils.py"),
        ),
    ),
)
