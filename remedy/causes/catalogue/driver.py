"""The driver and its library."""

from __future__ import annotations

import re

from remedy.causes import rules
from remedy.causes.case import Case, claim_from
from remedy.causes.catalogue.devices import GONE, came_afterwards
from remedy.causes.catalogue.toolkit import driver_library_unlinked
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    INSUFFICIENT_DRIVER,
    JIT_AT_WORK,
    JIT_LINKER,
    NO_DRIVER,
    NO_GPU,
    NVJITLINK,
    OLD_DRIVER,
    UNDEFINED_SYMBOL,
    UNSUPPORTED_PTX,
    UNSUPPORTED_PTX_CODE,
    answered,
)
from remedy.hints import Final

# --- driver-mismatch ----------------------------------------------------------------------------------------------

_MISMATCH: Final = (
    Signature("river/library"),
    # cudaErrorSystemDriverMismatch, as torch numbers it
    Signature("Error 803: "),
    # Debian's packages, of a module that is still loaded
    Signature("Mismatching nvidia kernel module loaded"),
    # TensorFlow compares the module with the library that it loaded
    Signature("does not match DSO version"),
    Signature("API mismatch", r"client has (?:the )?version (?P<client>[\d.]+).*|API mismatch"),
    Signature("unsupported display driver"),
    *answered(803),
    Signature("match with driver version", r"fabric manager .*n't match with driver version"),
    *any_of("SYSTEM_DRIVER_MISMATCH", "SystemDriverMismatch", pattern="(?i)system_?driver_?mismatch"),
    # a runtime that mounts the driver's files into a container, by a list (ld.so.cache, CDI) of before its upgrade
    *any_of(
        "no such file",
        "No such file",
        pattern=r"/lib(?:cuda|nvidia-[\w-]+|nvcuvid|nvoptix|\w+_nvidia)\.so\.\d+\.[\d.]*\d\b(?!.*shared object).*"
        r"[Nn]o such file",
        needs=".so.",
    ),
    Signature("version mismatch", r"(?:NVML|nvidia(?!-)|kernel module).{0,60}version mismatch"),
    # nvml.h, by name, by pynvml's class, and by number where a program prints only that
    *any_of("RM_VERSION_MISMATCH", "RmVersionMismatch", pattern=r"(?i)rm_?version_?mismatch"),
    *any_of("nvml", "NVML", pattern=r"(?i)nvml.{0,20}(?:init\w*|error|fail\w*)\b\D{1,20}\b18\b", needs="18"),
)


def _mismatch(case: Case) -> Claim | None:
    differ = rules.driver_parts_differ(case.facts)
    facts = (case.fact(differ, "kernel_module"),) if differ else ()
    hits = case.hits(*_MISMATCH)
    if hits:
        return claim_from(hits, facts)
    gpu = case.hits(*NO_GPU, *GONE)
    return claim_from(gpu, facts, certainty="likely", weight=Weight.DECISIVE) if gpu and facts else None


# --- driver-too-old -----------------------------------------------------------------------------------------------

_TOO_OLD: Final = (
    OLD_DRIVER,
    # libnvidia-container and the runtime, of what an image requires (NVIDIA_REQUIRE_CUDA): where the driver does not
    # know its CUDA, the brands and branches for which forward compatibility would do are asked last, and named
    *any_of(
        "please update your driver",
        "unsatisfied condition: ",
        pattern=r"unsatisfied condition: (?:cuda ?>=? ?(?P<needed>[\d.]+)|cuda|driver|brand)|please update your driver",
    ),
    # the entry point of NVIDIA's images, which breaks the sentence behind "but"
    Signature("built for NVIDIA Driver Release"),
    Signature("compatibility mode is UNAVAILABLE"),
    Signature("symbol lookup for cu", r"symbol lookup for cu[A-Z]\w+ failed", library="ollama"),
    Signature("on non supported HW", r"(?i:forward compatibility)"),
    Signature("Error 804: "),
    *answered(35, 804),
    # cuda-python, by way of the check that its users copy from its samples
    Signature("CUDA error code=35("),
    # Triton's ptxas has just made it for this very GPU: what the driver does not know is the release that it is of
    Signature("Triton Error [CUDA]: device kernel image is invalid", library="triton"),
    # cudaErrorInsufficientLoaderVersion: what loads kernels is part of the driver
    Signature("Loader version is insufficient"),
    *any_of("INSUFFICIENT_LOADER", "InsufficientLoader", pattern=r"(?i)insufficient_?loader_?version"),
    Signature("CUDA initialization failure with error", r"failure with error:? 35\b", library="tensorrt"),
    # CUDA runtime API, cudaErrorCallRequiresNewerDriver
    Signature("not supported in the installed CUDA driver"),
    Signature("cudaErrorCallRequiresNewerDriver"),
    *any_of("Driver missing function: cu", "driver symbol not found: cu", pattern=""),
    Signature("pdate your cuda driver", library="numba"),
    # nvidia-smi, which comes with the driver, of what build scripts ask it
    Signature("is not a valid field to query", "compute_cap"),
    *any_of("COMPAT_NOT_SUPPORTED", "CompatNotSupported", pattern="(?i)compat_?not_?supported"),
    Signature(
        "river", r"(?:NVIDIA|CUDA|nvidia) [Dd]river .{0,60}(?:is too old|is outdated|needs to be updated|too old)"
    ),
    Signature("river", r"[Dd]river .{0,30}(?:does not support|doesn't support) (?:the )?CUDA"),
    # a check of the release that a program makes itself; XLA's of its compiler's is no failure
    Signature(
        "river",
        r"(?i)(?:minimum (?:required )?|(?<!possibly )insufficient |invalid )(?:nvidia |gpu )?driver version"
        r"|(?:nvidia|gpu) (?:gpu )?driver version \d[\d.]*\b.{0,30}(?:requires at least|is older than|is below)"
        r"|update your nvidia driver.{0,20}minimum",
    ),
    # the container toolkit's own reading of NVIDIA_REQUIRE_CUDA, where it needs no libnvidia-container
    Signature("requirements not met: ", r"requirements not met: \s*(?:cuda|driver)>=?(?P<cuda>[\d.]+)"),
    # cuda-python, of a function that this driver has not; without any driver it misses the first
    Signature('Function "cu', r"Function \"cu(?!Init|DriverGetVersion)[A-Z]\w+\" not found", library="cuda-python"),
)
_SYMBOL_WAIT: Final = Signature("not found in libcuda", r"(?P<symbol>cu[A-Z]\w+).{0,40}not found in libcuda")


def _too_old(case: Case) -> Claim | None:
    lacks = rules.driver_lacks(case.facts)
    facts = (case.fact(lacks, "driver"),) if lacks else ()
    symbols = tuple(hit for hit in case.hits(UNDEFINED_SYMBOL) if _driver_symbol(hit.groups.get("symbol", "")))
    hits = case.hits(*_TOO_OLD, UNSUPPORTED_PTX, _SYMBOL_WAIT) + symbols
    if not case.has(NVJITLINK):
        hits += case.hits(JIT_LINKER)
    built_here = case.has(*JIT_AT_WORK) and rules.driver_serves(case.facts)
    modules = rules.linked_elsewhere(case.facts) and not rules.torch_newer_than_driver(case.facts)
    if not (built_here or modules or case.has(_UNDETECTED)):
        hits += case.hits(INSUFFICIENT_DRIVER)
    if hits:
        return claim_from(hits, facts)
    weak = case.hits(*UNSUPPORTED_PTX_CODE)
    if weak:
        return claim_from(weak, facts)
    failed = case.hits(*NO_GPU)
    return claim_from(failed, facts, certainty="likely", weight=Weight.NOTED) if failed and facts else None


# What every driver since CUDA 6.5 has (cuda.h): a library that lacks it was loaded without libcuda, or cached wrongly.
# Batched copies came with CUDA 12.8, copies with attributes and the second forms of two older functions with 13.0.
_IN_EVERY_DRIVER: Final = (
    r"cu(?!Memcpy\w*(?:Batch|Attributes)|Ctx(?:GetDevice|Synchronize)_v2)(?:Init|LaunchKernel|DriverGetVersion|GetError(?:Name|String)|Device(?:Get(?:Count|Name|Attribute)?|TotalMem)"
    r"|Ctx(?:Create|Destroy|[GS]etCurrent|GetDevice|(?:Push|Pop)Current|Synchronize)|FuncSet(?:Attribute|CacheConfig)"
    r"|Module(?:Load(?:Data(?:Ex)?|FatBinary)?|Unload|Get(?:Function|Global))|Link(?:Create|Add(?:Data|File)|Complete)"
    r"|Mem(?:Alloc(?:Host)?|Free(?:Host)?|GetInfo|cpy\w+|set\w+)|(?:Stream|Event)(?:Create|Destroy|Synchronize|Query)"
    r"|EventRecord|StreamWaitEvent|PointerGetAttributes?)(?:_v2)?"
)


def _driver_symbol(symbol: str) -> bool:
    """A later function of the driver's own interface: plain C, cu and a capital (cudnn and cublas write theirs
    small); or of the one that monitors it, whose library is the driver's as well."""
    own = re.match(r"cu[A-Z]\w|nvml(?!Init|Shutdown)[A-Z]", symbol)
    return own is not None and not re.fullmatch(_IN_EVERY_DRIVER, symbol)


# --- libcuda-missing ----------------------------------------------------------------------------------------------

_LIBCUDA: Final = (
    Signature(
        "libcuda.so",
        r"libcuda\.so(?:\.1)?: cannot open shared object|libcuda\.so(?:\.1)? (?:cannot|can ?not be|not) found"
        r"|libcuda\.so cannot found",
    ),
    # Python's ctypes on Windows
    Signature("nvcuda.dll", r"ould not find module '(?:[^']*[\\/])?nvcuda\.dll'"),
    Signature("symlink of libcuda.so"),
    # which Triton asks where the library is
    Signature("'/sbin/ldconfig'", "No such file or directory: '/sbin/ldconfig'", library="triton"),
    Signature("load library failed"),
    # what a toolkit's stubs/libcuda.so answers where it is found instead of the driver's
    Signature("CUDA driver is a stub library"),
    Signature("cudaErrorStubLibrary"),
    Signature("CUDA_ERROR_STUB_LIBRARY"),
    Signature("is an NVIDIA driver library", library="cuda-pathfinder"),
    Signature(
        "libcuda.so",
        # one that was found, and then lacked a function or answered with an error, is not missing
        r"^(?!.*(?:undefined symbol|init failure)).*(?:[Cc]ould not|[Uu]nable to|[Ff]ailed to|[Cc]annot) "
        r"(?:load|find|open|locate|dlopen) .{0,30}libcuda\.so",
    ),
    # a bare name, an empty file that a container's runtime made in its place, TensorRT-LLM's wrapper
    *any_of(
        "libcuda",
        "dlopen",
        "driver library is not open",
        pattern=r"(?:[Uu]nable to|[Ff]ailed to|[Cc]annot|[Cc]ould not) (?:load|find|locate|open|dlopen) "
        r"libcuda(?![\w.])|libcuda\.so(?:\.1)?: file too short"
        r"|libcuda\.so(?:\.1)? (?:is )?not loaded|dlopen libcuda\.so\S* failed"
        r"|CUDA driver library is not open",
    ),
    NO_DRIVER,
    # libcudart's own word
    Signature("Failed to load CUDA driver!"),
    *any_of(
        "under the names [",
        "searched for library names",
        pattern=r"Unable to (?:find|dynamically load the) \"?cuda\"? (?:lib under|shared library)",
        library="cudarc",
    ),
    Signature("has no attribute 'cuInit'", library="tinygrad"),
    # a stub, one that could not be initialised, and TensorFlow 1 of one that it could not load
    *answered(34, 303),
    Signature("cuInit", r"cuInit: CUresult\(-1\)"),
    Signature(
        "CUDA driver",
        r"libcuda.*not found|(?:[Cc]ould not|[Ff]ailed to|[Cc]annot|[Uu]nable to) (?:find|load) (?:the )?CUDA driver"
        r"(?! (?:symbol|function))"
        r"|CUDA driver (?:library )?(?:(?:was )?not|cannot be) found",
    ),
)


# The entry point of NVIDIA's containers warns of it; without a driver the runtime calls it too old.
_UNDETECTED: Final = Signature("The NVIDIA Driver was not detected")
# TensorFlow says it of every machine without a GPU, and goes on.
_TENSORFLOW: Final = Signature("ould not find cuda drivers on your machine", weak=True)
# Triton asks the loader's cache where the driver's library is.
_LDCONFIG: Final = Signature(
    "ldconfig", r"\[Errno 2\] [^:'\"]{2,80}: '(?:/sbin/)?ldconfig'|ldconfig', '-p'\]' returned non-zero", weak=True
)


def _libcuda(case: Case) -> Claim | None:
    absent = case.hits(_UNDETECTED)
    # Without the module the library finds no driver either: at boot it is there, and too early.
    late = came_afterwards(case, case.hits(NO_DRIVER))
    said = case.hits(*(one for one in _LIBCUDA if not (late and one is NO_DRIVER)))
    hits = said + driver_library_unlinked(case) + absent
    if hits:
        return claim_from(hits + case.hits(INSUFFICIENT_DRIVER) if absent else hits)
    return claim_from(case.hits(_TENSORFLOW, _LDCONFIG), certainty="possible", weight=Weight.HINT)


CAUSES: Final = (
    Cause(
        id="driver-mismatch",
        title="kernel module and driver libraries are of different versions",
        handling="advise",
        rank=22,
        known_by=rules.driver_parts_differ,
        summary="The NVIDIA kernel module that is loaded and the installed driver libraries are of different versions.",
        advice="`systemctl reboot` loads the module that fits; `cat /proc/driver/nvidia/version` names the loaded one.",
        judge=_mismatch,
        signatures=(*_MISMATCH, *NO_GPU, *GONE),
        page=Page(
            meaning="The driver is a kernel module and a set of libraries that must match exactly. The running kernel "
            "still has the old module; the files on disk are new.",
            origin="An unattended upgrade replaced the driver packages; the module stays loaded until the next reboot. "
            "In a container: the libraries mounted at its start are older than the host's module by now.",
            recognised="`Driver/library version mismatch`, or /proc/driver/nvidia/version differs from the package.",
            mending="A reboot. Hold the driver packages (`apt-mark hold`) where reboots must be planned.",
            avoid="Reinstalling CUDA toolkits changes nothing about it.",
            sources=("NVML's error texts", "/proc/driver/nvidia/version"),
        ),
    ),
    Cause(
        id="libcuda-missing",
        title="libcuda.so.1 is not visible to the service",
        handling="advise",
        rank=23,
        summary="The driver's library libcuda.so.1 is not visible to the service.",
        advice="Check `ldconfig -p | grep libcuda`; install the driver's libraries (libnvidia-compute-…), or give the "
        "container the GPU (`--gpus all`).",
        judge=_libcuda,
        signatures=(*_LIBCUDA, _UNDETECTED, _TENSORFLOW, _LDCONFIG),
        page=Page(
            meaning="libcuda.so.1 comes with the driver, not with any toolkit. Nothing on CUDA runs without it.",
            origin="The driver isn't installed, only its kernel part is, a container was started without the NVIDIA "
            "runtime, the sandbox hides the folder, or ldconfig's cache is out of date. Triton up to 3.5 also wants "
            "the unversioned libcuda.so for its linker.",
            recognised="`libcuda.so.1: cannot open shared object file`, `libcuda.so cannot found!`, `Found no NVIDIA "
            "driver on your system`, or Triton's `cannot find -lcuda`.",
            mending="The driver's user-space package of the same version as the kernel module; `ldconfig`; for Triton "
            "TRITON_LIBCUDA_PATH or the missing link.",
            avoid="The toolkit's stubs/libcuda.so is for linking only. On LD_LIBRARY_PATH it makes every call fail.",
            sources=("triton 3.0 to 3.9, backends/nvidia/driver.py", "ldconfig(8)"),
        ),
    ),
    Cause(
        id="driver-too-old",
        title="the driver can't run torch's CUDA",
        handling="advise",
        rank=26,
        known_by=rules.driver_lacks,
        summary="The NVIDIA driver is older than the CUDA that torch or another prebuilt library was made for.",
        advice="`nvidia-smi` names the driver: update it (CUDA 13 needs 580 or later) and reboot, or install torch "
        "built for the CUDA that it knows.",
        judge=_too_old,
        signatures=(
            *_TOO_OLD,
            *JIT_AT_WORK,
            _SYMBOL_WAIT,
            INSUFFICIENT_DRIVER,
            UNSUPPORTED_PTX,
            *UNSUPPORTED_PTX_CODE,
            JIT_LINKER,
            NVJITLINK,
            _UNDETECTED,
            UNDEFINED_SYMBOL,
            *NO_GPU,
        ),
        page=Page(
            meaning="The driver decides which CUDA programs can run: 525.60 or later for any CUDA 12, 580.65 or later "
            "for CUDA 13. Within a major newer minors work, but not their PTX.",
            origin="`pip install -U` brought a torch of the next major; an image of CUDA 13 on a host of last year.",
            recognised="`The NVIDIA driver on your system is too old (found version 12080)`: the number is major * "
            "1000 + minor * 10. `undefined symbol: cuTensorMapEncodeTiled` (a plain C name of the driver's). `PTX "
            "was compiled with an unsupported toolchain` from a wheel's library.",
            mending="A newer driver and a reboot, or builds for the older CUDA (`pip install torch --index-url "
            "…/cu126`).",
            avoid="Toolkits are not at fault: installing another nvcc doesn't change what the driver can load.",
            sources=("CUDA compatibility guide", "CUDA driver API, versioning"),
        ),
    ),
)
