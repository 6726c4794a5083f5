"""The one door to other programs: started without a shell, bounded in time and output, never root for others' files."""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Mapping, Sequence

from remedy.facts.accounts import Account
from remedy.facts.files import Files
from remedy.facts.trust import distrusted
from remedy.hints import Protocol
from remedy.value import dataclass
from remedy.view import which

#: Where a program that is named without a folder is looked up, whatever our own environment says.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OUTPUT_LIMIT = 16 * 1024 * 1024
_CHUNK = 1 << 16
_PIPE_SIZE = 1 << 20
#: The same on every architecture (signal(7)); the module that names it takes a bare interpreter's twentieth to import.
_SIGPIPE = 13
#: What a shell returns for a program that it finds and can't execute (POSIX, Shell & Utilities 2.8.2).
_NOT_EXECUTED = 126


@dataclass(frozen=True)
class Result:
    """How a program ended. ``returncode`` is None where it never ran to its end, 126 where the kernel could not execute
    it; ``why`` says why it failed."""

    returncode: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    why: str | None = None

    @property
    def ok(self) -> bool:
        """The program ran to its end and returned 0."""
        return self.returncode == 0 and self.why is None

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")


class Running(Protocol):
    """A program that was started."""

    def result(self) -> Result:
        """Wait for the end, at most until the time limit. Never raises for what the program does."""
        ...


class Runner(Protocol):
    """Starts programs. Nothing that is asked of one raises: a failure is a ``Result`` with a reason."""

    def start(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        user: Account | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | None = None,
    ) -> Running:
        """Start a program and go on; ``timeout`` in seconds counts from here.

        With ``user``, and where we are root, the program has that user's rights and no others. ``env`` is added to
        LC_ALL=C and a fixed PATH; nothing of our own environment is handed on.
        """
        ...


def run(
    runner: Runner,
    argv: Sequence[str],
    *,
    timeout: float,
    user: Account | None = None,
    env: Mapping[str, str] | None = None,
    input: bytes | None = None,
) -> Result:
    """Start a program through a runner and wait for its end."""
    return runner.start(argv, timeout=timeout, user=user, env=env, input=input).result()


@dataclass(frozen=True)
class Done:
    """A program that needs no waiting: its result is known."""

    value: Result

    def result(self) -> Result:
        """The known result."""
        return self.value


@dataclass(frozen=True)
class NoRunner:
    """Runs nothing: for facts that come from a folder or a file instead of this machine."""

    why: str

    def start(
        self,
        argv: Sequence[str],  # noqa: ARG002
        *,
        timeout: float,  # noqa: ARG002
        user: Account | None = None,  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        input: bytes | None = None,  # noqa: ARG002
    ) -> Running:
        """A result that says why nothing was run."""
        return Done(Result(None, why=self.why))


class Programs:
    """Runs programs of this machine."""

    def __init__(self, *, output_limit: int = OUTPUT_LIMIT) -> None:
        self._limit = output_limit

    def start(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        user: Account | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | None = None,
    ) -> Running:
        """As ``Runner.start``. As root, a program that others can write is refused unless ``user`` is someone else."""
        euid = os.geteuid()
        # A new view each time: what may run must be as it is now, and programs come with packages meanwhile.
        files = Files()
        program = which(files, argv[0], PATH)
        if program is None:
            return Done(Result(None, why=f"{argv[0]} is not there or not executable"))
        command = [program, *argv[1:]]
        if euid == 0 and user is not None and user.uid != 0:
            command = [*_drop_to(user), *command]
            program = command[0]
        why = distrusted(files, program, euid)
        if why:
            return Done(Result(None, why=f"{argv[0]} is not run with the rights of uid {euid}: {why}"))
        try:
            return _spawn(program, command, timeout, {"LC_ALL": "C", "PATH": PATH, **(env or {})}, input, self._limit)
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            # The program itself was there a moment ago.
            said = "the interpreter that it names is not there" if isinstance(error, FileNotFoundError) else said
            return Done(Result(_NOT_EXECUTED, why=f"{argv[0]} can't be started: {said}"))


_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')


def _drop_to(user: Account) -> list[str]:
    """setpriv(1): every uid and gid set, no capability kept, none to be gained through setuid files.

    setpriv itself executes with the capabilities that it drops thereby, so that it finds what lies in a folder which is
    closed to the user; what the shell executes after it is looked up with the user's rights.
    """
    groups = ",".join(map(str, user.groups))
    ids = [f"--reuid={user.uid}", f"--regid={user.gid}", f"--groups={groups}"]
    return ["/usr/bin/setpriv", *ids, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--", *_SHELL]


def _spawn(
    program: str, argv: list[str], timeout: float, env: Mapping[str, str], input: bytes | None, limit: int
) -> _Child:
    deadline = time.monotonic() + timeout
    ours: list[int] = []
    try:
        out, out_child = _pipe(ours)
        err, err_child = _pipe(ours)
        stdin = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC) if input is None else os.memfd_create("input")
        ours.append(stdin)
        if input is not None:
            os.write(stdin, input)
            os.lseek(stdin, 0, os.SEEK_SET)
        moves = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate((stdin, out_child, err_child))]
        # posix_spawn needs neither the subprocess module's import nor a copy of our memory. Python ignores SIGPIPE,
        # which children must not inherit.
        pid = os.posix_spawn(program, argv, env, file_actions=moves, setpgroup=0, setsigdef=[_SIGPIPE])
        return _Child(pid, os.dup(out), os.dup(err), deadline, timeout, limit)
    finally:
        for handle in ours:
            os.close(handle)


def _pipe(ours: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    ours += ends
    # So large that a program can end while we still do other things; the system may allow less.
    try:  # noqa: SIM105 - contextlib's import delays every start
        fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    except OSError:
        pass
    return ends


class _Child:
    """A started program: its output is collected by ``result``."""

    def __init__(self, pid: int, out: int, err: int, deadline: float, timeout: float, limit: int) -> None:
        self._pid = pid
        self._open = {out: bytearray(), err: bytearray()}
        self._out, self._err = self._open.values()
        self._deadline = deadline
        self._timeout = timeout
        self._limit = limit
        self._result: Result | None = None

    def result(self) -> Result:
        """As ``Running.result``."""
        if self._result is None:
            why = self._collect()
            status = self._reap(None if why is None else 0.0)
            code = None if status is None else os.waitstatus_to_exitcode(status)
            if why is None and code:
                why = self._last_words() or (f"it returned {code}" if code > 0 else f"signal {-code} ended it")
            self._result = Result(code, bytes(self._out), bytes(self._err), why)
            # Megabytes, which would otherwise be kept twice.
            self._out.clear()
        return self._result

    def _collect(self) -> str | None:
        """Read both pipes to their ends; why that was given up."""
        poll = select.poll()
        for handle in self._open:
            poll.register(handle, select.POLLIN)
        why: str | None = None
        while self._open and why is None:
            # What was answered in time is read however late we come to it: another program may have kept us waiting.
            ready = poll.poll(max(0.0, self._deadline - time.monotonic()) * 1000)
            if not ready:
                why = f"no answer within {self._timeout:g} s"
            for handle, _ in ready:
                part = os.read(handle, _CHUNK)
                self._open[handle] += part
                if not part:
                    poll.unregister(handle)
                    os.close(handle)
                    del self._open[handle]
                elif len(self._open[handle]) > self._limit:
                    why = f"more than {self._limit} bytes of output"
        for handle in self._open:
            os.close(handle)
        return why

    def _reap(self, grace: float | None) -> int | None:
        """The wait status; the whole process group is killed once the time is over."""
        until = self._deadline if grace is None else time.monotonic() + grace
        while True:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                return status
            if time.monotonic() >= until:
                break
            time.sleep(0.001)
        import signal
        from contextlib import suppress

        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        return None

    def _last_words(self) -> str:
        lines = self._err.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
