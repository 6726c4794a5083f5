"""What a change in a unit of its own says, where nobody listens; the unit itself is tests/change/test_detached.py's."""

from __future__ import annotations

import os

import pytest

from remedy.change import codec
from remedy.change.detached import _BACKLOG, Failure, Message, _Voice
from remedy.change.types import Event, Outcome
from remedy.errors import Exit, Refused, RemedyError, UsageError


@pytest.mark.parametrize(
    ("code", "kind"), [(Exit.REFUSED, Refused), (Exit.USAGE, UsageError), (Exit.INTERNAL, RemedyError)]
)
def test_a_failure_is_raised_as_what_it_was(code: int, kind: type[RemedyError]) -> None:
    error = Failure("no", "so", code).error()
    assert (type(error), error.message, error.hint, error.exit_code) == (kind, "no", "so", code)


def test_a_reader_that_is_stopped_holds_nothing_up_and_hears_the_end() -> None:
    receiving, sending = os.pipe()
    voice = _Voice(sending)
    for _ in range(20_000):
        voice.say(Event("progress", "x" * 200))
    voice.say(Event("step", "restart", "done"))
    voice.say(Outcome("healthy", Exit.DONE))
    data = b""
    while voice._waiting:
        data += os.read(receiving, 1 << 16)
        voice._send()
    os.close(sending)
    while more := os.read(receiving, 1 << 16):
        data += more
    os.close(receiving)
    told: list[Message] = [codec.loads(Message, line) for line in data.splitlines()]  # type: ignore[arg-type]
    assert len(data) < 2 * _BACKLOG and len(told) < 20_000
    assert told[-2:] == [Event("step", "restart", "done"), Outcome("healthy", Exit.DONE)]


def test_a_reader_that_is_gone_changes_nothing() -> None:
    receiving, sending = os.pipe()
    os.close(receiving)
    voice = _Voice(sending)
    voice.say(Outcome("healthy", Exit.DONE))
    voice.finish()
    os.close(sending)
    assert voice._waiting == b""
