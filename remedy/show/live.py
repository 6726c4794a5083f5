"""A change or a watch while it runs, for people: in a terminal a few lines that are kept up to date in their place, in
a pipe a line for what is new and now and then one for what still runs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType

from remedy.change.types import Event
from remedy.gate.types import Progress
from remedy.hints import Final, Protocol, TextIO
from remedy.show.block import Block
from remedy.show.events import event_json, event_text, line_text, phase_text
from remedy.show.text import duration, fill, moves, width
from remedy.value import dataclass

#: Seconds between two looks at the clock where lines can be rewritten, and between two lines where they can't.
_TICK: Final = 1.0
_STILL: Final = 30.0
#: Seconds without a line of the service after which that is said.
_QUIET: Final = 10.0

Clock = Callable[[], float]


class Voice(Protocol):
    """Who tells of events; to be closed before anything else is written."""

    def event(self, event: Event) -> None:
        """Tell of an event."""
        ...

    def paused(self) -> AbstractContextManager[object]:
        """Say nothing while this is entered."""
        ...

    def close(self) -> None:
        """Tell no more."""
        ...


def voice(*, json: bool) -> Voice:
    """Events as JSON on standard output, or for people on standard error."""
    return JsonLines(sys.stdout) if json else Live(sys.stderr)


class JsonLines:
    """Events as JSON objects, one a line; of those that only say how far a step is, one a second."""

    def __init__(self, stream: TextIO, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._counted_at = clock() - _TICK

    def event(self, event: Event) -> None:
        """Write an event at once."""
        from json import dumps

        if event.state == "running" and event.fraction is not None:
            if self._clock() - self._counted_at < _TICK:
                return
            self._counted_at = self._clock()
        print(dumps(event_json(event)), file=self._stream, flush=True)

    def paused(self) -> AbstractContextManager[object]:
        """Nothing is said but events."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is kept back."""


@dataclass
class Running:
    """What runs now: its ``head`` and since when, the newest ``detail`` of it, and how far a start is."""

    head: str
    since: float
    detail: str = ""
    at: float = 0.0
    headed: bool = False
    start: Progress | None = None


class Live:
    """Shows events on a stream; a context manager. Where the terminal goes away, the showing ends, and nothing else."""

    def __init__(self, stream: TextIO, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._block = Block(stream) if moves(stream) else None
        self._running: Running | None = None
        self._phases: set[str] = set()
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._ticker: threading.Thread | None = None
        self._shown_at = clock()

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the passing lines away."""
        self._ended.set()
        with self._lock:
            self._running = None
            if self._block is not None:
                self._block.clear()

    def event(self, event: Event) -> None:
        """Show an event."""
        counted = event.fraction is not None
        with self._lock:
            if event.progress is not None:
                self._progress(event.progress)
            elif event.verdict is not None:
                self._stay(event_text(event))
                self._running = None
            elif event.state == "begin" or (event.kind == "rollback" and event.state == "running" and not counted):
                self._begin(event)
            elif event.state == "running" and (event.kind == "step" or counted):
                self._detail(event)
            elif event.state == "running":
                self._stay(event_text(event))
            else:
                self._end(event)
            self._draw()
        if self._ticker is None and self._running is not None and not self._ended.is_set():
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The passing lines are away while this is entered: something else is written."""
        with self._lock:
            if self._block is not None:
                self._block.clear()
            yield

    def tick(self) -> None:
        """The clock has gone on."""
        with self._lock:
            if self._running is None:
                return
            if self._block is not None:
                self._draw()
            elif self._clock() - self._shown_at >= _STILL:
                first, *rest = self._status(self._running)
                self._write("  ".join((first, *(line.strip() for line in rest))).rstrip())

    def _tick(self) -> None:
        while not self._ended.wait(_TICK):
            try:
                self.tick()
            except (OSError, ValueError):
                # Nobody looks any more.
                return

    # --- what happens

    def _begin(self, event: Event) -> None:
        self._running = Running(event_text(event), self._clock())
        if self._block is None or event.kind == "rollback":
            self._head()

    def _detail(self, event: Event) -> None:
        if self._running is None:
            self._running = Running("", self._clock())
        self._running.detail, self._running.at = event_text(event), self._clock()

    def _end(self, event: Event) -> None:
        head = self._running
        self._running = None
        # In a terminal a step stands there once it is done, in a pipe from its beginning on.
        # Of a restart the verdict has told.
        if event.state == "failed" or event.kind != "step" or (head is not None and not head.headed):
            took = self._clock() - head.since if head is not None and event.kind == "step" else 0.0
            self._write(event_text(event) + (f"   {duration(took)}" if took >= 1 else ""))

    def _progress(self, progress: Progress) -> None:
        if self._running is None:
            self._running = Running("", self._clock(), headed=True)
        running, now = self._running, self._clock()
        if running.start is None or progress.phase != "log":
            running.start = progress
        running.detail, running.at = line_text(progress.line) or running.detail, now
        running.since = now - progress.elapsed
        # The end of one phase is no beginning of another.
        if progress.phase not in ("log", "loaded", *self._phases):
            self._phases.add(progress.phase)
            self._stay(f"{duration(progress.elapsed):>12}  {phase_text(progress, told=progress.phase == 'health')}")

    def _head(self) -> None:
        if self._running is not None and not self._running.headed:
            self._running.headed = True
            self._write(self._running.head)

    def _stay(self, text: str) -> None:
        """A line that stays, below the head of what it belongs to."""
        self._head()
        self._write(text)

    # --- how it looks

    def _write(self, text: str) -> None:
        if not text:
            return
        self._shown_at = self._clock()
        columns = width(self._stream)
        if self._block is None:
            print(text, file=self._stream, flush=True)
        else:
            indent = " " * (len(text) - len(text.lstrip()) + 2)
            self._block.above(fill(text.lstrip(), columns, indent[2:], indent))

    def _draw(self) -> None:
        if self._block is not None:
            self._block.show(self._status(self._running) if self._running is not None else [])

    def _status(self, running: Running) -> list[str]:
        """What runs, since when, how far it is, and the last that was said of it."""
        now = self._clock()
        took = now - running.since
        if running.start is None:
            head = [] if running.headed else [running.head]
            return [*head, f"{duration(took):>12}  {running.detail}".rstrip()]
        first = f"{duration(took) + _expected(took, running.start.expected):>12}  {phase_text(running.start)}"
        quiet = f"{duration(now - running.at)} ago: " if now - running.at >= _QUIET else ""
        return [first, f"{'':12}  {quiet}{running.detail}".rstrip()]


def _expected(elapsed: float, expected: float | None) -> str:
    if not expected:
        return ""
    return (
        f" of about {duration(expected)}" if elapsed <= expected else f", the last good start took {duration(expected)}"
    )
