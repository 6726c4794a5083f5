"""Lines that journald drops: counted against its limit, and a start that is judged without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from remedy.facts.types import LogLine
from remedy.gate import ratelimit
from tests.gate.test_watch import READY, expect, stub, watch
from tests.lab.machine import Machine


def line(seconds: float, text: str = "x", identifier: str = "python3", manager: bool = False) -> LogLine:
    return LogLine(text, int(seconds * 1e6), identifier, 1, "a", manager)


@pytest.mark.parametrize(
    ("interval", "burst", "times", "reached"),
    [
        (30.0, 10, [0, 1, 2, 3], False),
        # Half of the limit: journald's own interval may have begun before ours.
        (30.0, 10, [0, 1, 2, 3, 4], True),
        (30.0, 10, [0, 20, 40, 60, 80, 100], False),
        (30.0, 10, [0, 40, 41, 42, 43, 44], True),
        (30.0, 1, [0], True),
        (0.0, 10, range(100), False),
        (30.0, 0, range(100), False),
    ],
)
def test_lines_are_counted(interval: float, burst: int, times: list[float], reached: bool) -> None:
    counted = ratelimit.RateLimit(interval, burst)
    for at in times:
        counted.take(line(1000 + at))
        counted.take(line(1000 + at, manager=True))
    assert (counted.why is not None) == reached


def test_journalds_own_word_counts_most() -> None:
    counted = ratelimit.RateLimit(30.0, 10_000)
    counted.take(line(1, "Suppressed 7 messages from a.service", "systemd-journald", manager=True))
    assert counted.why == "journald: Suppressed 7 messages from a.service"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, (30.0, 10_000)),
        ({"etc/journald.conf": "[Journal]\nRateLimitBurst=7\n#RateLimitIntervalSec=9\n"}, (30.0, 7)),
        (
            {"usr/journald.conf.d/a.conf": "RateLimitBurst=7\nRateLimitIntervalSec=1min\n", "etc/journald.conf": ""},
            (60.0, 7),
        ),
        ({"usr/journald.conf.d/a.conf": "RateLimitBurst=7\n", "etc/journald.conf.d/a.conf": ""}, (30.0, 10_000)),
        ({"etc/journald.conf": "RateLimitBurst=7\n", "usr/journald.conf.d/a.conf": "RateLimitBurst = 8\n"}, (30.0, 8)),
        ({"etc/journald.conf": "RateLimitIntervalSec=0\n"}, (0.0, 10_000)),
        ({"etc/journald.conf": "RateLimitIntervalSec=often\nRateLimitBurst=-1\n"}, (30.0, 10_000)),
    ],
)
def test_the_limit_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], wanted: tuple[float, int]
) -> None:
    monkeypatch.setattr(ratelimit, "_FOLDERS", (f"{tmp_path}/etc", f"{tmp_path}/usr"))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert ratelimit._settings() == wanted


#: As few as journald can be told; it takes some more the more room its disk has.
LIMITED = ("LogRateLimitIntervalSec={interval}", "LogRateLimitBurst=1")
FLOOD = ("flood", 30_000, "say", READY)


@pytest.mark.machine
@pytest.mark.parametrize(
    ("interval", "more", "words"),
    [("1h", (), "dropped some of its lines"), ("1s", ("wait", 1.5, "say", "later"), "journald: Suppressed")],
    ids=["silent", "told"],
)
def test_a_ready_line_that_was_dropped_leaves_it_undecided(
    machine: Machine, interval: str, more: tuple[object, ...], words: str
) -> None:
    limits = [one.format(interval=interval) for one in LIMITED]
    said = watch(machine, *limits, stub(*FLOOD, *more, "stay"), expect=expect(timeout=3.0))
    assert (said["state"], said["by"]) == ("undecided", "timeout"), said
    assert "a ready line could not have been seen: " in said["reason"] and words in said["reason"], said


@pytest.mark.machine
def test_silence_after_dropped_lines_is_no_hang(machine: Machine) -> None:
    limits = [one.format(interval="1h") for one in LIMITED]
    said = watch(machine, *limits, stub(*FLOOD, "stay"), hang=2.0)
    assert (said["state"], said["by"]) == ("undecided", "hang"), said
    assert "a ready line could not have been seen: " in said["reason"], said
