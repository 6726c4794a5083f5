"""A change in a unit of its own: the terminal only follows, and may go away.

``systemd-run --pipe`` hands the unit its request on standard input (nothing of it stands on a command line) and us its
messages; a reader that is gone changes nothing for the unit. Should the unit's process die, systemd runs the recovery.
"""

from __future__ import annotations

import os
import secrets
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Literal

from remedy.change import codec
from remedy.change.again import command, line
from remedy.change.history import history
from remedy.change.interrupts import Interrupted, Interrupts
from remedy.change.ledger import STATE_DIR
from remedy.change.network import settings
from remedy.change.transaction import heard
from remedy.change.types import Event, Outcome, Report
from remedy.errors import Exit, Refused, RemedyError, UsageError
from remedy.facts.run import PATH, Programs, run
from remedy.plan.types import Plan
from remedy.value import dataclass

Choice = Literal["watch", "back", "leave"]
#: Bytes that may wait for a reader before news of progress is dropped.
_BACKLOG = 1 << 20
#: Seconds that the unit waits for a reader of its last word, and that we wait for the unit to take a signal.
_LAST_WORD, _SIGNAL = 60.0, 10.0
#: systemd.kill(5), systemd.service(5): apt goes on where the main process dies, a stop waits for the way back, and what
#: a killed main process left is recovered at once.
_PROPERTIES = ("KillMode=process", "TimeoutStopSec=1h", "OOMScoreAdjust=-500", "Description=Change of a CUDA toolchain")
_RECOVERY = "test ! -e {mark} || exec {command} >&2"


@dataclass(frozen=True)
class Apply:
    """Carry out the plan that was shown; ``wishes`` is what its maker wants to know again, opaque here."""

    plan: Plan
    wishes: str = ""


@dataclass(frozen=True)
class Undo:
    """Undo a kept change: the transaction of that name, or the latest."""

    transaction: str | None = None


Job = Apply | Undo


@dataclass(frozen=True)
class Request:
    """What the unit is asked to do, and the variables of the terminal that apt and pip need for a proxy."""

    job: Job
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Failure:
    """An error instead of an outcome."""

    message: str
    hint: str | None
    exit_code: int

    def error(self) -> RemedyError:
        """What the unit raised, as its own kind."""
        kinds: dict[int, type[Refused] | type[UsageError]] = {Exit.REFUSED: Refused, Exit.USAGE: UsageError}
        kind = kinds.get(self.exit_code)
        if kind is not None:
            return kind(self.message, hint=self.hint)
        return RemedyError(self.message, hint=self.hint, exit_code=self.exit_code)


Message = Event | Outcome | Failure
Act = Callable[[Job, Report, Interrupts], Outcome]


def request(job: Job) -> Request:
    """A request with this process's proxy settings."""
    return Request(job, tuple(settings(os.environ).items()))


def serve(act: Act) -> int:
    """The unit's side: read the request from standard input, carry it out, say how it ended on standard output.

    Returns the outcome's exit code. Nothing but messages goes to standard output, and no reader can hold it up.
    """
    with Interrupts() as interrupts:
        voice = _Voice(os.dup(1))
        os.dup2(2, 1)
        ended = _carried_out(act, voice, interrupts)
        voice.say(ended)
        voice.finish()
    return ended.exit_code if isinstance(ended, Failure) else ended.exit


def _carried_out(act: Act, voice: _Voice, interrupts: Interrupts) -> Outcome | Failure:
    try:
        wanted = codec.loads(Request, sys.stdin.buffer.read())
        os.environ.update(wanted.environment)
        return act(wanted.job, voice.say, interrupts)
    except Interrupted as error:
        return Outcome("interrupted", Exit.INTERRUPTED, reason=f"{error} before any change")
    except RemedyError as error:
        return Failure(error.message, error.hint, error.exit_code)
    except Exception as error:
        return Failure(f"a fault of its own: {type(error).__name__}: {error}", None, Exit.INTERNAL)


class _Voice:
    """Messages to a reader that may be slow, stopped or gone: what it does not take waits here, and news of progress
    is dropped before the change is held up."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting = b""
        os.set_blocking(fd, False)

    def say(self, message: Message) -> None:
        """Send a message, or keep it for later."""
        if len(self._waiting) > _BACKLOG and isinstance(message, Event) and message.state == "running":
            return
        self._waiting += codec.dumps(message).encode() + b"\n"
        self._send()

    def _send(self) -> None:
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self._fd, self._waiting) :]
        except BlockingIOError:
            pass
        except OSError:
            self._waiting = b""

    def finish(self) -> None:
        """Give the reader time to take the rest."""
        until = time.monotonic() + _LAST_WORD
        while self._waiting and (left := until - time.monotonic()) > 0:
            select.select([], [self._fd], [], left)
            self._send()


def start(worker: list[str], wanted: Request, report: Report, ask: Callable[[], Choice]) -> Outcome:
    """Carry a request out in a unit of its own, and follow it to its outcome.

    ``worker`` is the command whose process calls ``serve``. ``ask`` is called once, at the first Ctrl-C; another one
    meanwhile asks for the way back, as SIGTERM does. SIGHUP leaves the change running, and so does the death of this
    process. Raises the error that the unit raised, and Refused where it could not be started: nothing was touched.
    """
    name, before = f"remedy-apply-{secrets.token_hex(4)}.service", {one.id: one.state for one in history()}
    with Interrupts() as interrupts:
        child = _spawn(name, worker, codec.dumps(wanted).encode())
        follower = _Follower(name, _Messages(child, interrupts), heard(report), interrupts, ask)
        outcome = follower.run()
        if outcome is None:
            child.wait()
            outcome = _after_death(wanted.job, before, f"the process of {name} was killed")
    if outcome is None and follower.went_back:
        return Outcome("interrupted", Exit.INTERRUPTED, reason="before any change")
    if outcome is None:
        said = follower.messages.errors.decode(errors="replace").strip() or "it ended without a word"
        raise Refused(f"nothing was touched: {name} did not begin: {said}", hint=f"journalctl -u {name}")
    return outcome


def _after_death(job: Job, before: dict[str, str], reason: str) -> Outcome | None:
    """What the recovery, which systemd has run by now, made of the transaction; None where there was none.

    A change that was killed leaves one that was not there before, an undoing one whose state is another.
    """
    mine = [one for one in history() if before.get(one.id) != one.state]
    if not mine:
        return None
    last = mine[-1]
    if last.state == "healthy":
        return Outcome("healthy", Exit.DONE, last.id, last.cause, last.reason, None, last.left)
    if last.state == "rolled-back":
        code = Exit.DONE if isinstance(job, Undo) else Exit.ROLLED_BACK
        return Outcome("rolled-back", code, last.id, last.cause, reason)
    left = last.left or (f"the transaction {last.id} is {last.state}: remedy recover",)
    return Outcome("rollback-incomplete", Exit.ROLLBACK_INCOMPLETE, last.id, last.cause, reason, None, left)


def _spawn(name: str, worker: list[str], data: bytes) -> subprocess.Popen[bytes]:
    recovery = _RECOVERY.format(mark=STATE_DIR / "unfinished", command=shlex.join(command("remedy", "recover")))
    properties = (*_PROPERTIES, f"ExecStopPost={line(['/bin/sh', '-c', recovery])}")
    argv = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", f"--unit={name}"]
    argv += [f"--property={one}" for one in properties]
    stdin = os.memfd_create("request")
    try:
        os.write(stdin, data)
        os.lseek(stdin, 0, os.SEEK_SET)
        return subprocess.Popen(
            [*argv, "--", *worker],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": PATH, "LC_ALL": "C"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise Refused(f"nothing was touched: systemd-run can't be run: {error.strerror}") from error
    finally:
        os.close(stdin)


class _Messages:
    """What the unit says, a line each; its errors are kept, the last of them."""

    def __init__(self, child: subprocess.Popen[bytes], interrupts: Interrupts) -> None:
        assert child.stdout is not None and child.stderr is not None
        self._out, self._err = child.stdout.fileno(), child.stderr.fileno()
        self._open = {self._out, self._err}
        self._interrupts = interrupts
        self._pending = b""
        self.errors = b""

    def next(self) -> Message | None:
        """The next message, None after the last. Raises Interrupted."""
        while b"\n" not in self._pending:
            if self._out not in self._open:
                return None
            with self._interrupts.raising():
                ready = select.select(self._open, [], [])[0]
            for fd in ready:
                self._read(fd)
        line, _, self._pending = self._pending.partition(b"\n")
        return codec.loads(Message, line)  # type: ignore[arg-type]  # a union is no type to mypy

    @property
    def open(self) -> bool:
        """Whether the unit still has a voice."""
        return bool(self._open)

    def _read(self, fd: int) -> None:
        data = os.read(fd, 1 << 16)
        if not data:
            self._open.discard(fd)
        elif fd == self._out:
            self._pending += data
        else:
            self.errors = (self.errors + data)[-4000:]


class _Follower:
    """The terminal's side: messages shown as they come, signals turned into choices."""

    def __init__(
        self, unit: str, messages: _Messages, report: Report, interrupts: Interrupts, ask: Callable[[], Choice]
    ) -> None:
        self.messages = messages
        self.went_back = False
        self._unit = unit
        self._report = report
        self._interrupts = interrupts
        self._ask = ask
        self._asked = False

    def run(self) -> Outcome | None:
        """Follow to the outcome; None where the unit ended without one."""
        while True:
            try:
                message = self.messages.next()
            except Interrupted:
                choice = self._choice()
                if choice == "leave":
                    reason = f"to follow it: journalctl -fu {self._unit}; how it ended: remedy history"
                    return Outcome("under-way", Exit.PROBLEM, reason=reason)
                if choice == "back":
                    self._go_back()
                continue
            if message is None or isinstance(message, Outcome):
                return message
            if isinstance(message, Failure):
                raise message.error()
            self._report(message)

    def _choice(self) -> Choice:
        number = self._interrupts.take()
        if number != "SIGINT" or self._asked:
            return "leave" if number == "SIGHUP" else "back"
        self._asked = True
        try:
            with self._interrupts.raising():
                return self._ask()
        except Interrupted:
            return "leave" if self._interrupts.take() == "SIGHUP" else "back"

    def _go_back(self) -> None:
        """Pass the wish on; a unit that is only being started can't take it yet."""
        self.went_back, until = True, time.monotonic() + _SIGNAL
        argv = ["systemctl", "kill", "--kill-who=main", "--signal=INT", "--", self._unit]
        while not run(Programs(), argv, timeout=30).ok and self.messages.open and time.monotonic() < until:
            time.sleep(0.1)
