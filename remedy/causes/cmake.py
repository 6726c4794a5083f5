"""What CMake says of a part of CUDA that a project requires and that is not there, and of a list of GPU targets.

FindPackageHandleStandardArgs names a package and those of its variables that are empty; find_library and its kin with
REQUIRED (CMake 3.18 and later) name one variable; a target that is linked by its name names itself. Behind ``-- ``
stands what the project can do without.
"""

from __future__ import annotations

from remedy.causes.case import Case, Hit
from remedy.causes.entry import Signature
from remedy.hints import Final

_EMPTY: Final = (
    r"^(?!-- ).*Could NOT find (?:CUDA\w*|[Cc][Uu]DNN\w*|NCCL|NV(?:TX|ML|SHMEM)\w*|(?i:cutensor|cusparselt|cudss|cub)"
    # the toolkit's libraries under the names that projects give them (Kokkos and Trilinos: TPLCUBLAS)
    r"|CUPTI|(?i:(?:TPL)?cu(?:BLAS|FFT|RAND|SOLVER|SPARSE))\w*)\b.{0,120}\(missing: [^)]*"
)
_SOUGHT: Final = r"^(?!-- ).*Could not find (?i:\w*(?:CUDA|CUDNN|NCCL|NVTX)\w*)"

#: No compiler, or no root to look below.
NO_NVCC: Final = (
    Signature("Could NOT find CUDA", _EMPTY + r"(?:NVCC|TOOLKIT_ROOT|CUDA_COMPILER)"),
    Signature("using the following names: nvcc"),
    # the value of what was sought and not found, put where the compiler should stand
    Signature("NOTFOUND", r"\b(?:CMAKE_CUDA_COMPILER|CUDA_NVCC_EXECUTABLE)-NOTFOUND"),
)
_NO_CUDA_COMPILER: Final = Signature("No CMAKE_CUDA_COMPILER could be found", weak=True)
_UNSET: Final = Signature(
    "not set, after EnableLanguage", r"CMAKE_(?P<language>C|CXX|CUDA)_COMPILER not set", weak=True
)
# CMake before 3.8 has no module for the language, whatever compiler there is.
_NO_LANGUAGE: Final = Signature("ould not find cmake module file", r"module file: \S*CMake\w*CUDA\w*\.cmake", weak=True)
# Without it no language is enabled: none of the compilers was looked for.
_NO_BUILD_PROGRAM: Final = Signature("nable to find a build program", weak=True)
_NO_HOST_COMPILER: Final = Signature("COMPILER could be found", r"No CMAKE_C(?:XX)?_COMPILER could", weak=True)
UNSET: Final = (_NO_CUDA_COMPILER, _NO_HOST_COMPILER, _UNSET, _NO_LANGUAGE, _NO_BUILD_PROGRAM)
NO_HEADER: Final = (
    Signature("Could NOT find ", _EMPTY + r"INCLUDE", needs="missing: "),
    Signature("using the following files", _SOUGHT + r" using the following files?: (?P<header>[\w/.]+)"),
)
#: FindCUDAToolkit's status, after which a target is not made; a project that does not link it goes on.
NO_MATH_HEADER: Final = Signature("nable to find cublas_v2.h in either")
NO_LIBRARY: Final = (
    Signature("Could NOT find ", _EMPTY + r"(?:LIBRAR|CUDART)", needs="missing: "),
    Signature("using the following names", _SOUGHT + r" using the following names: (?P<library>(?!nvcc)[\w.]+)"),
    Signature("but the target was not found", r"\"CUDA::(?P<library>\w+)\" but the target was not found"),
)
#: CMAKE_CUDA_ARCHITECTURES, or a target's own list: nothing in it, or what fails where a compile without it works.
NO_TARGET: Final = (
    Signature("CUDA_ARCHITECTURES", r"CUDA_ARCHITECTURES (?:is empty for target|must be non-empty)"),
    Signature("do not all work with this compiler.  Try:"),
)
#: The target's name on a line of its own, above the words that tell what is the matter with it.
_TARGET: Final = Signature("CUDA::", r"^\s*CUDA::(?P<library>\w+)$", weak=True)
_TARGET_LACKS: Final = Signature("but the target was not found", weak=True)
UNKNOWN_TARGET: Final = (_TARGET, _TARGET_LACKS)


def without_nvcc(case: Case) -> tuple[Hit, ...]:
    """What says that CUDA's compiler was looked for and not found; where C or C++ have none, it was not looked for."""
    if case.has(_NO_LANGUAGE):
        return ()
    unset = () if without_host_compiler(case) else _unset(case, "CUDA")
    return case.hits(_NO_CUDA_COMPILER) + unset


def without_host_compiler(case: Case) -> tuple[Hit, ...]:
    """The same of the compilers for C and C++."""
    return case.hits(_NO_HOST_COMPILER) + _unset(case, "C", "CXX")


def _unset(case: Case, *languages: str) -> tuple[Hit, ...]:
    if case.has(_NO_BUILD_PROGRAM):
        return ()
    return tuple(hit for hit in case.hits(_UNSET) if hit.groups["language"] in languages)


def unknown_targets(case: Case) -> tuple[Hit, ...]:
    """CUDA's libraries that a project links by target, and that the toolkit found does not bring."""
    return case.hits(_TARGET) if case.has(_TARGET_LACKS) else ()
