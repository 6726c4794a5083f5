"""Lines that more than one cause has an opinion on: the same words, opposite mends."""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.causes.launched import by_builder, by_launcher
from remedy.hints import Final

# FlashInfer, flashinfer/jit/core.py and compilation_context.py: the set of target architectures is empty.
EMPTY_ARCHS: Final = (
    Signature("FlashInfer requires", r"FlashInfer requires (?:GPUs with )?sm75", weak=True, library="flashinfer"),
    Signature(
        "No supported CUDA architectures found for major",
        r"major versions \[(?P<majors>[\d, ]*)\]",
        weak=True,
        library="flashinfer",
    ),
)
# Why FlashInfer's set of targets is empty, where it is not the compiler's release.
#: What ``remedy check`` says where it stops a start: it names the cause itself; and systemd of a command of
#: ExecStartPre= that failed, behind which the program never ran.
CHECKED: Final = Signature("remedy diagnose ", r"\((?P<id>[a-z]+(?:-[a-z]+)+)\); .{0,80}\bremedy diagnose ")
NEVER_STARTED: Final = Signature("ontrol process exited", weak=True)
#: uvicorn, of a server that was up or came to nothing.
SHUT_DOWN: Final = Signature("pplication shutdown complete", weak=True)
#: A program that does without what it was refused says so next.
FELL_BACK: Final = any_of(
    "alling back", "alls back", "ell back", "allback to", "elying on", "oing on without", "ontinuing without",
    "ailed to create CUDAExecutionProvider",
    pattern="", weak=True,
)  # fmt: skip
#: A module that a program looks for and can do without.
NOT_IMPORTED: Final = Signature("ailed to import", weak=True)
#: A notice whose writer goes on without what is missing is no failure.
GOES_ON: Final = (
    r"(?!.*(?:[Ff]all|[Uu]sing|[Tt]rying|[Ss]kip|[Ii]gnor|[Ii]nstead|[Dd]isabl|CPU[- ](?:mode|only)|will not be))"
)
SWALLOWED: Final = Signature("Failed to get device capability", r"device capability: (?!SM ?\d)\S", weak=True)
# FlashInfer 0.6.7 and later: the compiler's release is under the GPU's floor. A warning, swallowed by its caller.
CUDA_FLOOR: Final = Signature(
    "requires CUDA >=", r"SM ?(?P<cc>[\d.]+x?\+?) requires CUDA >= ?(?P<needed>\d+\.\d+)", library="flashinfer"
)
# nvcc's refusal of a target: named by -gencode, or by -arch.
UNSUPPORTED_ARCH: Final = (
    *any_of(
        "nsupported gpu architecture",
        "nsupported GPU architecture",
        # whoever writes of it in Markdown may lose the underscore
        pattern=r"nsupported (?:gpu|GPU) architecture (?P<open>')?(?:compute|sm|lto)_?"
        r"(?P<arch>(?(open)[^']*|[\w.+-]*))(?P<close>')?",
    ),
    # build scripts, which ask nvcc for its list first; candle's among them
    *any_of(
        "arch",
        "sm_",
        "compute_",
        pattern=r"nvcc\S*(?: v?\d[\d.]*)? (?:cannot|can't|does not|doesn't) (?:target|compile for|support)"
        r" (?:gpu arch |CUDA architecture |sm_|compute_)(?P<arch>\d+[af]?)\b",
        needs="nvcc",
    ),
    Signature(
        "is not defined for option",
        r"nvcc\b.*Value '(?:sm|compute)_(?P<arch>\w+)' is not defined for option 'gpu-(?:architecture|code)'",
    ),
)
# ptxas' own.
UNDEFINED_VALUE: Final = Signature(
    "is not defined for option",
    r"^(?!.*\bnvcc fatal).*Value '(?:sm|compute)_(?P<arch>\w+)' is not defined for option '(?P<option>[\w-]+)'",
)
# NVRTC's refusal names no target; CuPy prints the options beside it.
NVRTC_TARGET: Final = Signature("invalid value for --gpu-architecture", r"nvrtc: error: invalid value", weak=True)
NVRTC_ASKED: Final = Signature("-arch=", r"-arch=(?:compute|sm)_(?P<asked>\d+)", weak=True)
# CuPy loads the toolkit's NVRTC, torch brings its own.
NVRTC_OF_TOOLKIT: Final = any_of(
    "cupy", "NVRTC", "CompileException", pattern=r"\bcupy\b|NVRTC_ERROR_INVALID_OPTION|CompileException", weak=True
)
NVRTC: Final = (NVRTC_TARGET, NVRTC_ASKED, *NVRTC_OF_TOOLKIT)
# A run of nvcc as ninja and tracebacks print it: the compiler in use, and what it was asked for.
NVCC_RUN: Final = Signature(
    "nvcc", r"(?:^|[\s'\"\[,=])(?P<nvcc>[^\s'\",\[\]]*/bin/nvcc)(?=[\s'\",\]]|$)(?:(?!.*not found)|.*)", weak=True
)
NVCC_RELEASE: Final = Signature("release", r"release (?P<release>\d+\.\d+), V\d+\.\d+", weak=True)
# distutils up to Python 3.8, and setuptools of its years; later ones say "exit code".
OLD_DISTUTILS: Final = Signature("failed with exit status", r"command '[^']*nvcc' failed with exit status", weak=True)
# The program behind nvcc, ninja, a host compiler could not be started: the path tells which fault it is.
SHELL_NOT_FOUND: Final = Signature(
    "nvcc",
    # behind a line number the shell's own words follow, in whatever language
    # bash that was started for a command names itself by its path, or what it looked for has one: nobody types that
    r"(?:^|(?:\b|/\w{1,3}|^\w{1,3}(?=sh: (?:[^:]{1,12}: )?/))sh: "
    r"(?P<at>(?:[^\s:\d]{1,12} ?)?\d+(?: ?[^\s:\d]{1,8})?: )?)(?P<program>\S*nvcc): "
    r"(?(at)\S|(?:command )?(?:not found|Permission denied|No such|.{0,20}(?:未找到|没有那个文件)))",
)
NVCC_MISSING: Final = (
    Signature(
        "nvcc",
        r"(?:No such file or directory|Not a directory|Permission denied)[^\w/'\":$~]*:"
        r" ?['\"](?P<program>[^'\"]*nvcc)['\"]",
    ),
    # quotes that a unit's variable kept
    Signature("nvcc'", r": '(?P<program>\"[^']*nvcc)'"),
    # errno is a number in every language: ENOENT, EACCES, ENOTDIR
    Signature("nvcc", r"\[Errno (?:2|13|20)\] [^:'\"]{2,80}: ['\"](?P<program>[^'\"]*nvcc)['\"]"),
    # a quoted command with its arguments, then what the system said of it
    Signature("nvcc", r"['\"](?P<program>[^'\"\s]*nvcc)\b[^'\"]*['\"]: (?:\[Errno (?:2|13|20)\]|No such file)"),
    # Rust's and Node's words
    *any_of(
        "Os { code: ",
        "(os error ",
        pattern=r"[`'\"](?P<program>[^`'\"\s]*nvcc)\b[^`'\"]{0,20}[`'\"]?:? .{0,60}"
        r"(?:Os \{ code: |\(os error )(?:2|13|20)\b",
        needs="nvcc",
    ),
    Signature("s `nvcc` ", r"Is `(?P<program>nvcc)` (?:not )?installed"),
    Signature("nvcc E", r"spawn (?P<program>\S*nvcc) E(?:NOENT|ACCES)"),
    # Go's words, env's, and a command that a shell was given
    *by_launcher(r"(?:\S*/)?nvcc"),
    *by_builder(r"(?:\S*/)?nvcc"),
    # which runc repeats in quotes of its own
    Signature("executable file not found", r"exec: \\?\"(?P<program>(?:\S*/)?nvcc)\\?\": "),
    Signature("env: ", r"env: ['\"]?(?P<program>(?:\S*/)?nvcc)['\"]?: No such file"),
    Signature("exit status 127", r"Command '(?P<program>\S*nvcc)\b[^']*' returned non-zero"),
    # distutils quotes the command, and a quoted CUDA_HOME within it
    Signature("nvcc", r"(?:execute|command) [\"']?(?P<program>\S*nvcc)[\"']?(?:\"|')?(?: failed)?: No such file"),
    Signature("nvcc' failed: ", r"command '[^']* [^']*[/\\](?P<program>nvcc)' failed: No such file"),
)
#: The programs of a build, whose absence is a cause of its own.
BUILD_PROGRAM: Final = r"(?:\S*/)?(?:nvcc|ninja|(?:[\w.-]+-)?(?:gcc|g\+\+|c\+\+|cc|clang\+\+|clang)(?:-\d+)?)"
# A program that is looked for on PATH, and is not there; a name with a slash or an extension is a file's.
NOT_ON_PATH: Final = any_of(
    "No such file or directory: '",
    "[Errno 2]",
    "not found",
    pattern=r"(?:No such file or directory|\[Errno 2\] [^:'\"]{2,80}): '(?P<missing>[\w+-]+)'"
    r"|sh: (?:line )?(?:\d+: )?(?P<missing2>[\w+-]+): (?:command )?not found"
    r"|exec: \\?\"(?P<missing3>[\w+-]+)\\?\": executable file not found in \$PATH",
    weak=True,
)
NINJA_127: Final = any_of(
    "exit", "code=", pattern=r"(?:exit(?:ed)? (?:status|with status|code)[: ]+|code=)127\b", weak=True, needs="127"
)
# Wrappers: a build failed, nothing more.
BUILD_FAILED: Final = (
    # a build that was interrupted has not failed
    Signature("ninja: build stopped", r"build stopped(?!: interrupted)", weak=True),
    Signature("Ninja build failed", weak=True, library="flashinfer"),
    Signature("'ninja'", r"Command '\['ninja'", weak=True),
    Signature("ninja exited with status", weak=True, library="tvm-ffi"),
    # torch raises both where ninja failed: the first for load(), the second for setup.py.
    Signature("Error building extension", weak=True, library="torch"),
    Signature("Error compiling objects for extension", weak=True, library="torch"),
    Signature("FAILED: ", r"FAILED: (?:\[code=\d+\] )?\S+\.(?:o|so)\b", weak=True),
    Signature("NVCC compilation failed", weak=True, library="deep-gemm"),
    Signature("Failed to build JIT module", weak=True, library="sglang"),
)
# The host compiler's own complaint of a source file of its own: no nvcc had a part in that.
HOST_ERROR: Final = any_of(".cpp:", ".cc:", ".cxx:", pattern=r"\.(?:cpp|cc|cxx):\d+:\d+: error: ", weak=True)
# A header of another library, by the folder that it is included from: no toolkit brings it.
OTHERS_HEADER: Final = Signature(
    "fatal error: ",
    r"fatal error: (?!(?:cu(?!te/|tlass/)|nv|thrust|crt/|cooperative_groups|mma)[^:]*:)\w[\w.-]*/[\w./-]+: ",
    weak=True,
)
# Sources that ask another library for what this release of it has not, or not like that.
OTHERS_API: Final = Signature(
    "error: ", r"\): error: (?:.*\b(?:at|c10|torch)::\w|namespace \"(?:cutlass|cute)\b)", weak=True, needs="::"
)
# Names of torch's and TVM-FFI's own headers, of which another release has what these sources ask for.
OTHERS_NAME: Final = any_of(
    "is undefined",
    "was not declared in this scope",
    pattern=r"(?:identifier \"|['‘])(?:AT|C10|TORCH|THC?|THCuda|TVM_FFI|PYBIND11)(?:_[A-Z]|[A-Z][a-z])\w*(?:\"|['’])",
    weak=True,
)
# A part of the compiler crashed on these sources; one that was killed by 9 had no memory.
COMPILER_CRASHED: Final = (
    *any_of(
        "died due to signal",
        "died with status",
        "internal compiler error",
        pattern=r"died due to signal (?!9\b)|died with status 0x|internal compiler error: ",
        weak=True,
    ),
    # SIGSEGV of a process that the shell or ninja ran, in words and as 128 + 11
    Signature("Segmentation fault", weak=True),
    *any_of("code=", "status ", pattern=r"(?:FAILED: \[code=|exited with status )139\b", weak=True, needs="139"),
)
# Options that nvcc learned after CUDA 10.1 (CUDA Compiler Driver NVCC, and `nvcc --help` of 11.8 to 13.0). Any other
# unknown option is the host compiler's, passed on by mistake: no nvcc would take it.
NEWER_OPTION: Final = (
    r"'?-{0,2}(?:generate-dependencies-with-compile|generate-nonsystem-dependencies\S*|MMD?|MP|MT|MF|dependency-output"
    r"|forward-unknown-[\w-]+|extended-lambda|threads|t|dlink-time-opt|dlto|gen-opt-lto|lto|allow-unsupported-compiler"
    r"|Wext-lambda-captures-this|diag-(?:suppress|error|warn)|brief-diagnostics|optimization-info|list-gpu-(?:arch|code)"
    r"|minimal|arch-list|split-compile(?:-extended)?|relocatable-ptx|compress-(?:mode|all)|static-global-template-stub"
    r"|device-entity-has-hidden-visibility|jump-table-density|fdevice-(?:time-trace|syntax-only)"
    r"|device-stack-protector|std|Ofast-compile|Ofc|frandom-seed|jobserver)(?:[=' ]|$)"
)
HOST_OPTION: Final = Signature("nvcc fatal", r"nvcc fatal\s*: Unknown option (?!" + NEWER_OPTION + ")", weak=True)
# Python's words for a value that was to be a path or a version, and is None: of which, the line above them says.
OF_NONE: Final = any_of(
    "TypeError: ",
    "AttributeError: 'NoneType'",
    pattern=r"unsupported operand type\(s\) for \+: 'NoneType' and 'str'|os\.PathLike object, not '?NoneType"
    r"|'NoneType' object has no attribute '(?:split|replace)'|'NoneType' object is not subscriptable"
    r"|expected string or bytes-like object",
    weak=True,
)
# A kernel that wants more of the GPU than it has.
OVERSIZED: Final = any_of(
    "uses too much",
    "with register count",
    pattern=r"Entry function .* uses too much|allocation failed with register count",
    weak=True,
)
# What ninja itself stops of, before it runs a command (src/ninja.cc, build.cc, manifest_parser.cc): no compiler's word.
_NINJA_ITSELF: Final = Signature("ninja: ", r"^ninja: (?:error|fatal): ", weak=True)
#: Lines of a build that failed which say why, and that it was no matter of this machine's toolkit.
TOLD_WHY: Final = (OTHERS_HEADER, OTHERS_API, *OTHERS_NAME, HOST_OPTION, *OVERSIZED, *COMPILER_CRASHED, _NINJA_ITSELF)
# A build that ran ROCm's compiler, by the command or the rule of ninja: who only looks for it, as those do that ask for
# every make of GPU in turn, names it as well.
HIPCC: Final = Signature(
    "hipcc",
    r"(?:^|[\s'\"\[])(?P<hipcc>[^\s'\"\[]*hipcc)(?:['\"]?,? +['\"]?-{1,2}\w|['\"]? failed)|= ?(?P<named>\S*hipcc)$",
)
# An exception that got out: who only waits raises none.
RAISED: Final = Signature("Traceback (most recent call last)", weak=True)
# Signs that a JIT build or a JIT-built module is at work in this log.
JIT_AT_WORK: Final = (
    Signature("flashinfer/jit", weak=True, library="flashinfer"),
    Signature("cached_ops", weak=True, library="flashinfer"),
    Signature("torch_extensions", weak=True, library="torch"),
    Signature("tvm-ffi", weak=True, library="tvm-ffi"),
    Signature("jit_kernel", weak=True, library="sglang"),
    Signature("deep_gemm", weak=True, library="deep-gemm"),
    Signature("cpp_extension.py", weak=True, library="torch"),
    Signature("tilelang", weak=True, library="tilelang"),
)
# Triton's word for any failure of its ptxas
TRITON_CODEGEN: Final = Signature("Internal Triton PTX", weak=True, library="triton")
TRITON_AT_WORK: Final = (
    Signature("triton", weak=True, library="triton"),
    Signature("inductor", weak=True, library="inductor"),
    Signature("PTXASError", weak=True, library="triton"),
    TRITON_CODEGEN,
)
PERMISSION: Final = (
    Signature("[Errno 13]", r"\[Errno 13\] [^:'\"/]{2,60}: ['\"](?P<path>[/~.][^'\"]*)"),
    *any_of(
        "ermission denied",
        "ermission Denied",
        # a line that ends in the colon goes on in the next one
        pattern=r"[Pp]ermission [Dd]enied(?:[^'\"/]{0,20}['\"]?(?P<path>[/~.][^'\",;]*[^'\",;:\s])|(?!: *$))",
    ),
    # Windows, in its own language
    Signature("[WinError 5]", r"\[WinError 5\] [^:'\"]{2,60}: ?['\"](?P<path>[^'\"]+)"),
    *any_of(
        ": permission denied",
        ": Permission denied",
        pattern=r"['\" ](?P<path>[/.~][^\s:'\"]{0,300})['\"]?: [Pp]ermission denied(?!: ?['\"]?/)",
    ),
)
READ_ONLY: Final = Signature(
    "ead-only file system",
    r"(?:(?P<path>/[^\s:'\"]{1,300})['\"]?: )?[Rr]ead-only file system(?:[^'\"/]{0,20}['\"]?(?P<path2>/[^'\",;:\s]+))?",
)


def answered(*answers: int | str) -> tuple[Signature, ...]:
    """Lines that give the driver's first answer to a program by its number or name (cuda.h, CUresult)."""
    said = "|".join(map(str, answers))
    return any_of(
        *("cuInit", "init failure: ", "cudaGetDeviceCount returned", "get device context "),
        pattern=rf"(?:\bcuInit\b(?:\(0?\))?\D{{1,40}}?\b|init failure: |cudaGetDeviceCount returned )(?:{said})\b"
        # ollama prints it without an end of line
        rf"|get device context (?:{said})(?!\d)",
    )


# torch, whose CUDA finds no driver at all: none installed, or none loaded yet
NO_DRIVER: Final = Signature("Found no NVIDIA driver on your system")
NO_GPU: Final = (
    Signature("No CUDA GPUs are available"),
    # torch for another maker's GPUs
    Signature("No HIP GPUs are available"),
    Signature("No XPU devices are available"),
    Signature("no CUDA-capable device is detected"),
    Signature("cudaErrorNoDevice"),
    Signature("CUDA_ERROR_NO_DEVICE"),
)
# torch, when it first looks for the GPUs
OLD_DRIVER: Final = Signature("river on your system is too old", r"too old \(found version (?P<found>\d+)\)|too old")


UNSUPPORTED_PTX: Final = Signature(
    "unsupported toolchain", r"PTX was compiled with an unsupported toolchain|unsupported toolchain"
)
UNSUPPORTED_PTX_CODE: Final = (
    Signature("UnsupportedPtxVersion", weak=True),
    Signature("UNSUPPORTED_PTX_VERSION", weak=True),
)
# ptxas as part of the driver (cuLinkAddData) or of nvJitLink: what it does not know came from a newer CUDA.
JIT_LINKER: Final = Signature(
    "ptxas application ptx input", r"Unsupported \.version (?P<wanted>\d+\.\d+); current version is '(?P<isa>\d+\.\d+)'"
)
#: Not the ptxas within the driver or nvJitLink, which calls its input so.
OLD_PTX_ISA: Final = Signature(
    "Unsupported .version",
    r"^(?!.*application ptx input).*Unsupported \.version (?P<wanted>\d+\.\d+); current version is '(?P<isa>\d+\.\d+)'",
    weak=True,
)
NVJITLINK: Final = Signature("NVJITLINK_ERROR", weak=True)
# nvcc and NVRTC count the errors of their own: what could not be compiled can't be loaded either.
SOURCE_ERRORS: Final = Signature("detected in the compilation of", r"errors? detected in the compilation of", weak=True)
NO_KERNEL_IMAGE: Final = Signature("no kernel image is available")
CACHED_ARCH: Final = Signature(
    "cached_ops",
    r"flashinfer/(?:[\d.]+(?:post|rc|dev)?\d*/)?(?P<archs>\d{2,3}[af]?(?:_\d{2,3}[af]?)*)/cached_ops",
    weak=True,
)
# huggingface_hub, for models and for the kernels that are fetched like them
HUB_UNREACHED: Final = (
    Signature("LocalEntryNotFoundError"),
    Signature("OfflineModeIsEnabled"),
    Signature("offline mode is enabled", r"Cannot reach \S+: offline mode is enabled"),
    Signature("happened while trying to locate the file"),
    Signature("outgoing traffic has been disabled"),
)
INSUFFICIENT_DRIVER: Final = Signature("driver version is insufficient", r"CUDA driver version is insufficient")
# A .so that is not there, or is there and does not fit.
SHARED_OBJECT: Final = Signature(
    "cannot open shared object",
    r"(?P<lib>lib[\w+.-]*\.so[.\d]*|[\w.-]+\.so[.\d]*)(?: \(deleted\))?: cannot open shared object"
    r"(?! file: Permission)",
)
# ld.so writes a colon, who retypes its line often none: then only a name that can't be prose counts. A name in marks
# of emphasis or quotation may have lost its leading underscore to them.
UNDEFINED_SYMBOL: Final = Signature(
    # (Warp's of a name in a kernel's source is none of a loader's)
    "undefined symbol",
    r"(?<!Referencing )undefined symbol(?:: [*`'\"]*| (?=_Z|cu[A-Z]))(?P<symbol>\w+)",
)
# Triton's table of PTX versions ends before the release of the ptxas that it was given (NVIDIA's backend, compiler.py).
LATER_PTXAS: Final = Signature(
    "Triton only support CUDA", r"support CUDA.*got CUDA version: (?P<have>[1-9]\d[\d.]*)", library="triton"
)
# The kernel's last line of a report, and up to Linux 5.0 also the one that says whom it chose.
OUT_OF_MEMORY_KILL: Final = any_of(
    "Killed process", "Kill process", pattern=r"Kill(?:ed)? process (?P<pid>\d+),? \((?P<victim>[^)]*)\)"
)
TIMED_OUT: Final = any_of(
    "operation timed out",
    "State 'start",
    "Timed out starting ",
    pattern=r"(?:(?P<unit>[\w@.:\\-]+\.service): )?(?:[Ss]tart(?:-pre|-post)? operation timed out"
    r"|State 'start\S*' timed out)|^Timed out starting (?:\S+\.service\b|.*\.$)",
)
# A module of a JIT cache, as loaders and tracebacks name it.
CACHED_MODULE: Final = any_of(
    "cached_ops",
    "torch_extensions",
    "tvm-ffi",
    pattern=r"[\"' ]\S*(?:cached_ops|torch_extensions|/tvm-ffi)/\S*\.so(?=[\"':\s]|$)",
    weak=True,
)

# The command that shows a unit as it was written.
SHOW: Final = "systemctl cat {unit}"
