"""The driver, its library and the devices."""

from __future__ import annotations

import re

from remedy.causes import rules
from remedy.causes.case import Case, claim_from
from remedy.causes.catalogue.toolkit import driver_library_unlinked
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    INSUFFICIENT_DRIVER,
    JIT_AT_WORK,
    JIT_LINKER,
    NO_GPU,
    NVJITLINK,
    OLD_DRIVER,
    UNDEFINED_SYMBOL,
    UNSUPPORTED_PTX,
    UNSUPPORTED_PTX_CODE,
)
from remedy.hints import Final

# --- driver-mismatch ----------------------------------------------------------------------------------------------

_MISMATCH: Final = (
    Signature("river/library"),
    # cudaErrorSystemDriverMismatch, as torch numbers it
    Signature("Error 803: "),
    Signature("API mismatch", r"client has (?:the )?version (?P<client>[\d.]+).*|API mismatch"),
    Signature("unsupported display driver"),
    *any_of("SYSTEM_DRIVER_MISMATCH", "SystemDriverMismatch", pattern="(?i)system_?driver_?mismatch"),
    # a runtime that mounts the driver's files into a container, by a list (ld.so.cache, CDI) of before its upgrade
    *any_of(
        "no such file",
        "No such file",
        pattern=r"/lib(?:cuda|nvidia-[\w-]+|nvcuvid|nvoptix|\w+_nvidia)\.so\.\d+\.[\d.]*\d\b(?!.*shared object).*"
        r"[Nn]o such file",
        needs=".so.",
    ),
    Signature("version mismatch", r"(?:NVML|nvidia|kernel module).{0,60}version mismatch"),
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
    gpu = case.hits(*NO_GPU, *_GONE)
    return claim_from(gpu, facts, certainty="likely", weight=Weight.DECISIVE) if gpu and facts else None


# --- driver-too-old -----------------------------------------------------------------------------------------------

_TOO_OLD: Final = (
    OLD_DRIVER,
    Signature(
        "please update your driver", r"unsatisfied condition: cuda ?>= ?(?P<needed>[\d.]+)|please update your driver"
    ),
    # the entry point of NVIDIA's images, which breaks the sentence behind "but"
    Signature("built for NVIDIA Driver Release"),
    Signature("compatibility mode is UNAVAILABLE"),
    Signature("orward compatibility was attempted on non supported HW"),
    Signature("Error 804: "),
    Signature("CUDA initialization failure with error", r"failure with error:? 35\b", library="tensorrt"),
    # CUDA runtime API, cudaErrorCallRequiresNewerDriver
    Signature("not supported in the installed CUDA driver"),
    Signature("cudaErrorCallRequiresNewerDriver"),
    *any_of("COMPAT_NOT_SUPPORTED", "CompatNotSupported", pattern="(?i)compat_?not_?supported"),
    Signature(
        "river", r"(?:NVIDIA|CUDA|nvidia) [Dd]river .{0,60}(?:is too old|is outdated|needs to be updated|too old)"
    ),
    Signature("river", r"[Dd]river .{0,30}(?:does not support|doesn't support) CUDA"),
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
    if not (built_here or rules.linked_elsewhere(case.facts) or case.has(_NO_DRIVER)):
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
    small)."""
    own = len(symbol) > 3 and symbol.startswith("cu") and symbol[2].isupper()
    return own and not re.fullmatch(_IN_EVERY_DRIVER, symbol)


# --- libcuda-missing ----------------------------------------------------------------------------------------------

_LIBCUDA: Final = (
    Signature(
        "libcuda.so",
        r"libcuda\.so(?:\.1)?: cannot open shared object|libcuda\.so(?:\.1)? (?:cannot|can ?not be|not) found"
        r"|libcuda\.so cannot found",
    ),
    Signature("symlink of libcuda.so"),
    Signature("load library failed"),
    # what a toolkit's stubs/libcuda.so answers where it is found instead of the driver's
    Signature("CUDA driver is a stub library"),
    Signature("cudaErrorStubLibrary"),
    Signature("CUDA_ERROR_STUB_LIBRARY"),
    Signature("is an NVIDIA driver library", library="cuda-pathfinder"),
    Signature(
        "libcuda.so",
        r"(?:[Cc]ould not|[Uu]nable to|[Ff]ailed to|[Cc]annot) (?:load|find|open|locate|dlopen) .{0,30}libcuda\.so",
    ),
    Signature("Found no NVIDIA driver on your system"),
    Signature("failed call to cuInit: UNKNOWN ERROR (303)"),
    Signature(
        "CUDA driver",
        r"libcuda.*not found|[Cc]ould not find (?:the )?CUDA driver"
        r"|CUDA driver (?:library )?(?:(?:was )?not|cannot be) found",
    ),
)


# The entry point of NVIDIA's containers warns of it; without a driver the runtime calls it too old.
_NO_DRIVER: Final = Signature("The NVIDIA Driver was not detected")


def _libcuda(case: Case) -> Claim | None:
    absent = case.hits(_NO_DRIVER)
    hits = case.hits(*_LIBCUDA) + driver_library_unlinked(case) + absent
    return claim_from(hits + case.hits(INSUFFICIENT_DRIVER) if absent else hits)


# --- gpu-missing, gpu-not-ready -----------------------------------------------------------------------------------

_GONE: Final = (
    Signature("fallen off the bus"),
    Signature("Xid", r"Xid \([^)]*\): (?P<xid>79|48|62|74|95|119|120|140|154)\b"),
    Signature("No devices were found"),
    Signature("no CUDA devices found"),
    Signature("No visible GPU devices"),
    Signature("no supported devices found for platform CUDA"),
    Signature("CUDA initialization failure with error", r"failure with error:? 100\b", library="tensorrt"),
    Signature("ommunicate with the NVIDIA driver"),
    Signature("cudaSetDevice err: 999"),
    Signature("Failed to infer device type"),
    Signature(
        "NVML",
        r"NVML Shared Library Not Found|Failed to initialize NVML|NVML: (?:Unknown Error|Not Found"
        r"|Driver Not Loaded|GPU is lost)|NVMLError_\w+",
    ),
    # NVIDIA's Go bindings, where dlopen of libnvidia-ml.so.1 fails (the device plugin for Kubernetes, nvidia-docker)
    Signature("could not load NVML library"),
    Signature("GPU is lost"),
    Signature("RmInitAdapter failed"),
    # kernel and udev: no device that this driver serves, or a module that does not fit the running kernel
    Signature("The NVIDIA probe routine failed"),
    Signature(
        "modprobe", r"modprobe[^']*nvidia\S*' failed with exit code|modprobe: .*(?:nvidia.*not found|insert '?nvidia)"
    ),
    Signature("CUDA unknown error"),
    Signature("unknown error", r"(?:CUDA error|failed to initialize CUDA)\S{0,12}: unknown error"),
    Signature("busy or unavailable", r"CUDA-capable device.{0,20} busy or unavailable"),
    *any_of("cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", pattern=r"(?i)device_?s?_?unavailable"),
    Signature("CUDA error 999"),
    Signature("o nvidia devices detected"),
    Signature("driver library init failure"),
    Signature("o usable GPU found"),
    Signature("nvalid device ordinal"),
    # a GPU that is asked for by its number: ultralytics and YOLOv5, dorado, llama.cpp
    Signature("nvalid CUDA ", r"nvalid CUDA (?:'(?:device=|--device )|device (?:index|id|ordinal))"),
    Signature("nvalid `--device", r"nvalid `--device \S+` request, valid devices are"),
    Signature("invalid value for main_gpu", r"main_gpu: \d+ \(available devices: "),
    Signature("could not select device driver", r"capabilities: \[\[gpu|driver \\?\"(?:nvidia|cdi)"),
    Signature("unknown or invalid runtime name: nvidia"),
    Signature("nknown runtime specified nvidia"),
    Signature("nvidia-container-runtime", r"\"nvidia-container-runtime\S*: executable file not found"),
    # libnvidia-container's own words; what is behind the colon may name another cause
    *any_of(
        "nvidia-container-cli", "nvml error", pattern=r"nvidia-container-cli: (?!requirement)\w+ error: |\bnvml error: "
    ),
    Signature("etermine the device handle for GPU"),
    # nvml.h by number: not loaded, no library, lost, no operating system access
    *any_of("nvml", "NVML", pattern=r"(?i)nvml.{0,20}(?:init\w*|error|fail\w*)\b\D{1,20}\b(?:9|12|15|17)$"),
    Signature("Driver is present, but CUDA failed to initialize"),
    Signature("Torch not compiled with CUDA enabled"),
    Signature("uncorrectable ECC error"),
    *any_of("ECC_UNCORRECTABLE", "ErrorECCUncorrectable", pattern="(?i)ecc_?uncorrectable"),
    Signature("compiled without CUDA support", r"(?:PyTorch|[Tt]orch) was compiled without CUDA support"),
    Signature("requires CUDA support", r"torch\.\S+ requires CUDA support"),
    Signature("is not visible (CUDA_VISIBLE_DEVICES", library="torch"),
    Signature("Invalid device id", r"AssertionError: Invalid device id", library="torch"),
    Signature("annot detect device", r"annot detect device [`'\"]cuda", library="tvm"),
    Signature("No CUDA architecture was specified or GPU detected", library="tvm"),
    Signature("CUDA initialization", r"CUDA initialization: .*(?:no|No) (?:CUDA|NVIDIA)"),
    Signature("no GPU detected"),
    Signature("no compatible GPUs were discovered"),
    Signature("No CUDA runtime", r"No CUDA runtime is found$"),
    # torch.utils.cpp_extension without a list: the list of the GPUs that it counts is empty
    Signature("arch_list[-1] += '+PTX'", library="torch"),
    Signature("number of available GPUs", r"(?:larger than|exceeds?) .{0,30}number of available GPUs"),
    Signature("Device string must not be empty", library="vllm"),
    *any_of(
        "o GPU",
        "o NVIDIA GPU",
        "o gpu",
        "o nvidia gpu",
        pattern=r"(?i)no (?:nvidia )?gpus? (?:is |are |was |were )?(?:found|detected|available|visible)"
        r"(?!.{0,9}falling back)",
    ),
    Signature("CUDA is not available"),
    Signature("/dev/nvidia", r"/dev/nvidia[\w-]*.{0,40}[Nn]o such file"),
)
_CUDA_FREE: Final = "Torch not compiled with CUDA enabled"
_BOOT: Final = (
    Signature("NVRM: loading NVIDIA", weak=True),
    Signature("nvidia: loading out-of-tree module", weak=True),
    Signature(
        "nvidia-persistenced",
        r"[Ss]tarted .*(?:nvidia-persistenced|NVIDIA Persistence)|nvidia-persistenced.*(?:Started|Starting)",
        weak=True,
    ),
    Signature("nvidia", r"nvidia\S*: module license|\[drm\] \[nvidia-drm\]|nvidia-modeset: Loading", weak=True),
    Signature("-- Boot", r"^-- Boot [0-9a-f]{8,}", weak=True),
    Signature("Linux version", weak=True),
    Signature("/dev/nvidia", r"/dev/nvidia[\w-]*.{0,40}(?:[Nn]o such file|not exist|not found)", weak=True),
)
# torch's wrapper around whatever the driver said.
_COUNTING: Final = Signature("nexpected error from cudaGetDeviceCount", weak=True)
# On NVSwitch machines the fabric manager must have come first (CUDA driver API, CUDA_ERROR_SYSTEM_NOT_READY).
_FABRIC: Final = (Signature("system not yet initialized"), Signature("SYSTEM_NOT_READY"))
# systemd.unit(5), ConditionPathExists=: the manager's words where the nodes were not there yet, and systemctl's
_NO_NODES: Final = any_of(
    "unmet condition check",
    "was not met",
    pattern=r"Condition\w+=\|?/dev/nvidia\S*",
)
_BOOT_NOTE: Final = r"(?i)\bboot|reboot|after (?:power|restart)|before the driver|later by hand|manual(?:ly)? .*works"


def _not_ready(case: Case) -> Claim | None:
    """No GPU at boot, and the driver came afterwards."""
    fabric = case.hits(*_FABRIC)
    if fabric:
        return claim_from(fabric)
    missing = case.hits(*NO_GPU, *_GONE)
    boot = case.hits(*_BOOT)
    noted = case.facts.note is not None and re.search(_BOOT_NOTE, case.facts.note)
    if missing and boot and boot[-1].line.number > missing[0].line.number:
        return claim_from(missing[:2] + boot[-1:], certainty="likely", weight=Weight.DECISIVE)
    if missing and (boot or noted):
        told = (case.fact(case.facts.note or "", "note"),) if noted else ()
        return claim_from(missing[:2] + boot[:1], told, certainty="likely")
    # A CUDA program sees no device although the driver's version is known: the driver is there now.
    if case.has(*NO_GPU) and case.facts.driver and case.facts.gpu and not rules.driver_lacks(case.facts):
        text = f"the driver ({rules.dotted(case.facts.driver)}) and the GPU ({case.facts.gpu}) are there now"
        return claim_from(case.hits(*NO_GPU), (case.fact(text, "driver"),), certainty="possible", weight=Weight.NOTED)
    return claim_from(case.hits(*_NO_NODES), certainty="likely", weight=Weight.NOTED)


def _missing(case: Case) -> Claim | None:
    return claim_from(case.hits(*NO_GPU, *_GONE)) or claim_from(
        case.hits(_COUNTING), certainty="possible", weight=Weight.NOTED
    )


CAUSES: Final = (
    Cause(
        id="driver-mismatch",
        title="kernel module and driver libraries are of different versions",
        handling="advise",
        rank=22,
        known_by=rules.driver_parts_differ,
        summary="The NVIDIA kernel module that is loaded and the installed driver libraries are of different versions.",
        advice="Reboot (or unload and load the nvidia modules while nothing uses the GPU).",
        judge=_mismatch,
        signatures=(*_MISMATCH, *NO_GPU, *_GONE),
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
        signatures=(*_LIBCUDA, _NO_DRIVER),
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
        id="gpu-not-ready",
        title="at boot the service came before the driver",
        handling="mend",
        mend="after-driver",
        rank=24,
        summary="At boot the service started before the NVIDIA driver or its device nodes were there.",
        advice="`remedy fix {unit}` orders it after the driver (After=, Wants=nvidia-persistenced.service).",
        judge=_not_ready,
        signatures=(*NO_GPU, *_GONE, *_BOOT, *_FABRIC, *_NO_NODES),
        page=Page(
            meaning="The program asked for a GPU seconds before there was one. Started by hand later, it works.",
            origin="Nothing in the unit waits for the driver: multi-user.target doesn't. The module loads late, "
            "device nodes are made by the first user, persistence daemons and fabric managers take their time.",
            recognised="`no CUDA-capable device is detected` in the first seconds of a boot, and the kernel's lines on "
            "loading the NVIDIA module after it; or the GPU is there now.",
            mending="After=nvidia-persistenced.service with Wants=; on NVSwitch machines After="
            "nvidia-fabricmanager.service. Restart=on-failure with a few seconds is a second net.",
            avoid="`sleep 30` in ExecStartPre= guesses.",
            sources=("systemd.unit(5), After= and Wants=",),
        ),
    ),
    Cause(
        id="gpu-missing",
        title="no GPU is visible, or one is gone",
        handling="advise",
        rank=25,
        summary="The service sees no GPU, or one has dropped out.",
        advice="Run `nvidia-smi` and `dmesg | grep -i -e NVRM -e Xid`; check CUDA_VISIBLE_DEVICES in the unit.",
        judge=_missing,
        signatures=(*NO_GPU, *_GONE, _COUNTING),
        page=Page(
            meaning="The driver offers no device to this process, or one that was there has stopped answering.",
            origin="CUDA_VISIBLE_DEVICES names one that doesn't exist; the module isn't loaded for this kernel; the "
            "container or the unit's DeviceAllow= leaves the device out; a daemon-reload took it from a container's "
            "cgroup; the hardware fell off the bus (Xid 79); torch is a build without CUDA.",
            recognised="`No CUDA GPUs are available`, `No devices were found`, `GPU has fallen off the bus`, "
            "`Torch not compiled with CUDA enabled`.",
            mending="What nvidia-smi says decides: if it fails too, the driver or hardware; if it works, the unit's "
            "environment and sandbox.",
            avoid="An empty CUDA_VISIBLE_DEVICES hides all GPUs; it is not the same as unset.",
            sources=("NVIDIA's Xid catalogue", "CUDA C++ Programming Guide, environment variables"),
        ),
    ),
    Cause(
        id="driver-too-old",
        title="the driver can't run torch's CUDA",
        handling="advise",
        rank=26,
        known_by=rules.driver_lacks,
        summary="The NVIDIA driver is older than the CUDA that torch or another prebuilt library was made for.",
        advice="Update the driver (CUDA 13 needs 580 or later), or install torch built for the CUDA that it knows.",
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
            _NO_DRIVER,
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
