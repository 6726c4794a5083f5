"""The program of ExecStart=: what keeps systemd, a launcher or a shell from running it."""

from __future__ import annotations

import re

from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.launched import SERVERS, by_launcher
from remedy.causes.shared import BUILD_PROGRAM, SHOW
from remedy.causes.supervised import NOT_RUN
from remedy.hints import Final

_EXEC_STEP: Final = Signature("Failed at step EXEC spawning", r"spawning (?P<program>\S+?): ")
# systemd 255 and later, and 248 to 254
_EXEC_UNABLE: Final = Signature("Unable to locate executable", r"executable '(?P<program>[^']+)'")
_EXEC_LOCATE: Final = Signature("Failed to locate executable ", r"locate executable (?P<program>\S+?): ")
_EXEC_STATUS: Final = (
    Signature("203/EXEC"),
    # of a command before the main one, from systemd 236 to 240
    Signature("code=exited status=", r"status=203\b", needs="203"),
)
_EXEC_OLD: Final = Signature(": Failed to execute ", r"Failed to execute (?:(?P<program>/\S+?)|command): ")
_EXEC_FORMAT: Final = Signature(
    "xec format error", r"(?:(?P<program>/\S+): )?[Ee]xec format error(?!: ['\"]" + BUILD_PROGRAM + r"['\"])"
)
_INTERPRETER: Final = any_of(
    "bad interpreter",
    "annot execute",
    pattern=r"(?P<program>/\S+): (?:.*bad interpreter|cannot execute: required file not found)",
)
_NO_COMMAND: Final = Signature(
    "not found",
    r"(?:bash|/bin/sh|sh|\.sh|exec|env)\S*: (?:line )?(?:\d+: )*(?:exec:"
    r" )?(?P<program>(?:[\w./-]*/)?" + SERVERS + r"): (?:command )?not found",
)
# any other: a script goes on after it, unless it was the last thing that it ran
_LAST_COMMAND: Final = Signature(
    "not found", r"sh: (?:line )?\d+: (?:exec: )?(?P<program>[\w.+-]+): (?:command )?not found", weak=True
)
_ENV_NO_PROGRAM: Final = Signature(
    "env: ", r"env: ['‘\"]?(?P<program>[\w./\\-]+)['’\"]?: (?:No such file or directory|Permission denied)"
)
# a script's word for a program by its path
_SCRIPT: Final = Signature(": No such file", r": line \d+: (?P<program>/\S*/bin/[^/\s:]+): No such file")
# Go's words; crun's; uv's
_GO_NOT_RUN: Final = (
    # which runc repeats in quotes of its own
    Signature(
        "exec: ", r'exec: \\?"(?P<program>[^"\\]+)\\?": (?:executable file not|permission denied|stat |no such file)'
    ),
    Signature("not found in $PATH", r"executable file [`'](?P<program>[^`']+)[`'] not found"),
    Signature("executable file not found in $PATH", r"^\"(?P<program>[^\"]+)\": "),
    Signature("ailed to spawn: `", r"spawn: `(?P<program>[^`]+)`"),
)
# What a supervisor in Python, Node, Go or Rust says of a server that it can't start. Python's words are those for any
# file: without a folder the name may be that of a checkout.
_NOT_SPAWNED: Final = (
    *any_of(
        "No such file or directory: '",
        "ermission denied: '",
        "xec format error: '",
        "[Errno ",
        pattern=r"\[Errno (?:2|8|13)\] [^:'\"]{2,80}: '(?P<program>(?:[\w.@+~-]*/)+s?bin/" + SERVERS + r")'",
    ),
    *any_of(
        " ENOENT", " EACCES", pattern=r"\bspawn (?P<program>(?:\S*/)?" + SERVERS + r") E(?:NOENT|ACCES)\b(?!.*\bcwd\b)"
    ),
    Signature("fork/exec ", r"fork/exec (?P<program>[^\s:]+): (?:permission denied|exec format error)"),
    Signature("fork/exec ", r"fork/exec (?P<program>(?:\S*/)?" + SERVERS + r"): no such file"),
    # tokio prints the command that it was to start
    Signature(
        "kill_on_drop: ",
        r"Command \{ std: \\?\"(?P<program>[^\"\\]+)\\?\".*kill_on_drop: \w+ \}[`'\"]?: "
        r"(?:Permission denied|No such file|Exec format error)",
    ),
)
# by its bare name it may be a checkout's folder as well
_NOT_STARTED: Final = Signature(
    "No such file or directory: '", rf"\[Errno 2\] [^:'\"]{{2,80}}: '(?P<program>(?:\./)?{SERVERS})'$", weak=True
)
# dash says "cannot create" of a file to write to
_DASH_DENIED: Final = Signature(": Permission denied", r"\bsh: \d+: (?:exec: )?(?P<program>/\S+): Permission denied")
# bash, of what its exec was to run
_EXEC_BUILTIN: Final = Signature(": cannot execute: ", r"(?P<program>[^\s:]+): cannot execute: [A-Z]")
# dash counts the lines of a script from 1: at 0 it is the script itself that it could not open
_DASH_UNREAD: Final = Signature("sh: 0: ", r"\bd?a?sh: 0: (?:[Cc]an't|cannot) open (?P<program>[^\s:]+)")
# A shell's word for a program that it may not run; of a file to write to, its status is another.
_SHELL_DENIED: Final = Signature(
    "ermission denied",
    r"(?:^|/|\s)(?:[bd]a|z|k)?sh: (?:line )?(?:\d+: )*(?P<program>[^\s:]+): [Pp]ermission denied",
    weak=True,
)
_STATUS_126: Final = any_of("status", "code", "exit", pattern=r"(?:status|code)(?:=|:? )126\b", weak=True, needs="126")
_STATUS_127: Final = Signature("status=12", r"code=exited, status=12[67]\b", weak=True)
#: What systemd or the kernel refused by its path, and what was looked for on PATH.
_REFUSED: Final = (_EXEC_STEP, _EXEC_UNABLE, _EXEC_LOCATE, *_EXEC_STATUS, _EXEC_OLD, _EXEC_FORMAT, *_INTERPRETER)
_LOOKED_FOR: Final = (
    *(_NO_COMMAND, _ENV_NO_PROGRAM, *_GO_NOT_RUN, *_NOT_SPAWNED, _DASH_DENIED, _DASH_UNREAD, _SCRIPT, _EXEC_BUILTIN),
    *NOT_RUN,
    *by_launcher(r"[\w./+-]+"),
)
#: The programs of a build, and the one that comes into a container with its GPU: causes of their own.
_OTHERS: Final = rf"{BUILD_PROGRAM}|(?:\S*/)?nvidia-smi"


def _exec_failed(case: Case) -> Claim | None:
    """A program that is not on a PATH whose ``$`` was taken literally is a symptom of that."""
    refused = case.hits(*_REFUSED)
    sought = tuple(hit for hit in case.hits(*_LOOKED_FOR) if not re.fullmatch(_OTHERS, hit.groups.get("program", "")))
    sought += tuple(
        hit
        for hit in case.hits(_SHELL_DENIED)
        if case.has(*_STATUS_126)
        or re.fullmatch(r"(?!(?:nvcc|cicc|ptxas|nvlink|fatbinary)$)[\w-]+", hit.groups["program"])
    )
    if not sought and case.has(_STATUS_127):
        sought = tuple(
            hit for hit in case.hits(_LAST_COMMAND) if not re.fullmatch(BUILD_PROGRAM, hit.groups["program"])
        )[-1:]
    if refused or sought:
        literal = not refused and "$" in (case.variable("PATH") or "")
        return claim_from(refused + sought, weight=Weight.NOTED if literal else None)
    return claim_from(case.hits(_STATUS_127, _NOT_STARTED), certainty="possible", weight=Weight.HINT)


CAUSES: Final = (
    Cause(
        id="exec-failed",
        title="the program of ExecStart= can't be run",
        handling="advise",
        rank=14,
        summary="`{program}` can't be run: it is missing, not executable, or its interpreter is.||The program of "
        "ExecStart= can't be run: it is missing, not executable, or its interpreter is.",
        advice="Look at it as the service's user would: `ls -l {program}; head -1 {program}`.||Look at the program: "
        "`" + SHOW + "`, then `ls -l` and `head -1` of its path.",
        judge=_exec_failed,
        signatures=(*_REFUSED, *_LOOKED_FOR, _LAST_COMMAND, _SHELL_DENIED, *_STATUS_126, _STATUS_127, _NOT_STARTED),
        statuses=(203,),
        absences=("program-absent",),
        page=Page(
            meaning="systemd forked, set everything up, and the kernel refused to execute the program (203/EXEC); or a "
            "shell in ExecStart= reports that it can't find it (status 127, or 126 for one that is not executable).",
            origin="The path is wrong, a virtual environment was rebuilt elsewhere, the file lost its execute bit or "
            "lies on a noexec mount, a console script's first line names a Python that is gone, or the program is for "
            "another architecture (`Exec format error`). Shells that work use a PATH which the unit doesn't have.",
            recognised="`Failed at step EXEC spawning PATH`, `Unable to locate executable`, 203/EXEC. The step's line "
            "decides; a bare 127 comes from the program itself and can mean a missing library as well.",
            mending="Write the absolute path of the program in the right environment, e.g. the venv's own "
            "`bin/python -m sglang.launch_server`. Reinstall a console script whose interpreter has moved.",
            avoid="`Permission denied` here is no reason to run the service as root; it is a missing execute bit, a "
            "noexec mount, or a directory above that the user can't enter.",
            sources=("systemd.exec(5), process exit codes", "systemd.service(5), command lines"),
        ),
    ),
)
