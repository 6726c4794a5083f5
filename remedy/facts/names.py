"""Small reads that stand for nothing where nothing is: a missing file is an empty text."""

from __future__ import annotations

from collections.abc import Callable

from remedy.view import View


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

    A view of files can do that (``read_range``); of one that can't, the whole file is read.
    """
    read_range: Callable[[str, int, int], bytes] | None = getattr(view, "read_range", None)
    try:
        return read_range(path, offset, size) if read_range else view.read(path)[offset : offset + size]
    except OSError:
        return b""


def head_of(view: View, path: str, size: int) -> bytes:
    """The first bytes of a file; none where it can't be read."""
    return range_of(view, path, 0, size)
