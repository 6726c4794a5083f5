"""A change in a unit of its own: the terminal only follows, and may go away.

``systemd-run --pipe`` hands the unit its request on standard input (nothing of it stands on a command line) and us its
messages; a reader that is gone changes nothing for the unit. Should the unit's process die, systemd runs the recovery.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Literal

from remedy.change import codec
from remedy.change.history import history
from remedy.change.interrupts import Interrupted, Interrupts
from remedy.change.ledger import STATE_DIR
from remedy.change.types import Event, Outcome, Report
from remedy.errors import Exit, RemedyError
from remedy.facts.run import PATH, Programs, run
from remedy.plan.types import Plan
from remedy.value import dataclass

Choice = Literal["watch", "back", "leave"]
_PROXIES = re.compile(r"(https?|ftp|no|all)_proxy|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE", re.IGNORECASE)
#: systemd.kill(5), systemd.service(5): apt goes on where the main process dies, a stop waits for the way back, and what
#: a killed main process left is recovered at once ("$$" is systemd's "$").
_PROPERTIES = ("KillMode=process", "TimeoutStopSec=1h", "OOMScoreAdjust=-500", "Description=Change of a CUDA toolchain")
_RECOVERY = """ExecStopPost=/bin/sh -c 'test ! -e {mark} || exec "$$0" -I -m remedy recover >&2' "{python}\""""


@dataclass(frozen=True, slots=True)
class Request:
    """What the unit is asked to do: the plan that was shown, what its maker wants to know again (``wishes``, opaque
    here), and the variables of the terminal that apt and pip need for a proxy."""

    plan: Plan
    wishes: str = ""
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An error instead of an outcome."""

    message: str
    hint: str | None
    exit_code: int


Message = Event | Outcome | Failure


def request(plan: Plan, wishes: str = "") -> Request:
    """A request with this process's proxy settings."""
    return Request(plan, wishes, tuple((name, value) for name, value in os.environ.items() if _PROXIES.fullmatch(name)))


def serve(act: Callable[[Request, Report], Outcome]) -> int:
    """The unit's side: read the request from standard input, carry it out, say how it ended on standard output.

    Returns the outcome's exit code. Nothing but messages goes to standard output.
    """
    out = os.dup(1)
    os.dup2(2, 1)

    def say(message: Message) -> None:
        with contextlib.suppress(OSError):
            os.write(out, codec.dumps(message).encode() + b"\n")

    wanted = codec.loads(Request, sys.stdin.buffer.read())
    os.environ.update(wanted.environment)
    try:
        outcome = act(wanted, say)
    except RemedyError as error:
        say(Failure(error.message, error.hint, error.exit_code))
        return error.exit_code
    say(outcome)
    return outcome.exit


def start(worker: list[str], wanted: Request, report: Report, ask: Callable[[], Choice]) -> Outcome:
    """Carry a request out in a unit of its own, and follow it to its outcome.

    ``worker`` is the command whose process calls ``serve``. ``ask`` is called once, at the first Ctrl-C. SIGTERM asks
    for the way back; SIGHUP leaves the change running, and so does the death of this process. Raises the error that
    the unit raised, and RemedyError where it could not be started.
    """
    name, begin = f"remedy-apply-{secrets.token_hex(4)}.service", time.time()
    with Interrupts() as interrupts:
        child = _spawn(name, worker, codec.dumps(wanted).encode())
        messages = _Messages(child, interrupts)
        outcome = _follow(messages, name, report, interrupts, ask)
    if outcome is None:
        child.wait()
        outcome = _after_death(wanted.plan, begin, f"the process of {name} was killed")
    if outcome is None:
        said = messages.errors.decode(errors="replace").strip() or "no word of why"
        raise RemedyError(f"the change in {name} did not begin: {said}", hint=f"journalctl -u {name}")
    return outcome


def _after_death(plan: Plan, begin: float, reason: str) -> Outcome | None:
    """What the recovery, which systemd has run by now, made of the transaction; None where there was none."""
    mine = [one for one in history() if one.unit == plan.unit and one.created >= begin - 1]
    if not mine:
        return None
    last = mine[-1]
    if last.state == "healthy":
        return Outcome("healthy", Exit.DONE, last.id, plan.cause, last.reason, None, last.left)
    if last.state == "rolled-back":
        return Outcome("rolled-back", Exit.ROLLED_BACK, last.id, plan.cause, reason)
    left = last.left or (f"the transaction {last.id} is {last.state}: remedy recover",)
    return Outcome("rollback-incomplete", Exit.ROLLBACK_INCOMPLETE, last.id, plan.cause, reason, None, left)


def _spawn(name: str, worker: list[str], data: bytes) -> subprocess.Popen[bytes]:
    python = sys.executable.replace("\\", "\\\\").replace("%", "%%").replace('"', '\\"')
    properties = (*_PROPERTIES, _RECOVERY.format(mark=STATE_DIR / "unfinished", python=python))
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
        raise RemedyError(f"systemd-run can't be run: {error.strerror}") from error
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

    def _read(self, fd: int) -> None:
        data = os.read(fd, 1 << 16)
        if not data:
            self._open.discard(fd)
        elif fd == self._out:
            self._pending += data
        else:
            self.errors = (self.errors + data)[-4000:]


def _follow(
    messages: _Messages, unit: str, report: Report, interrupts: Interrupts, ask: Callable[[], Choice]
) -> Outcome | None:
    asked = False
    while True:
        try:
            message = messages.next()
        except Interrupted:
            choice, asked = _choice(interrupts.take(), asked, ask), True
            if choice == "leave":
                reason = f"the change goes on without this terminal: journalctl -fu {unit}; remedy history"
                return Outcome("interrupted", Exit.PROBLEM, reason=reason)
            if choice == "back":
                run(Programs(), ["systemctl", "kill", "--kill-who=main", "--signal=INT", "--", unit], timeout=30)
            continue
        if message is None or isinstance(message, Outcome):
            return message
        if isinstance(message, Failure):
            raise RemedyError(message.message, hint=message.hint, exit_code=Exit(message.exit_code))
        report(message)


def _choice(number: str | None, asked: bool, ask: Callable[[], Choice]) -> Choice:
    if number == "SIGHUP":
        return "leave"
    return ask() if number == "SIGINT" and not asked else "back"
