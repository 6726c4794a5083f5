"""The shared libraries that an ELF file needs: elf(5), little-endian 64-bit only, a few kilobytes read."""

from __future__ import annotations

import struct

from remedy.facts.names import head_of, range_of
from remedy.value import dataclass
from remedy.view import View

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB = 1, 5
_MAGIC = b"\x7fELF\x02\x01"
_NAME_SIZE = 256
_SPAN = 64 * 1024
_MAX_DYNAMIC = 64 * 1024


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def needed(view: View, path: str) -> frozenset[str]:
    """The sonames in the dynamic section's DT_NEEDED entries; none where the file is no such ELF file."""
    head = head_of(view, path, 4096)
    if len(head) < 64 or not head.startswith(_MAGIC):
        return frozenset()
    segments = _segments(head)
    dynamic = next((segment for segment in segments if segment.kind == _PT_DYNAMIC), None)
    if dynamic is None:
        return frozenset()
    entries = range_of(view, path, dynamic.offset, min(dynamic.size, _MAX_DYNAMIC))
    tags = list(struct.iter_unpack("<qQ", entries[: len(entries) // 16 * 16]))
    table = next((_offset(segments, value) for tag, value in tags if tag == _DT_STRTAB), None)
    names = [value for tag, value in tags if tag == _DT_NEEDED]
    if table is None or not names:
        return frozenset()
    return frozenset(_strings(view, path, table, names))


def _segments(head: bytes) -> list[_Segment]:
    start, entry, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
    found: list[_Segment] = []
    for position in range(start, start + entry * count, max(entry, 1)):
        if position + 56 > len(head):
            break
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", head, position)
        found.append(_Segment(kind, offset, address, size))
    return found


def _offset(segments: list[_Segment], address: int) -> int | None:
    """Where in the file lies what will lie at an address."""
    for segment in segments:
        if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.offset
    return None


def _strings(view: View, path: str, table: int, offsets: list[int]) -> list[str]:
    """The strings at some offsets of the string table; linkers put those of DT_NEEDED close together."""
    low, high = min(offsets), max(offsets)
    if high - low <= _SPAN:
        data = range_of(view, path, table + low, high - low + _NAME_SIZE)
        parts = [data[offset - low :] for offset in offsets]
    else:
        parts = [range_of(view, path, table + offset, _NAME_SIZE) for offset in offsets]
    return [part.split(b"\0", 1)[0][:_NAME_SIZE].decode(errors="replace") for part in parts]
