"""What Windows says of a part of a build that is not there: its shells, Microsoft's linker and compiler, and Python's
set-up of them.

Those that speak the user's language keep the code of a message (``LNK1104``) and the name that it is about.
"""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.hints import Final

_QUOTED: Final = r"['\"‘’“”«「]"


def by_shell(program: str) -> tuple[Signature, ...]:
    """For programs whose names match ``program``: cmd.exe, and PowerShell of what is no cmdlet either."""
    return any_of(
        "is not recognized as",
        "不是内部或外部命令",
        pattern=rf"(?:^|[\s'\"‘’]){program}(?:\.exe)?['\"‘’]? ?(?:is not recognized as|不是内部或外部命令)",
    )


def by_linker(library: str) -> tuple[Signature, ...]:
    """For libraries whose names, without their extension, match ``library``: LNK1104 of one that the compiler asked
    for, LNK1181 of one on the command line."""
    return any_of(
        "LNK1104", "LNK1181", pattern=rf"LNK1(?:104|181): .{{2,60}}?{_QUOTED}(?:[^'\"]*[\\/])?{library}\.lib\b"
    )


def by_compiler(header: str) -> Signature:
    """For headers that match ``header``."""
    return Signature("C1083: ", rf"C1083: (?:.{{2,60}}?(?:{_QUOTED}|[: ]))?{header}(?:{_QUOTED}|: )")


#: Microsoft's compiler, of which no part or not every part is installed.
NO_COMPILER: Final = (
    *by_shell(r"cl"),
    *by_linker(r"(?:msvcrt|msvcprt|libcmt|libcpmt|ucrt|libucrt|vcruntime|kernel32|oldnames)d?"),
    Signature("LNK1158", r"LNK1158: .{2,40}?['\"“‘](?:rc|mt|cvtres)\.exe"),
    by_compiler(
        r"(?:crtdbg|crtdefs|vcruntime\w*|corecrt\w*|sal|basetsd|windows|io|excpt"
        r"|std(?:io|lib|def|int|arg|bool)|math|limits|assert|string|float|errno)\.h"
    ),
    # setuptools of its several years
    Signature("Microsoft Visual C++ 1", r"Visual C\+\+ 1\d\.\d (?:or (?:greater|newer) )?is required"),
    Signature("nable to find vcvarsall.bat"),
    Signature("set up the environment for Microsoft Visual Studio", library="nvcc"),
    # triton-windows and others that look for it themselves
    Signature("local variable 'cl_path'", library="triton"),
    Signature("hecking compiler version for", r"Error checking compiler version for cl: \[WinError 2\]"),
)
#: One that this nvcc does not take: older ones look for theirs and find none, later ones' headers ask for a later nvcc.
UNSUPPORTED: Final = (
    Signature("find a supported version of Microsoft Visual Studio"),
    Signature("Unexpected compiler version, expected CUDA"),
)
#: An embedded Python comes without its headers and import library; triton-windows only warns of that.
NO_PYTHON: Final = (*by_linker(r"python3\d*t?(?:_d)?"), Signature("Failed to find Python libs", library="triton"))
