"""Both ends of a log that is too large to be read in full: where the cause stands, and where the end does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from remedy.hints import Final
from remedy.value import dataclass

#: Bytes of the beginning and of the end of a log that are looked at. A failing start of eight ranks, with a build in
#: it, writes some megabytes.
HEAD: Final = 4 << 20
TAIL: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch that was left out: its bytes, and the line ends in it."""

    size: int
    lines: int


def ends(blocks: Iterable[bytes], head: int = HEAD, tail: int = TAIL) -> Iterator[bytes | Gap]:
    """The blocks of the first ``head`` and of the last ``tail`` bytes, with a gap for what lies between them. Keeps no
    more than ``tail`` bytes and a block."""
    seen = kept = size = lines = 0
    last: deque[bytes] = deque()
    for block in blocks:
        if seen < head:
            seen += len(block)
            yield block
            continue
        last.append(block)
        kept += len(block)
        while kept - len(last[0]) >= tail:
            dropped = last.popleft()
            kept -= len(dropped)
            size += len(dropped)
            lines += dropped.count(b"\n")
    if size:
        yield Gap(size, lines)
    yield from last
