"""Both ends of a log that is too large to be read in full: where the cause stands, and where the end does."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from remedy.hints import TYPE_CHECKING, Final
from remedy.value import dataclass

if TYPE_CHECKING:
    from typing import IO

#: Bytes of the beginning and of the end of a log that are looked at. A failing start of eight ranks, with a build in
#: it, writes some megabytes.
HEAD: Final = 4 << 20
TAIL: Final = 16 << 20
_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class Gap:
    """A stretch that was left out, in bytes. Its lines are not counted: that would be reading it."""

    size: int


def ends_of(file: IO[bytes], head: int = HEAD, tail: int = TAIL, block: int = _BLOCK) -> Iterator[bytes | Gap]:
    """``ends`` of a file, from where it is read now. What lies between the ends of a regular file is not read at all;
    whatever else it is (a pipe, a socket) has to be read through."""
    blocks = iter(lambda: file.read(block), b"")
    if _left(file) <= head + tail + block:
        yield from ends(blocks, head, tail)
        return
    yield from islice(blocks, -(-head // block))
    stopped = file.tell()
    yield Gap(file.seek(-tail, os.SEEK_END) - stopped)
    yield from blocks


def _left(file: IO[bytes]) -> int:
    """The bytes to the end of a regular file; 0 for anything else."""
    status = os.fstat(file.fileno())
    return status.st_size - file.tell() if stat.S_ISREG(status.st_mode) else 0


def ends(blocks: Iterable[bytes], head: int = HEAD, tail: int = TAIL) -> Iterator[bytes | Gap]:
    """The blocks of the first ``head`` and of the last ``tail`` bytes, with a gap for what lies between them. Keeps no
    more than ``tail`` bytes and a block."""
    seen = kept = size = 0
    last: deque[bytes] = deque()
    for block in blocks:
        if seen < head:
            seen += len(block)
            yield block
            continue
        last.append(block)
        kept += len(block)
        while kept - len(last[0]) >= tail:
            dropped = len(last.popleft())
            kept -= dropped
            size += dropped
    if size:
        yield Gap(size)
    yield from last
