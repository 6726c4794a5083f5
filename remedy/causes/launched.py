"""What a program that was to start another one says where that one is not there.

Shells of the sh family and Python say so in their own ways (``shared.py``); these are GNU make's, the words of execvp's
callers, compiler caches, and the launchers that units put before a command (coreutils, util-linux, numactl, sudo).
"""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.hints import Final

#: Programs that units and containers are made for, by the names that they are started under.
SERVERS: Final = (
    r"(?:python[\d.]*|vllm|sglang|ollama|(?:ollama_)?llama[-_][\w-]+|uv|conda|lmdeploy|trtllm-serve|tritonserver"
    r"|text-(?:generation-launcher|generation-server|embeddings-router)|koboldcpp|llamafile|local-ai|tabby|xinference"
    r"|uvicorn|gunicorn|hypercorn|torchrun|accelerate|ray|litellm)"
)

_LAUNCHERS: Final = r"(?:nohup|timeout|nice|ionice|chrt|taskset|numactl|setsid|stdbuf|runuser|unshare|chroot)"


def by_launcher(program: str) -> tuple[Signature, ...]:
    """For programs whose names match ``program``, captured under that name: launchers, and shells without ``sh``."""
    named = rf"(?P<program>{program})"
    return (
        *any_of(
            ": No such file",
            ": Permission denied",
            pattern=rf"\b{_LAUNCHERS}: (?:failed to (?:run command|execute) |execution of )?['`‘\"]?{named}['’\"]?: ",
        ),
        # GNU time and xargs, which looks for it on PATH
        Signature("annot run ", rf"\btime: cannot run {named}: "),
        Signature("xargs: ", rf"\bxargs: {named}: (?:No such file|Permission denied)"),
        Signature(": command not found", rf"\bsudo: {named}: "),
        Signature(": command not found: ", rf"sh:(?:\d+:)? command not found: {named}$"),
        # a wrapper's own word for what it wraps
        Signature("exec: ", rf"\bexec: {named}: (?:not found|No such file|cannot execute)"),
        Signature("nknown command", rf"\bfish: Unknown command:? ['\"]?{named}['\"]?$"),
    )


def by_builder(program: str) -> tuple[Signature, ...]:
    """For the programs of a build: what drives it, and what stands between it and a compiler."""
    named = rf"(?P<program>{program})"
    return (
        Signature(": No such file", rf"^g?make(?:\[\d+\])?: {named}: "),
        Signature(
            ": Permission denied", rf"^(?:g?make(?:\[\d+\])?: (?:execvp: )?|execvp: ){named}: Permission denied$"
        ),
        # a make below make has its depth in brackets, like a process id
        Signature(": Command not found", rf"^(?:g?make: )?{named}: "),
        Signature("execvp", rf"\bexecvp\({named}\): No such"),
        Signature("CreateProcess: ", rf"CreateProcess: {named}: "),
        # Ubuntu's and older Debians' shells
        Signature("Command '", rf"^Command '{named}' not found, but"),
        Signature("is currently not installed", rf"program '{named}' is"),
        # sccache, ccache
        Signature("cannot find binary path: ", rf"path: {named}$"),
        Signature('ind compiler "', rf"ind compiler \"{named}\" in PATH"),
        # Rust's, of build scripts and of cc
        Signature(
            "Os { code: ", rf"\b(?:execute|run|spawn|start) {named}(?: [^:]{{1,80}})?: Os {{ code: (?:2|13|20)\b"
        ),
        Signature("ailed to find tool", rf"find tool[ :]+[`'\"]{named}[`'\"]"),
    )
