"""The GPUs: none there, or none that answers yet."""

from __future__ import annotations

import re

from remedy.causes import reading, rules
from remedy.causes.case import Case, Hit, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.own_checks import NO_GPU_ASKED_FOR, NO_GPU_PERHAPS
from remedy.causes.shared import GOES_ON, NO_DRIVER, NO_GPU, OF_NONE, answered
from remedy.hints import Final

# --- gpu-missing, gpu-not-ready -----------------------------------------------------------------------------------

# A device that the driver had, and lost.
_FALLEN: Final = (
    Signature("fallen off the bus"),
    Signature("Xid", r"Xid \([^)]*\): (?P<xid>48|62|64|74|79|95|119|120|140|143|154|158|17[0-3])\b"),
)
#: No device answers: none is there, or the driver that it would answer through is another.
GONE: Final = (
    *_FALLEN,
    Signature("No devices were found"),
    # which comes with the driver
    *any_of(
        "nvidia-smi'",
        "`nvidia-smi` failed",
        pattern=r"No such file or directory: '(?:\S*/)?nvidia-smi'|`nvidia-smi` failed\. Ensure",
    ),
    Signature("no CUDA devices found"),
    Signature("No visible GPU devices"),
    Signature("no supported devices found for platform CUDA"),
    Signature("CUDA initialization failure with error", r"failure with error:? 100\b", library="tensorrt"),
    Signature("ommunicate with the NVIDIA driver"),
    Signature("cudaSetDevice err: 999"),
    Signature("Failed to infer device type"),
    Signature(
        "NVML",
        # vLLM and SGLang ask every platform whether it is here, and say twice that this one is not
        r"(?<!checking CUDA platform: )(?<!platform is not available because: )NVML Shared Library Not Found"
        r"|[Ff]ailed to initialize NVML(?!: Insufficient)"
        r"|(?i:NVML\w*(?:\(\))?(?: failed)?: (?:Unknown Error|Not Found|Driver Not Loaded|GPU is lost))"
        r"|NVMLError_(?!FunctionNotFound|NotSupported|NoPermission)\w+"
        r"|NVML returned no GPU",
    ),
    # NVIDIA's Go bindings, where dlopen of libnvidia-ml.so.1 fails (the device plugin for Kubernetes, nvidia-docker)
    Signature("could not load NVML library"),
    Signature("GPU is lost"),
    # nv.c, nv-pci.c and osinit.c of the kernel module
    Signature(
        "NVRM: ",
        r"(?:No NVIDIA (?:GPU|PCI devices) found|No NVIDIA devices probed|None of the NVIDIA devices were initialized"
        r"|probe routine (?:failed|was not called)|installed in this system is not supported|is already bound to"
        r"|obtained ownership of the NVIDIA|necessary power cables|assigned to your NVIDIA device is invalid"
        r"|[Rr][Mm]_?[Ii]nit_?[Aa]dapter failed|Cannot initialize GSP|GSP-RM proxy boot|find an IRQ for your)",
    ),
    Signature("RmInitAdapter failed"),
    Signature("The NVIDIA probe routine failed"),
    # kernel and udev: a module that does not fit the running kernel, or none that was built for it
    *any_of(
        "disagrees about version",
        "version magic '",
        ": Unknown symbol",
        pattern=r"\bnvidia\w*: (?:disagrees about version|version magic|Unknown symbol)",
    ),
    Signature("Consult /var/lib/dkms/nvidia"),
    Signature("insert module", r"insmod: .*\bnvidia\S*\.ko"),
    Signature(
        "modprobe", r"modprobe[^']*nvidia\S*' failed with exit code|modprobe: .*(?:nvidia.*not found|insert '?nvidia)"
    ),
    Signature("not loaded", r"(?i)nvidia(?: kernel)? (?:driver|module)s? (?:is |are )?not loaded"),
    Signature("ailed to query NVIDIA devices"),
    Signature("kernel driver does not appear to be running"),
    Signature("o available node types can fulfill", r"request .*'GPU': [1-9]", library="ray"),
    # DKMS and mkinitcpio, whose module for the new kernel could not be built
    *any_of("dkms", "DKMS", pattern=r"(?i)dkms.{0,40}\bnvidia\b.{0,60}(?:fail|exited [1-9])"),
    Signature("module not found: 'nvidia"),
    Signature("CUDA unknown error"),
    Signature(
        "unknown error",
        r"(?:CUDA error|failed to initialize CUDA)\S{0,12}[:,] unknown error|CUDA failure 999\b"
        r"|(?:CUDA failed with error|cuInit failed:) unknown error|cuda runtime error \(999\)",
    ),
    Signature("busy or unavailable", r"CUDA-capable device.{0,20} busy or unavailable"),
    *any_of("cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", pattern=r"(?i)device_?s?_?unavailable"),
    Signature("CUDA error 999"),
    *answered(100, 101, 999, "CUDA_ERROR_UNKNOWN"),
    Signature("CUDA driver initialization failed", library="torch"),
    Signature("find libnvidia-ml", r"couldn't find libnvidia-ml\.so"),
    # Kubernetes and its device plugin, CDI
    Signature("nvidia.com/", r"(?:unresolvable CDI devices|Insufficient|unhealthy devices) \S*nvidia\.com/"),
    Signature("did you configure the NVIDIA Container Toolkit"),
    # the driver's installer, and the driver's container
    Signature("nable to load the kernel module 'nvidia"),
    Signature("not signed by a key that is trusted by the kernel"),
    Signature("load kernel module nvidia", r"could not load kernel module nvidia(?:_uvm)?$"),
    Signature("o nvidia devices detected"),
    Signature("driver library init failure"),
    # ollama, with what cuCtxCreate answered; memory (2), age (35, 804), match (803) and fabric (802) are other causes
    Signature("get device context ", r"library failed to get device context (?!(?:2|35|80[234])(?!\d))\d"),
    Signature("o usable GPU found"),
    Signature("nvalid device ordinal"),
    # a GPU that is asked for by its number: ultralytics and YOLOv5, dorado, llama.cpp
    Signature("nvalid CUDA ", r"nvalid CUDA (?:'(?:device=|--device )|device (?:index|id|ordinal))"),
    Signature("nvalid `--device", r"nvalid `--device \S+` request, valid devices are"),
    Signature("invalid value for main_gpu", r"main_gpu: \d+ \(available devices: "),
    Signature("could not select device driver", r"capabilities: \[\[gpu|driver \\?\"(?:nvidia|cdi)"),
    Signature("unknown or invalid runtime name: nvidia"),
    Signature("nknown runtime specified nvidia"),
    # containerd's and CRI-O's words for the same
    *any_of(
        "no runtime for", "find runtime handler", pattern=r"(?:no runtime for|find runtime handler) [\\\"']*nvidia\b"
    ),
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
    # CMake's list of targets where it is "native", put into nvcc's command as it stands
    Signature("o CUDA Devices found", r"[Nn]o CUDA Devices found"),
    Signature("no compatible GPUs were discovered"),
    Signature("No CUDA runtime", r"No CUDA runtime is found$"),
    # torch.utils.cpp_extension without a list: the list of the GPUs that it counts is empty
    Signature("arch_list[-1] += '+PTX'", library="torch"),
    Signature("available GPUs", r"(?:larger than|exceeds?) (?:.{0,30} )?available GPUs"),
    # GPUs that Ray's cluster was asked for and did not give
    Signature(
        "rovide a placement group",
        r"placement group (?:requiring [1-9]|of placement_group_specs=\[.*'GPU': [1-9])",
        library="vllm",
    ),
    Signature("does not allocate any GPUs on the driver node", library="vllm"),
    Signature("GPUs available in a current node", r"don't have enough GPUs available in", library="vllm"),
    Signature("Device string must not be empty", library="vllm"),
    Signature("is running on UnspecifiedPlatform", library="vllm"),
    *any_of(
        "o GPU",
        "o NVIDIA GPU",
        "o gpu",
        "o nvidia gpu",
        # sgl_kernel calls the variant so that it then looks for
        pattern=r"(?i)(?<!CPU/)no (?:nvidia )?gpus? (?:resources |devices? |or (?:other )?accelerators? )?"
        r"(?:is |are |was |were )?"
        r"(?:found|detected|available|visible)(?!.{0,9}falling back)",
    ),
    *any_of(
        "o CUDA ",
        "only found",
        "o available GPU",
        pattern=r"[Nn]o CUDA(?:[- ]enabled)? devices? (?:is |are |was |were )?(?:found|detected|available|visible)"
        r"|found no CUDA devices|only found \d+ CUDA devices|[Nn]o available GPU (?:device )?found",
    ),
    # an error that begins with it; what only a build wants is a toolkit
    Signature(
        "CUDA is required",
        r"(?:Error|Exception): CUDA is required(?:\.?$| for (?!.*(?:build|compil|install)))",
    ),
    *any_of(
        "CUDA availability",
        "CUDA available",
        "a CUDA device, but",
        "an NVIDIA GPU; ",
        "CUDA device",
        pattern=r"requires CUDA availab|requires a CUDA device, but none|needs an NVIDIA GPU; .{0,30}\bnone\b"
        r"|CUDA device \d+ requested, but unavailable",
    ),
    Signature(" is not available", r"\b[Dd]evice:? [`'\"]?cuda(?::\d+)?[`'\"]? is not available" + GOES_ON),
    Signature("not found on your local environment: cuda", library="mlc"),
    Signature("is_available() is False", r"cuda\.is_available\(\) is False" + GOES_ON),
    Signature("find any torch accelerator", library="unsloth"),
    Signature("0 active drivers", library="triton"),
    Signature("likely using older driver or on CPU machine", library="torch"),
    Signature("an active GPU backend", library="inductor"),
    Signature("you might not have a CUDA gpu", library="torch"),
    Signature("driver can't be loaded, is cuda enabled", library="torch"),
    Signature(
        "to deserialize object on", r"on (?:a )?CUDA device.* but torch\.cuda\.(?:is_av|device_c)", library="torch"
    ),
    *any_of("GPU is required", "GPU or XPU found", pattern=r"rror: (?:A )?GPU is required|No GPU or XPU found"),
    Signature("annot find cuda device", library="tilelang"),
    *any_of("nvidia-smi not found. Ensure", "No GPU memory values found", pattern="", library="sglang"),
    Signature("o accelerator", r"No accelerator \([A-Z, ]+\)(?: or platform plugin)? is available", library="sglang"),
    Signature("Target device may not be visible", library="numba"),
    *any_of(
        "CUDA is not available",
        "cuda is not available",
        "CUDA is unavailable",
        pattern=r"CUDA is not available|^cuda is not available\.$|rror: (?:\w+ )?CUDA is unavailable",
    ),
    Signature("/dev/nvidia", r"/dev/nvidia[\w-]*.{0,40}[Nn]o such file"),
    *NO_GPU_ASKED_FOR,
)
_BOOT: Final = (
    Signature("NVRM: loading NVIDIA", weak=True),
    Signature("nvidia: loading out-of-tree module", weak=True),
    Signature(
        "nvidia-persistenced",
        r"[Ss]tarted .*(?:nvidia-persistenced|NVIDIA Persistence)|nvidia-persistenced.*(?:Started|Starting)",
        weak=True,
    ),
    Signature("nvidia", r"nvidia\S*: module license|\[drm\] \[nvidia-drm\]|nvidia-modeset: Loading", weak=True),
    Signature("nserted module 'nvidia", weak=True),
    Signature("Nvlink Core is being initialized", weak=True),
    Signature("-- Boot", r"^-- Boot [0-9a-f]{8,}", weak=True),
    Signature("Linux version", weak=True),
    Signature("/dev/nvidia", r"/dev/nvidia[\w-]*.{0,40}(?:[Nn]o such file|not exist|not found)", weak=True),
)
# torch's wrapper around whatever the driver said.
_COUNTING: Final = Signature("nexpected error from cudaGetDeviceCount", weak=True)
# torch warns once of what the driver answered, and from then on only says that there is no GPU.
_ANSWERED: Final = Signature(
    "CUDA initialization: ", r"is too old|\bError (?:34|35|80[234]): ", weak=True, library="torch"
)
# ollama asks each maker's library for its own GPUs, and lists in the end what it computes on.
_ASKED: Final = r"\bno nvidia devices detected by library|\bdriver library init failure"
_FOUND: Final = Signature("inference compute", r"inference compute.*\blibrary=(?!cpu)\w", weak=True, library="ollama")
# What someone prints who asks why torch computes on the CPU; that environment reports hold such lines says nothing.
_CPU_BUILD: Final = Signature("+cpu", r"^(?:[Pp]y)?[Tt]orch(?: version|\.__version__)?\W{1,4}\d\S*\+cpu\b", weak=True)
_NO_CUDA: Final = Signature("vailable: False", r"^(?:CUDA|cuda) (?:is )?available: False", weak=True)
_REPORT: Final = any_of("Is debug build", "sgl_kernel: ", pattern="", weak=True)
# torch's warning where libnvidia-ml is not there; CUDA itself may be well.
_NO_NVML: Final = Signature("Can't initialize NVML", weak=True, library="torch")
# On NVSwitch machines the fabric manager must have come first (CUDA driver API, CUDA_ERROR_SYSTEM_NOT_READY).
_FABRIC: Final = (
    Signature("ystem not yet initialized"),
    *any_of("SYSTEM_NOT_READY", "SystemNotReady", pattern=r"(?i)system_?not_?ready"),
    Signature("GPU fabric is not ready"),
    *any_of("FABRIC_NOT_READY", "FabricNotReady", pattern=r"(?i)fabric_?not_?ready"),
    *answered(802),
)
_NO_FABRIC: Final = Signature(
    "abric",
    r"Failed to start (?:nvidia-fabricmanager|NVIDIA fabric manager)"
    r"|nvidia-fabricmanager\.service: (?:Failed with|Main process exited)",
)
# systemd.unit(5), ConditionPathExists=: the manager's words where the nodes were not there yet, and systemctl's
_NO_NODES: Final = any_of(
    "unmet condition check",
    "was not met",
    "Timed out waiting for device",
    pattern=r"(?:Condition|Assert)\w+=\|?/dev/nvidia\S*|waiting for device \S*nvidia",
)
_BOOT_NOTE: Final = r"(?i)\bboot|reboot|after (?:power|restart)|before the driver|later by hand|manual(?:ly)? .*works"


def came_afterwards(case: Case, asked: tuple[Hit, ...]) -> Hit | None:
    """The line by which the driver came up after these, of programs that asked for it."""
    # What was lost had been there; the driver's lines of the boot may stand anywhere in a paste of several commands.
    boot = () if case.has(*_FALLEN) else case.hits(*_BOOT)
    return boot[-1] if boot and asked and boot[-1].line.number > asked[0].line.number else None


def _not_ready(case: Case) -> Claim | None:
    """No GPU at boot, and the driver came afterwards."""
    fabric = case.hits(*_FABRIC)
    if fabric:
        return claim_from(fabric)
    missing = case.hits(*NO_GPU, *GONE, NO_DRIVER)
    boot = () if case.has(*_FALLEN) else case.hits(*_BOOT)
    noted = case.facts.note is not None and re.search(_BOOT_NOTE, case.facts.note)
    came = came_afterwards(case, missing)
    if came:
        return claim_from((*missing[:2], came), certainty="likely", weight=Weight.DECISIVE)
    if missing and (boot or noted):
        told = (case.fact(case.facts.note or "", "note"),) if noted else ()
        return claim_from(missing[:2] + boot[:1], told, certainty="likely")
    # A CUDA program sees no device although the driver's version is known: the driver is there now.
    if case.has(*NO_GPU) and case.facts.driver and case.facts.gpu and not rules.driver_lacks(case.facts):
        text = f"the driver ({rules.dotted(case.facts.driver)}) and the GPU ({case.facts.gpu}) are there now"
        return claim_from(case.hits(*NO_GPU), (case.fact(text, "driver"),), certainty="possible", weight=Weight.NOTED)
    return claim_from(case.hits(*_NO_NODES, _NO_FABRIC), certainty="likely", weight=Weight.NOTED)


# Set-up scripts take it apart, and it is None where torch was built without CUDA.
_TORCHS_CUDA: Final = Signature("torch.version.cuda", r"torch\.version\.cuda(?:\.(?:split|replace)\(|[)\[])", weak=True)


def _missing(case: Case) -> Claim | None:
    if case.has(_ANSWERED):
        return claim_from(case.hits(*NO_GPU, *GONE), certainty="possible", weight=Weight.NOTED)
    gone = _gone(case) + reading.failed_of_none(case, _TORCHS_CUDA)
    found = claim_from(gone) or claim_from(case.hits(_COUNTING), certainty="possible", weight=Weight.NOTED)
    perhaps = () if case.has(_FOUND) else case.hits(NO_GPU_PERHAPS)
    if found or case.errors:
        return found
    if case.has(_CPU_BUILD) and case.has(_NO_CUDA) and not case.has(*_REPORT):
        return claim_from(
            case.hits(_CPU_BUILD, _NO_CUDA),
            certainty="possible",
            weight=Weight.NOTED,
            summary="This torch is a build for CPUs: it sees no GPU, whatever the driver offers.",
            advice="Install the torch of the server's release from PyTorch's index for the driver's CUDA "
            "(https://download.pytorch.org/whl/), not the one that ends in +cpu.",
        )
    return claim_from(case.hits(_NO_NVML) + perhaps, certainty="possible", weight=Weight.HINT)


def _gone(case: Case) -> tuple[Hit, ...]:
    """The lines by which no GPU answers. That ollama's search met none of one maker's says nothing where it found
    another's, and none of that maker's is known to be there."""
    hits = case.hits(*NO_GPU, *GONE)
    if case.facts.gpu or not case.has(_FOUND):
        return hits
    return tuple(hit for hit in hits if not re.search(_ASKED, hit.line.text))


CAUSES: Final = (
    Cause(
        id="gpu-not-ready",
        title="at boot the service came before the driver",
        handling="mend",
        mend="after-driver",
        rank=24,
        summary="At boot the service started before the NVIDIA driver or its device nodes were there.",
        advice="`remedy fix {unit}` orders it after the driver (After=, Wants=nvidia-persistenced.service).",
        judge=_not_ready,
        signatures=(*NO_GPU, *GONE, NO_DRIVER, *_BOOT, *_FABRIC, *_NO_NODES, _NO_FABRIC),
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
        signatures=(
            *(*NO_GPU, *GONE, NO_GPU_PERHAPS, _TORCHS_CUDA, *OF_NONE),
            *(_ANSWERED, _COUNTING, _NO_NVML, _FOUND, _CPU_BUILD, _NO_CUDA, *_REPORT),
        ),
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
)
