"""apt's marks of what was installed as somebody's dependency, which a power cut can lose.

apt replaces their file without waiting for the disk (apt-mark(8), FILES), so that afterwards it is empty, or the one
from before. Without marks all that came with a package would seem to be wanted for itself, and would stay.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from remedy.change.files import put
from remedy.change.packages import base
from remedy.change.types import PackagesBefore

MARKS = Path("/var/lib/apt/extended_states")
_NAME = "extended_states"


@contextmanager
def kept(backups: Path) -> Iterator[None]:
    """Keep the marks until what apt wrote inside is on the disk. Raises OSError."""
    copy = backups / _NAME
    if not copy.exists():
        put(copy, _bytes(MARKS))
    yield
    copy.unlink(missing_ok=True)


def mend(backups: Path, before: PackagesBefore, requested: Iterable[str]) -> frozenset[str]:
    """After a run of apt that was broken off: put spoilt marks back as they were. Returns the names that older marks
    don't know of, what was new and came beside the ``requested``: to be marked, as far as they are there. Raises
    OSError."""
    if not (backups / _NAME).exists():
        return frozenset()
    old = _bytes(backups / _NAME)
    if _whole(old) and not _whole(_bytes(MARKS)):
        put(MARKS, old, stat.S_IMODE(MARKS.stat().st_mode) if MARKS.exists() else 0o644)
    there = {base(one.name) for one in before.packages if one.status[1:2] == "i"}
    wanted = {base(name.split("=")[0]) for name in requested}
    return frozenset(base(name) for name in before.touched) - there - wanted


def _whole(data: bytes) -> bool:
    """Whether it is what apt writes: records of text, an empty line after each."""
    return data.endswith(b"\n\n") and b"\0" not in data


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
