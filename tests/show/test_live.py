"""What a terminal shows while a change or a start runs, and what a pipe gets."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pyte
import pytest

from remedy.change.types import Event
from remedy.gate.types import Progress, Verdict
from remedy.show.live import JsonLines, Live

SHARDS = "[2026-05-02 10:11:03 TP0] Loading safetensors checkpoint shards:  62% Completed | 18/29 [01:21<00:50]"


class Clock:
    """Seconds, as the test wants them."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Screen:
    """A terminal of so many columns: what was written into it is what it shows."""

    def __init__(self, columns: int, rows: int = 24) -> None:
        self._outer, inner = pty.openpty()
        self.stream = os.fdopen(inner, "w")
        self._rows = rows
        self._shown = pyte.Screen(columns, rows)
        self._feed = pyte.ByteStream(self._shown)
        self.written = b""
        self._size(columns)

    def _size(self, columns: int) -> None:
        fcntl.ioctl(self.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", self._rows, columns, 0, 0))

    def resize(self, columns: int, *, told: bool = True) -> None:
        """Make it wider or narrower, as terminals do that wrap anew what stands there: rows that were full go on in
        the next one, and the cursor stays at its character. tmux tells a program of it up to 250 ms later."""
        rows = self.lines()
        texts, at, full = [""], (0, 0), False
        for number, row in enumerate(rows):
            if number and not full:
                texts.append("")
            if number == self._shown.cursor.y:
                at = (len(texts) - 1, len(texts[-1]) + self._shown.cursor.x)
            texts[-1] += row
            full = len(row) == self._shown.columns
        wrapped = [[text[n : n + columns] for n in range(0, max(1, len(text)), columns)] for text in texts]
        above = sum(map(len, wrapped[: at[0]])) + at[1] // columns
        self._shown = pyte.Screen(columns, self._rows)
        self._feed = pyte.ByteStream(self._shown)
        self._feed.feed("\r\n".join(part for parts in wrapped for part in parts).encode())
        self._shown.cursor_position(above + 1, at[1] % columns + 1)
        if told:
            self._size(columns)

    def lines(self) -> list[str]:
        """Its lines down to the last that holds something."""
        os.set_blocking(self._outer, False)
        try:
            while data := os.read(self._outer, 1 << 16):
                self.written += data
                self._feed.feed(data)
        except BlockingIOError:
            pass
        text = "\n".join(line.rstrip() for line in self._shown.display).rstrip()
        return text.split("\n") if text else []

    def close(self) -> None:
        """Hang up."""
        self.stream.close()
        os.close(self._outer)


@contextmanager
def terminal(columns: int = 80) -> Iterator[tuple[Screen, Live, Clock]]:
    screen, clock = Screen(columns), Clock()
    with Live(screen.stream, clock) as live:
        yield screen, live, clock
    screen.close()


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLUMNS", raising=False)


def start(line: str = SHARDS, phase: str = "weights", done: int | None = 18, elapsed: float = 72.0) -> Event:
    total = None if done is None else 29
    return Event("progress", line, progress=Progress(phase, elapsed, line, done, total, expected=630.0))


def step(text: str, state: str = "running", fraction: float | None = None) -> Event:
    return Event("step", text, state, 2, 3, fraction)  # type: ignore[arg-type]


def test_a_start_is_two_lines_in_their_place() -> None:
    with terminal() as (screen, live, clock):
        live.event(step("restart sglang.service", "begin"))
        live.event(start(done=17))
        live.event(start())
        clock.now += 3
        live.tick()
        assert screen.lines() == [
            "[2/3] restart sglang.service",
            "        72 s  loading weights 17/29",
            "75 s of about 10 min 30 s  loading weights 18/29",
            "              Loading safetensors checkpoint shards:  62% Completed | 18/29 [0…",
        ]
        live.event(start("Capture cuda graph begin.", "graph-capture", None, 80.0))
        clock.now += 30
        live.tick()
        assert screen.lines()[-1].endswith("  30 s ago: Capture cuda graph begin.")
        assert screen.lines()[-2].endswith("capturing CUDA graphs")
        verdict = Verdict("healthy", "the ready line was logged", "line", 115.0)
        live.event(Event("verdict", "", "done", verdict=verdict))
        live.event(step("restart sglang.service", "done"))
        assert screen.lines()[-1] == "healthy after 115 s: the ready line was logged"
        assert len(screen.lines()) == 4


def test_a_step_is_one_line_once_it_is_done() -> None:
    with terminal() as (screen, live, clock):
        live.event(step("install cuda-nvcc-13-0", "begin"))
        for number in range(100):
            clock.now += 0.1
            live.event(step(f"Unpacking package {number}", fraction=number / 100))
        assert screen.lines() == ["[2/3] install cuda-nvcc-13-0", "        10 s  [2/3] Unpacking package 99 99%"]
        live.event(step("install cuda-nvcc-13-0", "done"))
        assert screen.lines() == ["[2/3] done: install cuda-nvcc-13-0   10 s"]


@pytest.mark.parametrize("columns", [80, 40, 20, 8])
def test_nothing_is_wider_than_the_terminal(columns: int) -> None:
    with terminal(columns) as (screen, live, _):
        live.event(step("restart sglang.service", "begin"))
        live.event(start("模型加载中 " * 30))
        for number in range(20):
            live.event(start(f"{number} 模型加载中 " * 30, "log"))
        lines = screen.lines()
        assert len([line for line in lines if "模" in line]) <= 1
        assert lines[-1].startswith(" ") or columns < 20
        assert len(lines) < 12


@pytest.mark.parametrize("widths", [(50,), (30, 80), (60, 40), (60, 40, 100), (90, 30, 45)])
@pytest.mark.parametrize("told", [True, False], ids=["told", "told-late"])
def test_a_new_width_leaves_nothing_behind(widths: tuple[int, ...], told: bool) -> None:
    with terminal(80) as (screen, live, clock):
        live.event(step("restart sglang.service", "begin"))
        live.event(start())
        for columns in widths:
            screen.resize(columns, told=told)
            clock.now += 1
            live.tick()
        screen.resize(columns)
        clock.now += 1
        live.tick()
        lines = screen.lines()
        assert lines[0] == "[2/3] restart sglang.service"
        assert lines[-2].startswith(f"{73 + len(widths)} s of about") and lines[-1].strip().startswith("Loading")
        assert sum("about" in line for line in lines) == 1
        live.event(step("restart sglang.service", "done"))
        assert not any("about" in line or "Loading" in line for line in screen.lines())


def test_a_screen_is_never_cleared_from_its_first_cell() -> None:
    with terminal() as (screen, live, clock):
        live.event(step("install cuda-nvcc-13-0", "begin"))
        for _ in range(3):
            clock.now += 1
            live.tick()
            screen.lines()
        assert b"\x1b[J" in screen.written and not re.search(rb"(\r|\n|^)\x1b\[J", screen.written)


def test_what_the_service_logs_moves_no_cursor() -> None:
    with terminal() as (screen, live, _):
        live.event(start("\x1b[2J\x1b]0;title\x07evil\rline\tand a tab\x9b5A"))
        assert b"\x1b[2J" not in screen.written and screen.lines()[-1].strip() == r"line and a tab\x9b5A"
        live.event(start("api_key='sk-abcdefghijklmnop'", "log", None))
        assert "abcdefgh" not in "".join(screen.lines())


def test_an_overdue_start_says_so() -> None:
    with terminal() as (screen, live, _):
        live.event(start(elapsed=700.0))
        assert "11 min 40 s, the last good start took 10 min 30 s" in screen.lines()[-2]


def test_a_rollback_is_a_line_for_each_step() -> None:
    events = [Event("rollback", "rolling back: it failed", "begin")]
    events += [Event("rollback", "undo: install cuda-nvcc-13-0")]
    events += [Event("rollback", f"Removing {number}", fraction=number / 50) for number in range(50)]
    events += [Event("rollback", "start x.service as it was before"), start(), Event("rollback", "rolled back", "done")]
    wanted = ["rolling back: it failed", "undo: install cuda-nvcc-13-0", "start x.service as it was before"]
    with terminal() as (screen, live, _):
        for event in events:
            live.event(event)
        assert screen.lines() == [*wanted, "        72 s  loading weights 18/29", "rolled back"]
    said = piped(events)
    assert said == [*wanted, "        72 s  loading weights 18/29", "rolled back"]


def piped(events: list[Event], apart: float = 0.1) -> list[str]:
    stream, clock = io.StringIO(), Clock()
    with Live(stream, clock) as live:
        for event in events:
            clock.now += apart
            live.event(event)
            live.tick()
    assert "\x1b" not in stream.getvalue() and "\r" not in stream.getvalue()
    return stream.getvalue().splitlines()


def test_a_pipe_gets_what_is_new_and_now_and_then_what_still_runs() -> None:
    events = [step("install cuda-nvcc-13-0", "begin")]
    events += [step(f"Unpacking package {number}", fraction=number / 500) for number in range(500)]
    events += [step("install cuda-nvcc-13-0", "done"), step("restart x.service", "begin")]
    events += [start(f"shard {number}", done=number, elapsed=number / 10) for number in range(500)]
    said = piped(events)
    assert said[0] == "[2/3] install cuda-nvcc-13-0"
    assert said[1] == "        30 s  [2/3] Unpacking package 300 60%"
    assert said[2:4] == ["[2/3] restart x.service", "       0.0 s  loading weights 0/29"]
    assert re.fullmatch(r"30 s of about 10 min 30 s  loading weights (\d+)/29  shard \1", said[4])
    assert len(said) == 5


def test_a_dumb_terminal_is_written_to_as_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with terminal() as (screen, live, _):
        live.event(step("restart x.service", "begin"))
        live.event(start())
        live.event(start(done=19))
        assert screen.lines() == ["[2/3] restart x.service", "        72 s  loading weights 18/29"]
        assert b"\x1b" not in screen.written


def test_a_terminal_that_is_gone_ends_only_the_showing() -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(5, "Input/output error")

    stream: TextIO = Gone()
    with pytest.raises(OSError, match="Input"), Live(stream, Clock()) as live:
        live.event(step("restart x.service", "begin"))


def test_json_lines_are_bounded() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = JsonLines(stream, clock)
    for number in range(1000):
        clock.now += 0.01
        lines.event(step("Unpacking", fraction=number / 1000))
    lines.event(start())
    said = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert 9 <= len(said) <= 12
    assert (said[-1]["phase"], said[-1]["done"], said[-1]["total"], said[-1]["expected"]) == ("weights", 18, 29, 630.0)
