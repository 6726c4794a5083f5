"""How a build tells that one of its compilers had no memory: the compiler's own words, and those of what ran it."""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.hints import Final

#: The programs of a build that the kernel chooses for their size.
COMPILERS: Final = r"(?:cicc|nvcc|ptxas|cudafe\+\+|cc1plus|cc1|ninja|ld|fatbinary|clang|ptxas-blackwell)"
_BUILDS: Final = (
    r"\b(?:setup\.py|g?make|ninja|cmake|no-build-isolation|build_ext|nvcc"
    r"|install .{0,80}(?:attn|deepspeed|apex|xformers))\b"
)
#: Lines that only such a build ends with.
BUILD_KILLED: Final = (
    *any_of("FAILED: [code=", "status", pattern=r"FAILED: \[code=137\]|ninja.*(?:exit status|status) 137", needs="137"),
    Signature("signal terminated program", r"[Kk]illed:? signal terminated program"),
    # gcc in German, French, Spanish, Swedish and Finnish
    *any_of(
        "hat Programm",
        "a terminé le programme",
        "terminó el programa",
        "avslutade programmet",
        "-signaali päätti",
        pattern=r"\bKilled\b.{0,10}(?:hat Programm|a terminé le programme|terminó el programa|avslutade programmet"
        r"|päätti)",
    ),
    Signature("illed", r"^(?:\S*sh: )?(?:line )?(?:\d+: *)*(?:\d+ +)?Killed\s+\S*" + COMPILERS + r"\b"),
    Signature("died due to signal 9"),
    Signature(
        "terminated with signal 9", r"(?:^|[\s/])(?:collect2|nvcc|g\+\+|gcc|" + COMPILERS + r")\b.* terminated with"
    ),
    Signature("internal compiler error: Killed"),
    Signature("unable to execute command: Killed"),
    Signature("memory exhausted", r"\bld(?:\.\w+)?: .*: memory exhausted"),
    Signature("make", r"^(?:g?make: )?\*\*\* \[[^\]]+\.(?:o|so|a|cubin|ptx)\] (?:Killed|Error 137)", needs="*** ["),
    Signature("exit successfully", r"`[^`]*\b(?:rustc|nvcc|cc|c\+\+|ld)\b[^`]*` \(signal: 9"),
    Signature("oom-kill:", r"\btask=" + COMPILERS + r",pid="),
    Signature("virtual memory exhausted"),
    # the front end of nvcc
    Signature("catastrophic error: out of memory"),
    Signature("emory allocation failure", r"(?:nvcc|ptxas|cicc|nvlink).*[Mm]emory allocation failure"),
    Signature("heap memory may be exhausted"),
    Signature(
        "out of memory allocating", r"(?:cc1plus|cicc|ptxas|cudafe|\bas:|\bld:|\blto1:).*out of memory allocating"
    ),
    Signature("Cannot allocate memory", r"(?:nvcc|ninja|cicc|cc1plus|c\+\+|\bld: ).*Cannot allocate memory"),
    # distutils
    Signature("terminated by signal 9", r"command '[^']*(?:nvcc|gcc|g\+\+|c\+\+|cc)' terminated by"),
    # zsh and bash, of a job that they ran; BuildKit, which counts the kernel's kills of a step
    *any_of(
        " killed ",
        " Killed ",
        "did not complete successfully: cannot allocate",
        pattern=r"(?:\[\d+\]|line \d+:) +\d+ [Kk]illed  .*" + _BUILDS + r"|" + _BUILDS + r".*\" did not complete",
    ),
    Signature("LLVM ERROR: out of memory"),
)
