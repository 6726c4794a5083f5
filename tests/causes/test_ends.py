"""Logs too large to be read in full, and logs that are made to take long."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from remedy.causes import engine
from remedy.causes.ends import Gap, ends

CAUSE = b"sglang.service: Failed at step EXEC spawning /opt/x: No such file or directory\n"
BLOCK = b'INFO 127.0.0.1 "GET /health HTTP/1.1" 200 OK\n' * 20_000


def test_both_ends_and_the_gap_between_them() -> None:
    blocks = [b"1\n2\n", b"3\n4\n", b"5\n6\n", b"7\n8\n"]
    assert list(ends(blocks, head=4, tail=4)) == [blocks[0], Gap(8, 4), blocks[3]]
    assert list(ends(blocks, head=4, tail=12)) == blocks
    assert list(ends([], head=4, tail=4)) == []


@pytest.mark.parametrize("place", ["first", "last"])
def test_the_cause_at_either_end_is_found_with_its_line(place: str) -> None:
    blocks = [BLOCK] * 60
    whole = [CAUSE, *blocks] if place == "first" else [*blocks, CAUSE]
    found = engine.explain_blocks(whole)
    assert found.root.id == "exec-failed"
    line = 1 if place == "first" else 60 * 20_000 + 1
    assert found.root.evidence[0].source.startswith(f"log:{line}")
    assert "MiB between" in found.unread


def test_what_was_read_whole_is_not_excused() -> None:
    assert engine.explain_blocks([BLOCK, CAUSE]).unread == ""


def hostile(lines: int) -> Iterator[bytes]:
    """Lines that all look like errors, none like another."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    for start in range(0, lines, 1000):
        names = (
            "".join(letters[(number >> bits) % 26] for bits in range(0, 20, 2)) for number in range(start, start + 1000)
        )
        yield "".join(f"ERROR: error in {name}: nvcc CUDA failed, not found\n" for name in names).encode()


def test_a_log_of_errors_costs_no_more_the_longer_it_is() -> None:
    began = time.process_time()
    found = engine.explain_blocks([*hostile(150_000), CAUSE])
    assert time.process_time() - began < 30
    assert found.root.id == "exec-failed"
    assert "look like errors" in found.unread
