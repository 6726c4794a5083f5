"""What the machine must bring besides CUDA: a host compiler, Python's headers, ninja, a C library that CUDA knows."""

from __future__ import annotations

import re

from remedy.causes import cmake, reading, rules, windows
from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.launched import by_builder, by_launcher
from remedy.causes.shared import BUILD_FAILED, GOES_ON, HIPCC, NVCC_RUN
from remedy.hints import Final

_COMPILER: Final = r"(?:[\w.-]+-)?(?:gcc|g\+\+|c\+\+|cc|clang\+\+|clang)(?:-\d[\d.]*)?"

_NO_COMPILER: Final = (
    Signature("Failed to find C compiler", library="triton"),
    Signature("Failed to find C++ compiler", library="triton"),
    Signature("No working C++ compiler found", library="inductor"),
    Signature("InvalidCxxCompiler", library="inductor"),
    Signature(
        "cc1plus",
        r"cannot execute ['‘`\"]?cc1plus|cc1plus['’\"]?: (?:execvp: )?No such file|cc1plus: not found"
        r"|cc1plus.{1,40}execvp:",
    ),
    # assembler and linker, and the C library's own parts, come with the compiler's package
    Signature("cannot execute 'as'"),
    Signature("trying to exec", r"trying to exec ['‘`\"](?:as|ld|cc1|collect2)\b"),
    Signature("cannot find 'ld'"),
    Signature("unable to execute '", r"unable to execute '" + _COMPILER + r"': No such"),
    Signature("unable to execute command", r'unable to execute command: Executable "(?:ld|as)\b'),
    Signature("cannot find ", r"cannot find (?:-l(?:stdc\+\+|c|m|gcc|gcc_s)(?![\w+.-])|S?crt[1in]\.o|crtbegin\w*\.o)"),
    Signature(
        "fatal error: ",
        r"fatal error: (?:std(?:io|lib|def|int)|math|limits|assert|string|features|errno|bits/[\w-]+|sys/cdefs)\.h: \S",
    ),
    Signature("o host compiler ", r"[Nn]o host compiler (?:was )?(?:specified|found)"),
    Signature("Compiler: ", r"Compiler: (?P<compiler>\S+) is not found", library="inductor"),
    *any_of(
        "requires a C",
        "needs a C",
        pattern=r"(?:requires|needs) a C(?:\+\+|99|11)? compiler\b(?! (?:that|which|with))" + GOES_ON,
    ),
    Signature("Failed to preprocess host compiler properties"),
    Signature(
        "not found", r"(?:(?:^|/)[\w.+-]+: (?:line )?\d+: |sh: )(?:\S*/)?" + _COMPILER + r": (?:command )?not found"
    ),
    Signature("No such file or directory: ", r"No such file or directory: ['\"](?:\S*/)?" + _COMPILER + r"['\"]"),
    Signature("No such file or directory", r"command ['\"‘](?:\S*/)?" + _COMPILER + r"['\"’] failed: No such file"),
    Signature("No such file or directory", r"^(?:\S*/)?" + _COMPILER + r": No such file or directory"),
    Signature(
        "hecking compiler version for",
        r"Error checking compiler version for (?P<compiler>\S+): .*(?:No such|not found)",
    ),
    Signature("no acceptable C compiler found"),
    Signature("o C++ compiler", r"[Nn]o C\+\+ compiler (?:found|available)|Could not find (?:a )?C\+\+ compiler"),
    Signature("compiler not found", r"(?:\bC|C\+\+|[Hh]ost) compiler not found" + GOES_ON),
    # scripts that look for it before they build
    Signature(" not found", r"(?:^|[:\]✗❌] )" + _COMPILER + r"(?:/" + _COMPILER + r")? not found\b" + GOES_ON),
    Signature(
        "ompiler",
        r"Could not find (?:a suitable )?(?:C|host) compiler|[Cc]ompiler .{0,20}not found in PATH"
        r"|clang: No such file|No C compiler found",
    ),
    *windows.NO_COMPILER,
    *by_launcher(r"(?:\S*/)?" + _COMPILER),
    *by_builder(r"(?:\S*/)?" + _COMPILER),
    Signature("linker `", r"linker `(?:\S*/)?" + _COMPILER + "` not found"),
    Signature("Cannot find compiler", r"Cannot find compiler '(?P<compiler>[^']+)' in PATH"),
    Signature("executable file not found", r"exec: \\?\"(?:\S*/)?" + _COMPILER + r"\\?\": "),
    Signature("env: ", r"env: ['\"]?(?:\S*/)?" + _COMPILER + r"['\"]?: No such file"),
    # CMake, of a path that is none or was not found
    *any_of("The CMAKE_C_COMPILER:", "The CMAKE_CXX_COMPILER:", pattern=r"The CMAKE_C(?:XX)?_COMPILER:"),
    Signature("ompiler set in environment variable", r"variable (?:CC|CXX|CUDAHOSTCXX):"),
    Signature('the environment variable "C', r"variable \"C(?:C|XX)\""),
)


def _missing(case: Case) -> Claim | None:
    return claim_from(case.hits(*_NO_COMPILER) + cmake.without_host_compiler(case))


_UNSUPPORTED: Final = (
    Signature(
        "nsupported GNU version", r"versions? later than (?P<highest>\d+) are not supported|nsupported GNU version"
    ),
    # the line alone where a mail or a terminal wrapped it, and what CUDA wrote up to 5.0
    Signature("GNU version! gcc"),
    Signature("Host compiler targets unsupported OS"),
    Signature("nsupported clang version"),
    *windows.UNSUPPORTED,
    # the rest of nvcc's list (crt/host_config.h)
    Signature("nsupported ", r"nsupported (?:NVHPC compiler|pgc\+\+ config|ICC config|XLC|Microsoft Visual Studio)"),
    Signature("host compiler found", r"[Nn]o supported (?:gcc/g\+\+ )?host compiler found"),
    Signature("is greater than the maximum required version by CUDA", r"\((?P<gcc>[\d.]+)\) is greater than"),
    Signature("is less than the minimum required version by CUDA", r"\((?P<gcc>[\d.]+)\) is less than"),
    # what nvcc's front end makes of a libstdc++ that is newer than it, as the host compiler then reads it
    *any_of(
        "parameter packs not expanded",
        "argument pack lengths",
        "wrong number of template arguments",
        "internal compiler error",
        pattern=r"/c\+\+/\d[\d.]*/\S+:\d+:\d+: (?:internal compiler error|error: (?:parameter packs not expanded"
        r"|mismatched argument pack lengths|wrong number of template arguments))|std_function\.h.*parameter packs",
    ),
    Signature("cannot call member function", r"/c\+\+/\d\S+:\d+:\d+: error: .*_M_set_sharable"),
    # in these headers no type of the caller's is dereferenced
    Signature(
        "invalid type argument of unary", r"/c\+\+/\d[\d.]*/(?:bits/)?locale\S*:\d+:\d+: error: invalid type argument"
    ),
    Signature(
        "nrecognized command line option", r"unrecognized command[- ]line option [‘'\"`]-(?:std=c\+\+\w+|fconcepts)"
    ),
    Signature("C++17 or later compatible compiler is required"),
    Signature("too old version of GCC", library="torch"),
    Signature("You need C++", r"You need C\+\+(?:17|20) to compile PyTorch|need C\+\+\d\d"),
    Signature(
        "_Float",
        r"(?:floatn|stdlib|math)\S*\(\d+\): error: (?:identifier|invalid).*_Float\d"
        r"|identifier \"_Float\d+x?\" is undefined",
    ),
    Signature("floatn", r"/floatn\S*\(\d+\): error: invalid combination of type specifiers"),
    Signature("/usr/lib/gcc/", r"/usr/lib/gcc/\S+/include/\S+\(\d+\): error: (?:identifier|argument|invalid)"),
    Signature("is undefined", r"/c\+\+/\d+/\S+\(\d+\): error: identifier \"__\w+\" is undefined"),
    # gcc's own, which its headers of later processors call
    Signature("__builtin_ia32_", r"identifier \"__builtin_ia32_\w+\" is undefined"),
    Signature(
        "error: ", r"/c\+\+/\d[\d.]*/\S+\(\d+\): error: (?:type name is not allowed|expected an? )", needs="/c++/"
    ),
    Signature(
        "fatal error: ",
        r"fatal error: (?:concepts|source_location|span|version|compare|charconv|filesystem|bit|ranges|format"
        r"|numbers): No such file",
    ),
    Signature(
        "host compiler",
        r"[Uu]nsupported host compiler|host compiler .{0,40}(?:is )?not supported"
        r"|no longer supported as a host compiler",
    ),
)


def _unsupported(case: Case) -> Claim | None:
    text = rules.gcc_too_new(case.facts)
    facts = (case.fact(text, "gcc"),) if text else ()
    hits = case.hits(*_UNSUPPORTED)
    if hits:
        return claim_from(hits, facts)
    failed = reading.unexplained_builds(case)
    return claim_from(failed, facts, certainty="likely", weight=Weight.NOTED) if failed and facts else None


_HIPCC_MISSING: Final = Signature("hipcc", r"hipcc: (?:command )?not found|No such file or directory: '\S*hipcc'")
# TVM-FFI's builder asks for AMD's compiler and GPUs once it has chosen that backend (tvm_ffi, cpp/extension.py).
_ROCM_ASKED: Final = (
    Signature("Could not detect ROCm GPU architecture automatically", library="tvm-ffi"),
    Signature("Could not find ROCm installation", library="tvm-ffi"),
)
_AMD: Final = r"(?i)\b(?:AMD|MI\d{2,3}|Radeon|Instinct|gfx\d)"


def _rocm(case: Case) -> Claim | None:
    gpu, facts = case.facts.gpu or "", case.facts
    known = (("GPU", gpu), ("nvcc", facts.nvcc), ("compute capability", facts.sm), ("NVIDIA driver", facts.driver))
    nvidia = [f"{name} {value if isinstance(value, str) else rules.dotted(value)}" for name, value in known if value]
    hits = case.hits(_HIPCC_MISSING) or (case.hits(HIPCC, *_ROCM_ASKED) if nvidia else ())
    if not hits or re.search(_AMD, gpu):
        return None
    return claim_from(hits, tuple(case.fact(text) for text in nvidia[:1]))


_MATH: Final = r"(?:cospi|sinpi|sincospi|rsqrt)f?\b"
_REDECLARED: Final = (
    Signature("previous function", r"previous function \"" + _MATH),
    Signature("exception specifi", r"exception specifi.{0,300}\b" + _MATH),
    Signature("exception specifi", _MATH + r".{0,300}exception specifi"),
    *any_of("mathcalls", "math_functions", pattern=r"(?:mathcalls|math_functions)\S*(?:\(\d+\))?:.{0,200}\b" + _MATH),
)
_REDECLARED_WEAK: Final = Signature("exception specification is incompatible", weak=True)


def _glibc(case: Case) -> Claim | None:
    text = rules.glibc_conflicts(case.facts)
    facts = (case.fact(text, "os"),) if text else ()
    hits = case.hits(*_REDECLARED)
    if hits:
        return claim_from(hits, facts)
    weak = case.hits(_REDECLARED_WEAK)
    return claim_from(weak, facts, certainty="likely", weight=Weight.DECISIVE) if weak else None


CAUSES: Final = (
    Cause(
        id="host-compiler-missing",
        title="no C or C++ compiler for nvcc, Triton or Inductor",
        handling="mend",
        mend="host-compiler",
        toolchain=True,
        rank=47,
        summary="A C or C++ compiler is needed to build kernels, and none is found on the service's PATH or in "
        "$CC/$CXX.",
        advice="`apt-get install g++` brings both; `remedy fix {unit}` does it with a preview.",
        judge=_missing,
        signatures=(*_NO_COMPILER, *cmake.UNSET),
        observable=True,
        page=Page(
            meaning="nvcc compiles host code with gcc/g++; Triton builds a small launcher with $CC, gcc or clang; "
            "Inductor needs g++. None was found.",
            origin="Slim container images and minimal servers have none. gcc without g++ gives `cannot execute "
            "'cc1plus'`. A conda toolkit relies on its activation script to name a compiler, which a unit never runs.",
            recognised="`Failed to find C compiler`, `No working C++ compiler found`, `cannot execute 'cc1plus'`, "
            "`Failed to preprocess host compiler properties`, `c++: not found`.",
            mending="The distribution's g++ package (it brings gcc), or CC and CXX set to one that is there.",
            avoid="CC=clang alone can break nvcc, which gets it as -ccbin.",
            sources=(
                "triton 3.0 to 3.9, runtime/build.py",
                "torch 2.6 to 2.15, _inductor/cpp_builder.py",
                "nvcc --help",
            ),
        ),
    ),
    Cause(
        id="host-compiler-unsupported",
        title="gcc is newer or older than this nvcc accepts",
        handling="mend",
        mend="host-compiler",
        toolchain=True,
        rank=48,
        known_by=rules.gcc_too_new,
        summary="This nvcc accepts gcc up to {highest}, and the one it finds is newer.||nvcc does not accept the host "
        "compiler that it finds.",
        advice="`remedy fix {unit}` takes a toolkit that accepts this gcc, or an older gcc through CC and CXX.",
        judge=_unsupported,
        signatures=(*_UNSUPPORTED, *BUILD_FAILED),
        page=Page(
            meaning="Each CUDA release was tested with host compilers up to a certain one, and refuses newer ones: gcc "
            "12 for CUDA 12.0 to 12.3, 13 for 12.4 to 12.6, 14 for 12.8 and 12.9, 15 for 13.0 to 13.3.",
            origin="A distribution upgrade, a conda environment with its own newest gcc first on PATH, or CC set to "
            "one. Too old a gcc fails on C++20 headers or `-std=c++20` instead.",
            recognised="`#error -- unsupported GNU version! gcc versions later than N are not supported!`; errors "
            "inside the compiler's own headers; `unrecognized command line option '-std=c++20'`.",
            mending="A toolkit that accepts the gcc, or an accepted gcc named in CC and CXX (nvcc gets CC as -ccbin "
            "from FlashInfer and torch; TVM-FFI takes the one on PATH).",
            avoid="-allow-unsupported-compiler may build kernels that fail at run time.",
            sources=("crt/host_config.h of CUDA 11.8 to 13.5", "flashinfer 0.2.6 to 0.7.4, jit/cpp_ext.py"),
        ),
    ),
    Cause(
        id="python-headers-missing",
        title="no Python.h for the service's interpreter",
        handling="mend",
        mend="python-headers",
        toolchain=True,
        rank=49,
        summary="The headers of the service's own Python are missing; a module can't be compiled without Python.h.",
        advice="Install them for that Python version, e.g. `apt-get install python3-dev`.",
        signatures=(
            Signature(
                "Python.h",
                r"Python\.h['\"]?(?:[:：]| file not found| was not found)|(?:open source file"
                r"|include) [\"<]Python\.h[\">]",
            ),
            Signature("pyconfig.h", r"[:：] ?(?:[\w./-]+/)?pyconfig\.h[:：]"),
            Signature("Could NOT find Python", r"missing: .*(?:Development|(?i:python)\w*_INCLUDE)"),
            # what links with the interpreter's own library, which comes with its headers
            *any_of(
                "-lpython3", "library 'python3", pattern=r"cannot find -lpython3[\d.]*|library 'python3\w*' not found"
            ),
            Signature("needed by", r"/libpython3[\w.]*\.(?:a|so)['’], needed by"),
            *windows.NO_PYTHON,
            # in whatever language; a sentence about what includes it tells of no lack
            Signature(
                "Python.h",
                r"(?i)(?:error|fehler|fatal|erreur|erro\b|ошибк|오류|错误|エラー|unable|annot|could not|не удается"
                r"|\bno\b|\bnot\b|missing|need).*Python\.h|Python\.h.*(?:\bnot\b|no such|missing|没有|install)",
            ),
        ),
        page=Page(
            meaning="Triton and torch compile small C modules against the interpreter that runs the service. They need "
            "that interpreter's Python.h.",
            origin="Distributions keep the headers in a package of their own (python3-dev, python3.12-dev). A virtual "
            "environment uses the headers of the Python it was made from.",
            recognised="`fatal error: Python.h` in any language; the -I path in the command above it tells the "
            "version.",
            mending="The -dev package of exactly that version. Pythons from uv or conda bring their headers.",
            avoid="python3-dev of another minor version doesn't help.",
            sources=("triton 3.0 to 3.9, runtime/build.py", "Python's sysconfig, get_path('include')"),
        ),
    ),
    Cause(
        id="ninja-missing",
        title="ninja is not on the unit's PATH",
        handling="mend",
        mend="ninja",
        toolchain=True,
        rank=47,
        summary="ninja, which drives the kernel builds, is not on the service's PATH.",
        advice="`remedy fix {unit}` puts the virtual environment's bin, where pip installs it, on the unit's PATH.",
        signatures=(
            Signature(
                "ninja'",
                r"(?:No such file or directory|Not a directory|Permission denied"
                r"|\[Errno (?:2|13|20)\] [^:'\"]{2,80}:).{0,4}['\"](?:[^'\"]*/)?ninja['\"]",
            ),
            Signature("Ninja is required to load C++", library="torch"),
            Signature(
                "ninja",
                r"(?:sh: (?:line )?\d+: |sh: |env: ['‘]?)(?:\S*/)?ninja['’]?: (?:command )?(?:not found|No such)",
            ),
            Signature("executable file not found", r"exec: \\?\"(?:\S*/)?ninja\\?\": "),
            *windows.by_shell("ninja"),
            *by_launcher(r"(?:\S*/)?ninja"),
            *by_builder(r"(?:\S*/)?ninja"),
            Signature("ninja (PATH) is missing", library="flashinfer"),
            Signature("ninja is required", r"ninja is required(?! to build sycl)", library="torch"),
            # CMake, of a program that a cache of an earlier run names
            Signature("ninja' '--version'"),
            Signature("'ninja', '--version'", r"\['ninja', '--version'\]'? returned non-zero"),
            Signature("'which', 'ninja'", r"\['which', 'ninja'\].*returned non-zero"),
            Signature("build program corresponding to", r"build program corresponding to \"Ninja"),
            # DeepSpeed reports on its ops with "JIT compiled ops requires ninja", and then says whether it is there
            Signature(
                "inja",
                # torch that builds without it says "we", and a warning prints its own source
                r"(?:(?:(?<!we )[Cc]ould not find|[Cc]annot find|[Uu]nable to find|(?<!ops )requires) ['\"`]?[Nn]inja\b"
                r"|(?<![\w.-])[Nn]inja (?:\([^()]{1,30}\) )?(?:is )?(?:not (?:being )?(?:found|installed)"
                r"|could not be found))" + GOES_ON + r"|(?:找不到|未找到)[^。，]{0,16}ninja\b",
            ),
        ),
        observable=True,
        page=Page(
            meaning="FlashInfer, torch's extensions, TVM-FFI and SGLang start `ninja` from PATH to compile kernels.",
            origin="pip puts ninja into the virtual environment's bin. In a shell that folder is on PATH, because the "
            "environment is activated; a unit that runs `/srv/venv/bin/python` by its path doesn't have it.",
            recognised="`FileNotFoundError: [Errno 2] No such file or directory: 'ninja'` or `Ninja is required to "
            "load C++ extensions`. `ninja: build stopped` means the opposite: it ran.",
            mending="The venv's bin on the unit's PATH, or the distribution's ninja-build.",
            sources=("flashinfer 0.2 to 0.7, jit/cpp_ext.py, run_ninja", "systemd.exec(5), PATH"),
        ),
    ),
    Cause(
        id="rocm-selected",
        title="the build ran AMD's compiler on an NVIDIA machine",
        handling="mend",
        mend="cuda-backend",
        toolchain=True,
        rank=39,
        summary="A kernel build chose ROCm's hipcc on a machine with NVIDIA GPUs.",
        advice="Set TVM_FFI_GPU_BACKEND=cuda in the unit; `remedy fix {unit}` does it.",
        judge=_rocm,
        signatures=(HIPCC, _HIPCC_MISSING, *_ROCM_ASKED, NVCC_RUN),
        observable=True,
        page=Page(
            meaning="TVM-FFI up to 0.1.12 builds for AMD as soon as any ROCm home is found, whatever GPU and torch are "
            "there.",
            origin="A folder /opt/rocm, left by a package or an image that serves both, is enough.",
            recognised="The compile command begins with hipcc and names `__HIP_PLATFORM_AMD__`, while the GPUs are "
            "NVIDIA's.",
            mending="TVM_FFI_GPU_BACKEND=cuda in the unit's environment, or TVM-FFI 0.1.15, which asks torch first.",
            sources=("apache-tvm-ffi 0.1.9 to 0.1.15, cpp/extension.py",),
        ),
    ),
    Cause(
        id="glibc-too-new",
        title="this C library is too new for the toolkit",
        handling="mend",
        mend="toolkit",
        toolchain=True,
        rank=46,
        known_by=rules.nvcc_fails_on_glibc,
        summary="glibc 2.41 and later declare cospi, sinpi and rsqrt otherwise than CUDA's headers up to 12.9: no .cu "
        "file compiles, whatever gcc is used.",
        advice="`remedy fix {unit}` brings a toolkit of CUDA 13 or later.",
        judge=_glibc,
        signatures=(*_REDECLARED, _REDECLARED_WEAK),
        observable=True,
        page=Page(
            meaning="Both the C library and CUDA's crt/math_functions.h declare cospi, sinpi and rsqrt. Since glibc "
            "2.41 the declarations differ in their exception specification, and nvcc stops.",
            origin="Debian 13, Ubuntu 25.04, Fedora 42 and rolling distributions with a CUDA 12 toolkit.",
            recognised='`exception specification is incompatible with that of previous function "cospi"` in '
            "bits/mathcalls.h.",
            mending="A CUDA 13 toolkit. Nothing in the unit can mend it.",
            avoid="Another gcc doesn't help: the conflict is between two headers. Patching math_functions.h is undone "
            "by the next package.",
            sources=("glibc 2.41 NEWS", "CUDA 12.9 and 13.0, crt/math_functions.h"),
        ),
    ),
)
