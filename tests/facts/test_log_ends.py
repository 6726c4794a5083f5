"""Both ends of a log: of a file without reading what lies between, of anything else by reading through."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from remedy.facts.log_ends import Gap, ends, ends_of

BLOCKS = [b"1\n2\n", b"3\n4\n", b"5\n6\n", b"7\n8\n"]


@pytest.mark.parametrize(
    ("blocks", "tail", "expected"),
    [
        (BLOCKS, 4, [BLOCKS[0], Gap(8), BLOCKS[3]]),
        (BLOCKS, 12, BLOCKS),
        ([], 4, []),
    ],
)
def test_blocks(blocks: list[bytes], tail: int, expected: list[bytes | Gap]) -> None:
    assert list(ends(blocks, head=4, tail=tail)) == expected


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (0, [b"abcd", Gap(17), b"vwxy", b"z"]),
        (10, [b"klmn", Gap(7), b"vwxy", b"z"]),
        # So little would be left out that it is read as well.
        (15, [b"pqrs", b"tuvw", b"xyz"]),
        # Behind the end of a file that was cut meanwhile.
        (30, []),
    ],
)
def test_a_file(tmp_path: Path, begin: int, expected: list[bytes | Gap]) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"abcdefghijklmnopqrstuvwxyz")
    with path.open("rb") as file:
        file.seek(begin)
        assert list(ends_of(file, head=2, tail=5, block=4)) == expected


def test_the_middle_of_a_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with path.open("rb") as file:
        assert list(ends_of(file, head=1, tail=8, block=8)) == [bytes(8), Gap((1 << 40) - 16), bytes(8)]


def test_a_pipe_is_read_through() -> None:
    with subprocess.Popen(["seq", "100000", "199999"], stdout=subprocess.PIPE) as seq:
        assert seq.stdout is not None
        *_, gap, last = ends_of(seq.stdout, head=1, tail=7, block=70)
    assert (gap, last) == (Gap(700_000 - 140), b"".join(b"%d\n" % number for number in range(199_990, 200_000)))
