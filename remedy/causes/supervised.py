"""What runs the first program of a container or under another supervisor says where it can't: runc and crun, the small
inits, supervisord, runit and s6, start-stop-daemon, pm2, Slurm, and the shells of people who try it by hand.
"""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.causes.launched import SERVERS
from remedy.hints import Final

_NAMED: Final = r"(?P<program>[^\s:'\"`]+)"

#: Of the program that was to run.
NOT_RUN: Final = (
    # runc of 1.1 and later, behind the name of the container where compose shows it; before, without the program's name
    *any_of(
        "exec /",
        "exec ./",
        pattern=rf"(?:^|\| )exec {_NAMED}: (?:no such file|permission denied|operation not permitted)",
    ),
    Signature("exec user process caused", r"caused:? \\?\"?(?:no such file|permission denied|operation not permitted)"),
    Signature("crun: open executable: "),
    # an image for another architecture, without the loader of that one
    *any_of(
        "ld-linux", "rosetta error", pattern=r"qemu-\w+(?:-static)?: Could not open '|rosetta error: failed to open elf"
    ),
    Signature("FATAL tini", rf"\bexec {_NAMED} failed: (?:No such file|Permission denied|Exec format error)"),
    Signature("dumb-init] ", rf"dumb-init\] {_NAMED}: (?:No such file|Permission denied)"),
    Signature("couldn't exec ", rf"couldn't exec {_NAMED}: E(?:NOENT|ACCES|NOEXEC)"),
    *any_of(
        "can't find command '",
        "command at '",
        pattern=r"(?:can't find command|command at) '(?P<program>[^']+)'(?:$| is not executable)",
    ),
    Signature(
        "unable to ",
        rf"fatal: unable to (?:start|exec|spawn) {_NAMED}: (?:access denied|file does not exist|[Pp]ermission|No such)",
    ),
    Signature(
        "start-stop-daemon: ",
        r"stop-daemon: (?:unable to (?:start|stat) )?(?P<program>/\S+) (?:\((?:No such|Permission)|does not exist)",
    ),
    Signature("NOT AVAILABLE in PATH", rf"Interpreter {_NAMED} is"),
    Signature("execve(): ", rf"execve\(\): {_NAMED}: "),
    Signature("annot execute binary file", rf"(?:^|\s){_NAMED}: cannot execute binary file"),
    # Ollama, which looks in the folders of its own
    *any_of(
        "binary not found",
        "executable not found",
        "llama-server not found",
        pattern=rf"\b(?:(?P<program>{SERVERS}) (?:binary|executable)|llama-server) not found",
    ),
    # LocalAI, of its back ends
    *any_of(
        "backend not found: /",
        "grpc process not found: ",
        pattern=r"(?:backend|grpc process) not found: (?P<program>/[^\s\"]*[^\s\".])",
    ),
    # what was to be started may be any file to bash; to these names it is the server
    *any_of(
        ": No such file",
        "no such file or directory: ",
        pattern=rf"sh: (?:no such file or directory: )?(?P<program>(?:[^\s:]*/){SERVERS})(?:: No such file|$)",
    ),
    # a script by its name: what a shell could not write to bears others
    *any_of(
        "ermission denied",
        ".sh: not found",
        pattern=r"sh: (?:(?:line )?\d+: )?(?:permission denied: )?(?P<program>[^\s:]+\.sh)(?::? [Pp]ermission denied"
        r"|: not found|$)",
    ),
    Signature(": command not found", rf"^(?:tmux: )?(?P<program>{SERVERS}): command not found$"),
    Signature("annot exec '", r"annot exec '(?P<program>[^']+)': "),
    Signature("unable to find the specified executable file"),
    Signature("not found, ", rf"^Command '(?P<program>{SERVERS})' not found, "),
    Signature("is not recognized as ", rf"'(?P<program>{SERVERS}(?:\.exe)?)' is not recognized as "),
    Signature("can't open file ", r"python[\d.]*: can't open file '?(?P<program>[^'\s]+)'?: \[Errno (?:2|13)\]"),
)

#: Of the folder that it was to run in.
NO_DIRECTORY: Final = (
    *any_of(
        "chdir",
        pattern=r"chdir(?: to cwd)? \(\"(?P<directory>[^\"]+)\"\) set in config|crun: chdir to `"
        r"|couldn't chdir to (?P<named>[^\s:]+): E|fork/exec .{1,200}: chdir |[Cc]an't chdir to '"
        r"|\bchdir\(\) to '\S+' failed",
    ),
    Signature("the working directory '", r"working directory '(?P<directory>[^']*)' is invalid"),
    Signature("does not exist on container", r"workdir \"(?P<directory>[^\"]+)\" does not exist on"),
    # a script may go on in the folder where it is
    *any_of(
        ": cd: ", ": can't cd to ", pattern=r"\d+: cd: (?:can't cd to |(?P<directory>[^:]+): No such file)", weak=True
    ),
    *any_of("getcwd() failed", "error retrieving current directory", pattern=r"No such file or directory", weak=True),
)

#: Of the account that it was to run as.
NO_ACCOUNT: Final = (
    Signature("Invalid user name ", r"Invalid user name \S+ in section"),
    *any_of("unknown user/group: ", "unknown user: ", pattern=r"fatal: unknown user"),
    *any_of("getpwnam", "getgrnam", pattern=r"get(?:pw|gr)nam(?:\(\): name not found|\([^)]+\)(?: failed|: ))"),
    Signature("ailed to look up user"),
    Signature("No such user: '"),
    Signature("ailed to parse reuid"),
    Signature("no such user", r"\bid: \S+: no such user", weak=True),
)
