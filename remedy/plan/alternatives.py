"""What an installation does to others: NVIDIA's packages move /usr/local/cuda, which other units may rely on.

Their postinst registers the release with update-alternatives(1) under ``cuda`` (/usr/local/cuda) and ``cuda-13``
(/usr/local/cuda-13), the newer release with the higher priority, and in auto mode the link follows.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from remedy.plan.types import InstallPackages
from remedy.value import dataclass, replace
from remedy.view import View

_FOLDER: Final = "/usr/local"
_UNITS: Final = "/etc/systemd/system"


@dataclass(frozen=True)
class Kept:
    """The installation with the links that it shall leave as they are, and what to know of them."""

    step: InstallPackages
    warnings: tuple[str, ...]


def keep_links(view: View, step: InstallPackages, unit: str) -> Kept:
    """Hold every CUDA link that an installation would move, and name the other units that go through it."""
    release = posixpath.basename(step.toolkit_root).removeprefix("cuda-")
    held: list[tuple[str, str]] = []
    warnings: list[str] = []
    for name in ("cuda", f"cuda-{release.partition('.')[0]}"):
        link = posixpath.join(_FOLDER, name)
        found = view.lstat(link)
        target = view.realpath(link) if found and found.kind == "symlink" else None
        users = tuple(units_through(view, link, unit))
        if target and target != step.toolkit_root:
            held.append((name, target))
            warnings += _kept_warning(link, target, users)
        elif found is None and users:
            warnings.append(f"{link} does not exist and will lead to {step.toolkit_root}: {', '.join(users)} name it")
    return Kept(replace(step, hold_alternatives=tuple(held)), tuple(warnings))


def _kept_warning(link: str, target: str, users: tuple[str, ...]) -> list[str]:
    """Said only where someone would notice: the link is /usr/local/cuda, or another unit goes through it."""
    if users:
        return [f"{link} stays on {target}, which {', '.join(users)} {'use' if len(users) > 1 else 'uses'}"]
    return [f"{link} stays on {target}"] if link.endswith("/cuda") else []


def units_through(view: View, link: str, unit: str) -> Iterator[str]:
    """Other units of the administrator's whose files name a link (not a versioned path that begins like it)."""
    named = re.compile(re.escape(link) + r"(?![-.\w])")
    for name in _names(view, _UNITS):
        folder = name.removesuffix(".d")
        if folder == unit or not name.endswith((".service", ".service.d")):
            continue
        path = posixpath.join(_UNITS, name)
        files = [path] if name.endswith(".service") else [posixpath.join(path, each) for each in _names(view, path)]
        if any(named.search(_text(view, file)) for file in files):
            yield folder


def _names(view: View, folder: str) -> tuple[str, ...]:
    try:
        return view.list(folder)
    except OSError:
        return ()


def _text(view: View, path: str) -> str:
    try:
        return view.read(path, 1 << 20).decode(errors="replace")
    except OSError:
        return ""
