"""``--host``: a command is run on another machine over ssh; it needs sshd and Python, and nothing is installed there.

The package goes over the connection into memory (memfd_create(2)) and is imported from there: a command that only looks
leaves nothing behind, however the connection ends. For a change it goes to the disk there until the change has ended
(remedy.change.brought); where a remedy is installed, that one makes the change.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from remedy.errors import Exit, Refused, RemedyError, UsageError
from remedy.show.host import CHANGES, LOOKS, VARIABLE
from remedy.show.text import colours, width

#: ssh(1) returns this where it failed itself, a shell that where there is no such program.
_SSH_FAILED, _NO_PROGRAM = 255, 127
#: [user@]host, an alias of ssh_config(5), or an address. No part can be taken for an option, or expanded by a shell.
_HOST = re.compile(r"(?:\w[\w.+\\-]*@)?(?:\w[\w.-]*|\[?[0-9A-Fa-f:.]+(?:%\w+)?\]?)", re.ASCII)
#: Pure Python, and what of it a command line may import; which of them there are depends on typer's version.
_PACKAGES = ("remedy", "typer", "click", "typing_extensions", "annotated_doc", "shellingham", "debian")
#: Standard input brings a line of JSON and the archive; its end is the connection's.
_BOOT = """
import importlib, json, os, signal, sys, threading
if sys.version_info < (3, 10):
    sys.exit("remedy: python3 is %d.%d there, and remedy needs 3.10" % sys.version_info[:2])
head = json.loads(sys.stdin.buffer.readline())
kept = os.memfd_create("remedy")
with open(kept, "wb", closefd=False) as file:
    file.write(sys.stdin.buffer.read(head["size"]))
def leave():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGHUP)
threading.Thread(target=leave, daemon=True).start()
os.environ.update(head["environment"])
sys.path.insert(0, "/proc/self/fd/%d" % kept)
sys.argv[1:] = head["arguments"]
importlib.import_module(head["module"]).main()
"""
_READS_ONLY = frozenset(("--dry-run", "--help", "-h"))


def run(host: str, arguments: Sequence[str]) -> int:
    """Carry out one command line on a host, its output going where ours goes; returns its exit code.

    ``arguments`` begins with the command. Raises UsageError for a host or command that is none for this, and
    RemedyError where the connection fails or the host lacks what is needed.
    """
    if _HOST.fullmatch(host) is None:
        hint = "user@machine, as ssh takes it; a port or a jump host stands in ~/.ssh/config"
        raise UsageError(f"--host {host!r} is no host", hint=hint)
    command = arguments[0]
    if command not in LOOKS | CHANGES:
        raise UsageError(f"{command}: no command for --host", hint=f"there are {', '.join(sorted(LOOKS | CHANGES))}")
    if "--snapshot" in arguments:
        raise UsageError("--host and --snapshot exclude each other")
    settled = _settled(host, arguments) if command in CHANGES and not _READS_ONLY & set(arguments) else None
    return _in_memory(host, arguments) if settled is None else _from_disk(host, settled, arguments)


def _in_memory(host: str, arguments: Sequence[str]) -> int:
    environment = {"COLUMNS": str(width()), **({"FORCE_COLOR": "1"} if colours() else {}), VARIABLE: host}
    head = {"module": "remedy.__main__", "environment": environment, "arguments": list(arguments)}
    code, _ = _send(host, head)
    return code


def _settled(host: str, arguments: Sequence[str]) -> list[str] | None:
    """The command there that is to make a change; None where the user there may make none: the code in memory says it.

    Raises Refused where it may not be run as root, RemedyError where the connection fails.
    """
    code, said = _send(host, {"module": "remedy.settle", "environment": {}, "arguments": []}, subprocess.PIPE)
    try:
        # What a shell's start-up files print stands before it.
        answer = json.loads(said.strip().rpartition(b"\n")[2])
    except ValueError:
        # What it said instead stands on standard error.
        raise RemedyError(f"the change could not be prepared on {host}: python3 ended with status {code}") from None
    if "message" in answer:
        if "--json" in arguments:
            print(json.dumps(answer["result"]))
        raise Refused(answer["message"], hint=answer["hint"])
    command: list[str] | None = answer["command"]
    return command


def _send(host: str, head: Mapping[str, object], stdout: int | None = None) -> tuple[int, bytes]:
    """Send the archive, and run a module's ``main`` out of it; returns its exit code, and its output where it is
    asked for. Raises RemedyError where the connection fails, or where there is no Python."""
    packed = archive()
    ssh = _ssh(host, f"exec python3 -I -X utf8 -c '{_BOOT}'", "-T", stdin=subprocess.PIPE, stdout=stdout)
    assert ssh.stdin is not None
    with ssh:
        try:
            ssh.stdin.write(json.dumps({**head, "size": len(packed)}).encode() + b"\n" + packed)
            ssh.stdin.flush()
        except BrokenPipeError:
            pass
        said = ssh.stdout.read() if ssh.stdout else b""
        # Held open until the command ends: it goes when its standard input does.
        code = ssh.wait()
    if code == _NO_PROGRAM:
        raise RemedyError(f"there is no python3 on {host}", hint="apt-get install python3")
    if code == _SSH_FAILED:
        raise RemedyError(f"the ssh connection to {host} failed", hint=f"ssh {host} shows whether it works by itself")
    return code, said


def _from_disk(host: str, command: Sequence[str], arguments: Sequence[str]) -> int:
    at_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    words = ["exec", "env", f"{VARIABLE}={host}", *command, *arguments]
    why, code = f"the ssh connection to {host} failed or was lost", Exit.INTERNAL
    with _ssh(host, shlex.join(words), "-t" if at_terminal else "-T") as ssh:
        try:
            ended = ssh.wait()
        except KeyboardInterrupt:
            ssh.terminate()
            why, code, ended = "interrupted here", Exit.PROBLEM, _SSH_FAILED
    if ended < 0 or ended == _SSH_FAILED:
        hint = f"remedy --host {host} history"
        raise RemedyError(f"{why}; a change that has begun goes on there", hint=hint, exit_code=code)
    return ended


def _ssh(
    host: str, command: str, *options: str, stdin: int | None = None, stdout: int | None = None
) -> subprocess.Popen[bytes]:
    """Start ssh as the user has set it up. Without a terminal it asks nothing."""
    quiet = () if sys.stdin and sys.stdin.isatty() else ("-o", "BatchMode=yes")
    # Without the notice that a connection with a terminal was closed.
    argv = ["ssh", *options, *quiet, "-o", "LogLevel=ERROR", "--", host, command]
    try:
        return subprocess.Popen(argv, stdin=stdin, stdout=stdout)
    except FileNotFoundError:
        raise RemedyError("ssh is not installed here", hint="apt-get install openssh-client") from None


def archive() -> bytes:
    """A zip file of everything that a command may import beside the standard library."""
    from zipfile import ZIP_DEFLATED, ZipFile

    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as file:
        for path, name in _sources():
            file.write(path, name)
    return packed.getvalue()


def _sources() -> Iterator[tuple[Path, str]]:
    """The files of the packages, each with its name in the archive."""
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        top = origin.parent.parent if spec.submodule_search_locations else origin.parent
        files = origin.parent.rglob("*.py") if spec.submodule_search_locations else (origin,)
        yield from ((path, str(path.relative_to(top))) for path in files)
