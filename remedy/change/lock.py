"""One change at a time on a machine: a flock that goes with the process, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType

from remedy.change.ledger import private_folder
from remedy.errors import Refused


class Lock:
    """The machine-wide lock, ``<state_dir>/lock``. Its text names the holder: pid and what it is doing."""

    def __init__(self, state_dir: Path, purpose: str) -> None:
        self._path = state_dir / "lock"
        self._purpose = purpose
        self._fd = -1

    def __enter__(self) -> Lock:
        try:
            private_folder(self._path.parent)
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(f"{self._path}: {error.strerror}", hint="nothing is begun without the lock") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 400).decode(errors="replace").strip() or "another process"
            os.close(self._fd)
            raise Refused(
                f"another change is under way: {holder}", hint="wait for it to end; `remedy history` shows it"
            ) from None
        self.note(self._purpose)
        return self

    def note(self, purpose: str) -> None:
        """Say what the holder is doing now."""
        # The lock holds without its text, which a full disk does not take.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"pid {os.getpid()}, {purpose}\n".encode(), 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The file stays: removing it would let two processes hold locks on two files of one name.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)
