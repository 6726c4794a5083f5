"""``--host``: another machine is looked at over ssh; it needs sshd and Python, and nothing is installed there.

The package goes over the connection into memory (memfd_create(2)) and is imported from there, so that nothing is left
behind, however the connection ends. A change is made by the remedy that is installed there: what a power cut leaves of
one has to be finished at boot, by a program that is still there.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from remedy.errors import RemedyError, UsageError
from remedy.show.text import colours, width

#: Commands that read only, and those that need a remedy over there.
LOOKS = frozenset(("check", "diagnose", "history", "show", "snapshot", "toolkits", "watch"))
CHANGES = frozenset(("fix", "recover", "rollback"))
#: ssh(1) returns this where it failed itself, a shell that where there is no such program.
_SSH_FAILED, _NO_PROGRAM = 255, 127
#: [user@]host, an alias of ssh_config(5), or an address. No part can be taken for an option, or expanded by a shell.
_HOST = re.compile(r"(?:\w[\w.+\\-]*@)?(?:\w[\w.-]*|\[?[0-9A-Fa-f:.]+(?:%\w+)?\]?)", re.ASCII)
#: Pure Python, and what of it a command line may import; which of them there are depends on typer's version.
_PACKAGES = ("remedy", "typer", "click", "typing_extensions", "annotated_doc", "shellingham", "debian")
#: Standard input brings a line of JSON and the archive; its end is the connection's.
_BOOT = """
import json, os, signal, sys, threading
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
from remedy.__main__ import main
main()
"""


def run(host: str, arguments: Sequence[str]) -> int:
    """Carry out one command line on a host, its output going where ours goes; returns its exit code.

    ``arguments`` begins with the command. Raises UsageError for a host or command that is none for this, and
    RemedyError where the connection fails or the host lacks what is needed.
    """
    if _HOST.fullmatch(host) is None:
        hint = "user@machine, as ssh takes it; a port or a jump host stands in ~/.ssh/config"
        raise UsageError(f"--host {host!r} is no host", hint=hint)
    command = arguments[0]
    if command in CHANGES and not (command == "fix" and "--dry-run" in arguments):
        return _by_its_own(host, arguments)
    if command not in LOOKS | CHANGES:
        raise UsageError(f"{command}: no command for --host", hint=f"there are {', '.join(sorted(LOOKS | CHANGES))}")
    if "--snapshot" in arguments:
        raise UsageError("--host and --snapshot exclude each other")
    return _by_ours(host, arguments)


def _by_ours(host: str, arguments: Sequence[str]) -> int:
    packed = archive()
    environment = {"COLUMNS": str(width()), **({"FORCE_COLOR": "1"} if colours() else {})}
    head = {"size": len(packed), "environment": environment, "arguments": list(arguments)}
    ssh = _ssh(host, f"exec python3 -I -X utf8 -c '{_BOOT}'", "-T", stdin=subprocess.PIPE)
    assert ssh.stdin is not None
    with ssh:
        try:
            ssh.stdin.write(json.dumps(head).encode() + b"\n" + packed)
            ssh.stdin.flush()
        except BrokenPipeError:
            pass
        # Held open until the command ends: it goes when its standard input does.
        code = ssh.wait()
    if code == _NO_PROGRAM:
        raise RemedyError(f"there is no python3 on {host}", hint="apt-get install python3")
    if code == _SSH_FAILED:
        raise RemedyError(f"the ssh connection to {host} failed", hint=f"ssh {host} shows whether it works by itself")
    return code


def _by_its_own(host: str, arguments: Sequence[str]) -> int:
    at_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    with _ssh(host, shlex.join(("exec", "remedy", *arguments)), "-t" if at_terminal else "-T") as ssh:
        code = ssh.wait()
    if code == _NO_PROGRAM:
        raise RemedyError(
            f"remedy is not installed on {host}: a change needs it there, to finish at boot what a power cut leaves",
            hint="install it there; `fix --dry-run` shows the plan without it",
        )
    if code == _SSH_FAILED:
        raise RemedyError(
            f"the ssh connection to {host} failed or was lost; a change that has begun goes on there",
            hint=f"remedy --host {host} history",
        )
    return code


def _ssh(host: str, command: str, *options: str, stdin: int | None = None) -> subprocess.Popen[bytes]:
    """Start ssh as the user has set it up. Without a terminal it asks nothing."""
    quiet = () if sys.stdin and sys.stdin.isatty() else ("-o", "BatchMode=yes")
    # Without the notice that a connection with a terminal was closed.
    argv = ["ssh", *options, *quiet, "-o", "LogLevel=ERROR", "--", host, command]
    try:
        return subprocess.Popen(argv, stdin=stdin)
    except FileNotFoundError:
        raise RemedyError("ssh is not installed here", hint="apt-get install openssh-client") from None


def archive() -> bytes:
    """A zip file of everything that a command that only looks may import beside the standard library."""
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
