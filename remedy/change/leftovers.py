"""Files of purged packages that a power cut brings back: dpkg does not wait for their deletion (seen on btrfs)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from remedy.change.files import put
from remedy.change.packages import base
from remedy.facts.run import Programs, run

_NAME = "leaving"
_TIMEOUT = 120.0


def note(backups: Path, names: Iterable[str]) -> None:
    """Write down the files of packages before they are purged, beside those of an earlier try. Raises OSError."""
    asked = sorted({base(name) for name in names})
    if not asked:
        return
    listing = run(Programs(), ["dpkg-query", "-L", "--", *asked], timeout=_TIMEOUT).text
    paths = {line for line in listing.splitlines() if line.startswith("/")}
    put(backups / _NAME, "".join(f"{path}\n" for path in sorted(paths | _noted(backups))).encode())


def remove(backups: Path) -> None:
    """Delete what of it is there again and belongs to no package; folders only where they are empty."""
    for path in sorted(_noted(backups), reverse=True):
        if os.path.lexists(path) and _nobodys(path):
            with contextlib.suppress(OSError):
                (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)


def _nobodys(path: str) -> bool:
    # A path through a link is known to dpkg under another name (/lib, /usr/lib); one of these characters is a pattern.
    if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path) or set(path) & set("*?[\\"):
        return False
    return run(Programs(), ["dpkg-query", "-S", "--", path], timeout=_TIMEOUT).returncode == 1


def _noted(backups: Path) -> set[str]:
    try:
        return set((backups / _NAME).read_text().splitlines())
    except FileNotFoundError:
        return set()
