"""The one door through which packages come and go: without a prompt, simulated first, never killed half way."""

from __future__ import annotations

import contextlib
import fcntl
import os
import posixpath
import re
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from remedy.change.interrupts import Interrupted, Interrupts
from remedy.change.packages import FORMAT, Installed, base, parse
from remedy.change.service import up
from remedy.errors import Refused, RemedyError
from remedy.facts.run import PATH, Programs, Result, run
from remedy.value import dataclass

#: Seconds to wait for another program's hold on dpkg.
LOCK_TIMEOUT = 600.0
_DPKG_LOCKS = ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock")
_QUICK = 120.0
#: Errors of apt that are shown: more are of one kind.
_FEW = 3
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
#: Every voice that could ask something: debconf(7), apt-listchanges(1), apt-listbugs(1), needrestart(1), ucf(1).
_SILENCE = {
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBCONF_NONINTERACTIVE_SEEN": "true",
    "APT_LISTCHANGES_FRONTEND": "none",
    "APT_LISTBUGS_FRONTEND": "none",
    "NEEDRESTART_SUSPEND": "1",
    "NEEDRESTART_MODE": "l",
    "UCF_FORCE_CONFFOLD": "1",
}
_OPTIONS = (
    *("-y", "-q", "--no-install-recommends"),
    *("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"),
    *("-o", "Dpkg::Use-Pty=0", "-o", "APT::Get::AutomaticRemove=false", "-o", "APT::Keep-Downloaded-Packages=false"),
)
_ACTION = re.compile(r"^(Inst|Remv|Purg) (\S+)(?: \[([^\]]+)\])?(?: \((\S+))?")
_STATUS = re.compile(r"^(?:dlstatus|pmstatus|pmerror):.*?:(\d+(?:\.\d+)?):(.*)$")

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Action:
    """One line of apt's simulation: ``kind`` is Inst, Remv or Purg."""

    kind: str
    name: str
    old_version: str | None
    version: str | None


def parse_simulation(text: str) -> tuple[Action, ...]:
    """The actions in the output of ``apt-get --simulate``."""
    found = (_ACTION.match(line) for line in text.splitlines())
    return tuple(Action(m[1], m[2], m[3], m[4]) for m in found if m)


def parse_status(line: str) -> tuple[str, float | None] | None:
    """One line of APT::Status-Fd (apt's doc/progress-reporting): text and percent; None for another kind."""
    found = _STATUS.match(line)
    return (found[2].strip(), float(found[1])) if found else None


def environment() -> dict[str, str]:
    """What apt and dpkg are started with: nothing of ours but the proxies."""
    proxies = {name: os.environ[name] for name in _PROXIES if name in os.environ}
    # While the machine boots, the message bus takes connections that it answers only much later: apt, which asks logind
    # to hold back a shutdown, would wait for a service that waits for us.
    bus = {} if up() else {"DBUS_SYSTEM_BUS_ADDRESS": "disabled:"}
    return {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/root", **proxies, **_SILENCE, **bus}


def installed() -> dict[str, Installed]:
    """Every package that dpkg knows a state of. Raises RemedyError."""
    listing = _must(["dpkg-query", "-W", "-f", FORMAT])
    automatic = _must(["apt-mark", "showauto"]).text.split()
    return parse(listing.text, automatic)


def interrupted() -> str | None:
    """What dpkg says of an installation that was broken off (dpkg(1), --audit); None where all is in order."""
    result = run(Programs(), ["dpkg", "--audit"], timeout=_QUICK)
    updates = Path("/var/lib/dpkg/updates")
    journal = updates.is_dir() and any(name.isdigit() for name in os.listdir(updates))
    text = (result.text + (result.why or "")).strip()
    return text or ("dpkg was interrupted" if journal else None)


def lock_holder() -> str | None:
    """The process that holds dpkg's lock, as ``name (pid N)``; None where it is free."""
    for path in _DPKG_LOCKS:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, pid = struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))
            if kind != fcntl.F_UNLCK:
                return f"{_process_name(pid)} (pid {pid})"
    return None


def _process_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "another program"


def wait_for_lock(report: Progress, interrupts: Interrupts | None, timeout: float = LOCK_TIMEOUT) -> None:
    """Wait until dpkg is free, naming who holds it. Raises Refused when the time is over."""
    deadline, told = time.monotonic() + timeout, None
    while (holder := lock_holder()) is not None:
        if time.monotonic() > deadline:
            raise Refused(f"dpkg's lock is held by {holder}, for more than {timeout:.0f} s", hint="let it finish first")
        if holder != told:
            report(f"waiting for {holder}, which holds dpkg's lock", None)
            told = holder
        # The kernel tells nobody when such a lock is let go.
        if interrupts is None:
            time.sleep(0.2)
        else:
            with interrupts.raising():
                time.sleep(0.2)


def simulate(arguments: list[str]) -> tuple[Action, ...]:
    """What apt-get would do. Raises Refused with apt's own words where it can't."""
    argv = ["apt-get", "--simulate", "-o", "Debug::NoLocking=1", *_OPTIONS, *arguments]
    result = run(Programs(), argv, timeout=_QUICK, env=_SILENCE)
    if result.ok:
        return parse_simulation(result.text)
    errors = _errors(result)
    held = [name for name in _must(["apt-mark", "showhold"]).text.split() if name in re.split(r"[\s,;:]+", errors)]
    why = f"; held: {', '.join(held)}" if held else ""
    hint = f"apt-mark unhold {' '.join(held)}" if held else f"apt-get --simulate {' '.join(arguments)}"
    raise Refused(f"apt can't do this: {errors}{why}", hint=hint)


def _errors(result: Result) -> str:
    output = result.text + "\n" + result.stderr.decode(errors="replace")
    lines = [line[3:] for line in output.splitlines() if line.startswith("E: ")]
    unmet = [line.strip() for line in output.splitlines() if re.match(r"\s+\S+ : ", line)]
    return "; ".join(brief(unmet + lines)) or result.why or "unknown error"


def brief(errors: list[str]) -> list[str]:
    """apt's errors in a few words: one that is gone is named for all that can't be fetched."""
    fetched = [error.split(None, 4) for error in errors if error.startswith("Failed to fetch ")]
    if fetched:
        address, reason = fetched[0][3], " ".join(fetched[0][4:]) or "no reason given"
        others = f", nor {len(fetched) - 1} more" if len(fetched) > 1 else ""
        return [f"{posixpath.basename(address)} can't be fetched{others}: {reason}"]
    return errors[:_FEW] + ([f"and {len(errors) - _FEW} more"] if len(errors) > _FEW else [])


def apt_get(arguments: list[str], log: Path, report: Progress, interrupts: Interrupts | None = None) -> None:
    """Run apt-get to its end; output goes to ``log``. Raises RemedyError where it fails.

    It has a session of its own: a Ctrl-C in the terminal, or our own death, does not reach it. An interrupt ends it
    only while it downloads; once dpkg runs, the end is waited for.
    """
    wait_for_lock(report, interrupts)
    receiving, sending = os.pipe()
    try:
        options = ["-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT:.0f}", "-o", f"APT::Status-Fd={sending}"]
        argv = ["/usr/bin/apt-get", *_OPTIONS, *options, *arguments]
        with _at_work(log) as working:
            child = _spawn(argv, log, (sending, working))
    except BaseException:
        os.close(receiving)
        raise
    finally:
        os.close(sending)
    with open(receiving, "rb", buffering=0) as pipe:
        stopped = _follow(child, pipe.fileno(), report, interrupts)
    code = child.wait()
    if stopped is not None:
        raise stopped
    if code != 0:
        verb = next(word for word in arguments if not word.startswith("-"))
        raise RemedyError(f"apt-get {verb} failed: {_last_error(log)}", hint=f"its whole output is in {log}")


@contextlib.contextmanager
def _at_work(log: Path) -> Iterator[int]:
    """A lock for apt to inherit: it tells the next remedy that apt still works. It belongs to the open file, and not to
    the one that apt writes to, which a daemon started by a package's script keeps open; of any other, apt's children
    get nothing (apt-pkg's ExecFork)."""
    fd = _open(log)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def _open(log: Path) -> int:
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _spawn(argv: list[str], log: Path, pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    out = _open(log)
    try:
        os.write(out, f"$ {' '.join(argv)}\n".encode())
        # SIGPIPE stays ignored: if we die, apt must go on although nobody reads its status any more. apt gives its
        # own children the default back (apt-pkg's ExecFork).
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment(),
            cwd="/",
            pass_fds=pass_fds,
            start_new_session=True,
            restore_signals=False,
        )
    finally:
        os.close(out)


def wait_for_child(log: Path, timeout: float = LOCK_TIMEOUT) -> None:
    """Wait for the apt of a process that died. Raises RemedyError when the time is over."""
    if not log.exists():
        return
    deadline = time.monotonic() + timeout
    with open(log, "rb") as file:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if time.monotonic() > deadline:
                raise RemedyError("the apt of the interrupted change still runs", hint="wait for it: remedy recover")
            time.sleep(0.2)


def _follow(
    child: subprocess.Popen[bytes], fd: int, report: Progress, interrupts: Interrupts | None
) -> Interrupted | None:
    pending, unpacking = b"", False
    stopped: Interrupted | None = None
    ended = os.pidfd_open(child.pid)
    try:
        while True:
            try:
                with interrupts.raising() if interrupts and not unpacking and not stopped else contextlib.nullcontext():
                    select.select([fd, ended], [], [])
            except Interrupted as seen:
                stopped = seen
                child.send_signal(signal.SIGINT)
                continue
            # The pipe alone would not do: a daemon started by a package's script could hold it open.
            data = os.read(fd, 65536) if select.select([fd], [], [], 0)[0] else b""
            if not data:
                return stopped
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                unpacking = unpacking or line.startswith(b"pmstatus:")
                said = parse_status(line.decode(errors="replace"))
                if said is not None:
                    report(*said)
    finally:
        os.close(ended)


def _last_error(log: Path) -> str:
    lines = log.read_text(errors="replace").rsplit("\n$ ", 1)[-1].splitlines()
    errors = [line[3:] for line in lines if line.startswith("E: ")]
    dpkg = [line for line in lines if line.startswith(("dpkg: error", "dpkg-deb: error")) or "No space left" in line]
    return "; ".join((dpkg[:2] + brief(errors))[:3]) or next(
        (line for line in reversed(lines) if line.strip()), "no output"
    )


def download(package: str, folder: Path) -> None:
    """Fetch a package file (``name=version``) into a folder. Raises Refused where no repository has it any more."""
    argv = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package]
    result = run(Programs(), ["env", "-C", str(folder), *argv], timeout=LOCK_TIMEOUT, env=environment())
    if not result.ok:
        raise Refused(
            f"{package} is installed and would be replaced, but can't be fetched for the way back: {_errors(result)}"
        )


def repair(log: Path, names: list[str], report: Progress) -> None:
    """Bring dpkg out of a broken-off installation: configure what can be, remove of ``names`` what can't."""
    wait_for_lock(report, None)
    for argv in (["/usr/bin/dpkg", "--force-confdef", "--force-confold", "--configure", "-a"], _force_remove(names)):
        if argv and interrupted():
            _spawn(argv, log).wait()


def _force_remove(names: list[str]) -> list[str]:
    return ["/usr/bin/dpkg", "--purge", "--force-remove-reinstreq", "--", *map(base, names)] if names else []


def mark_automatic(names: list[str]) -> None:
    """Restore apt's mark on packages that were installed as somebody's dependency."""
    if names:
        _must(["apt-mark", "auto", "--", *map(base, names)])


def _must(argv: list[str]) -> Result:
    result = run(Programs(), argv, timeout=_QUICK, env=_SILENCE)
    if not result.ok:
        raise RemedyError(f"{' '.join(argv[:2])} failed: {result.why}")
    return result
