"""Logs too large to be read in full, and logs that are made to take long."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from remedy.causes import engine
from remedy.facts.log_ends import Gap, ends

CAUSE = b"sglang.service: Failed at step EXEC spawning /opt/x: No such file or directory\n"
BLOCK = b'INFO 127.0.0.1 "GET /health HTTP/1.1" 200 OK\n' * 20_000


@pytest.mark.parametrize("place", ["first", "last"])
def test_the_cause_at_either_end_is_found_with_its_line(place: str) -> None:
    blocks = [BLOCK] * 60
    whole = [CAUSE, *blocks] if place == "first" else [*blocks, CAUSE]
    found = engine.explain_blocks(ends(whole))
    assert found.root.id == "exec-failed"
    assert found.root.evidence[0].source.split()[0] == ("log:1" if place == "first" else "log:-1")
    assert "MiB between" in found.unread and "-1 is the last" in found.unread


def test_behind_a_gap_lines_are_counted_from_the_end() -> None:
    """A gap begins and ends in the middle of lines; what lies on both sides of it is near to nothing."""
    scan = engine.scanner().scan_blocks([b"x\n" + CAUSE + b"half a li", Gap(7), b"ne\n" + CAUSE + b"y\nz"])
    ((signature, hits),) = ((one, hits) for one, hits in scan.found.items() if "exec" in one.anchor.lower())
    assert [hit.line.source.split()[0] for hit in hits] == ["log:2", "log:-3"], signature
    assert scan.last is not None and scan.last.source == "log:-1"
    assert scan.unread == 7
    assert hits[1].line.number - hits[0].line.number > 7


def test_what_was_read_whole_is_not_excused() -> None:
    assert engine.explain_blocks([BLOCK, CAUSE]).unread == ""


@pytest.mark.parametrize("blocks", [[], [b""], [b"\n \n\r\n"]])
def test_an_empty_log_is_called_empty(blocks: list[bytes]) -> None:
    root = engine.explain_blocks(blocks).root
    assert (root.id, root.summary.partition(":")[0]) == ("unknown", "The log is empty")


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
