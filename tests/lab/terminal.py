"""A terminal on a machine: what is typed at a shell, and what comes back, byte for byte."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from types import TracebackType

from tests.lab.machine import Machine, MachineError

PROMPT = "root@lab:~# "


class Terminal:
    """A root shell on a machine behind a pseudo terminal; a context manager. ``seen`` is all output, with its times."""

    def __init__(self, machine: Machine, columns: int, rows: int = 40) -> None:
        self.machine = machine
        self.columns, self.rows = columns, rows
        self.seen: list[tuple[float, str]] = []
        self._pid, self._fd = 0, -1
        self._begin = 0.0

    def __enter__(self) -> Terminal:
        argv = self.machine.argv(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"],
            env={"TERM": "xterm-256color", "PS1": r"\u@\h:\w# "},
        )
        self._begin = time.monotonic()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execvp(argv[0], argv)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
        self.type("cd", timeout=20)
        self.seen.clear()
        self._begin = time.monotonic()
        self.seen.append((0.0, PROMPT))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)
        os.kill(self._pid, signal.SIGHUP)
        os.waitpid(self._pid, 0)

    def type(self, line: str, until: str = PROMPT, timeout: float = 300) -> None:
        """Type a line and wait until the output ends with ``until``. Raises MachineError after ``timeout`` seconds."""
        os.write(self._fd, line.encode() + b"\n")
        deadline, new = time.monotonic() + timeout, ""
        # The echo of the line comes first: a prompt before it is the one that was typed at.
        while not (f"{line}\r\n" in new and new.endswith(until)):
            if not select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise MachineError(f"{line}: no {until!r} within {timeout} s\n{new}")
            new += self._read()

    def _read(self) -> str:
        text = os.read(self._fd, 1 << 16).decode(errors="replace")
        self.seen.append((round(time.monotonic() - self._begin, 3), text))
        return text

    @property
    def output(self) -> str:
        """All that came back."""
        return "".join(text for _, text in self.seen)
