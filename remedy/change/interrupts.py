"""Signals that ask a change to stop: noted at once, acted on only where nothing is left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A signal asked for the way back."""


class Interrupts:
    """Notes SIGINT, SIGTERM and SIGHUP while it is entered. SIGHUP is taken as SIGTERM.

    ``check`` raises Interrupted between two steps; inside ``raising`` a signal does so at once. Out of the main
    thread Python takes no signals: then nothing is noted.
    """

    def __init__(self) -> None:
        self.pending: str | None = None
        self._raising = False
        self._old: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._old = {one: signal.signal(one, self._note) for one in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, handler in self._old.items():
            signal.signal(one, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.pending = signal.Signals(number).name
        if self._raising:
            self._raising = False
            raise Interrupted(self.pending)

    def take(self) -> str | None:
        """The signal that came, once."""
        taken, self.pending = self.pending, None
        return taken

    def check(self) -> None:
        """Raise Interrupted where a signal has come."""
        if self.pending is not None:
            raise Interrupted(self.pending)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Let a signal end what is waited for inside."""
        self._raising = True
        try:
            self.check()
            yield
        finally:
            self._raising = False
