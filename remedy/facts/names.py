"""Small reads that stand for nothing where nothing is: a missing file is an empty text."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from remedy.view import View


@runtime_checkable
class Ranged(Protocol):
    """A view that can read a part of a large file."""

    def read_range(self, path: str, offset: int, size: int) -> bytes:
        """At most ``size`` bytes of a regular file from ``offset``. Raises OSError."""
        ...


def listing(view: View, folder: str) -> tuple[str, ...]:
    """The names in a folder; none where it can't be listed."""
    try:
        return view.list(folder)
    except OSError:
        return ()


def data_of(view: View, path: str) -> bytes:
    """The bytes of a file; none where it can't be read."""
    try:
        return view.read(path)
    except OSError:
        return b""


def text_of(view: View, path: str) -> str:
    """The text of a file; empty where it can't be read."""
    return data_of(view, path).decode(errors="replace")


def range_of(view: View, path: str, offset: int, size: int) -> bytes:
    """Some bytes of a file, fewer at its end; none where they can't be read.

    A view that can't read in the middle of a file reads the whole of it.
    """
    try:
        if isinstance(view, Ranged):
            return view.read_range(path, offset, size)
        return view.read(path)[offset : offset + size]
    except OSError:
        return b""


def head_of(view: View, path: str, size: int) -> bytes:
    """The first bytes of a file; none where it can't be read."""
    return range_of(view, path, 0, size)
