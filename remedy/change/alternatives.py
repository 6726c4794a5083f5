"""Link groups of update-alternatives(1): noted before packages come, put back to the same target and mode."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from remedy.change.files import sync_folder
from remedy.change.types import Alternative, PackagesBefore
from remedy.errors import RemedyError
from remedy.facts.run import Programs, run

#: Links that NVIDIA's packages, or an administrator by hand, point at one toolkit.
LINKS = ("/usr/local/cuda", "/usr/local/cuda-12", "/usr/local/cuda-13")
_TOOL = "update-alternatives"


def parse(text: str) -> tuple[Alternative, ...]:
    """``update-alternatives --get-selections``: name, auto or manual, target."""
    fields = (line.split(None, 2) for line in text.splitlines())
    return tuple(sorted((Alternative(*three) for three in fields if len(three) == 3), key=lambda one: one.name))


def selections() -> tuple[Alternative, ...]:
    """All link groups. Raises RemedyError."""
    result = run(Programs(), [_TOOL, "--get-selections"], timeout=30)
    if not result.ok:
        raise RemedyError(f"{_TOOL} --get-selections failed: {result.why}")
    return parse(result.text)


def links() -> tuple[tuple[str, str | None], ...]:
    """Where the CUDA links point, None for no link."""
    return tuple((path, _target(path)) for path in LINKS)


def _target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def hold(groups: tuple[tuple[str, str], ...], before: PackagesBefore) -> None:
    """Keep the links of these groups (name, target) at what they were, although packages have moved them."""
    now = {one.name: one for one in selections()}
    for name, target in groups:
        if name in now and now[name].value != target and os.path.exists(target):
            _run("--set", name, target)
    _put_links(before, frozenset(f"/usr/local/{name}" for name, _ in groups))


def restore(before: PackagesBefore) -> tuple[str, ...]:
    """Put every group and link back that differs; what does not go back is returned with the command for it."""
    now = {one.name: one for one in selections()}
    changed = [old for old in before.alternatives if old.name in now and now[old.name] != old]
    for old in changed:
        _put_back(old)
    _put_links(before, frozenset(LINKS))
    after = {one.name: one.value for one in selections()} if changed else {}
    return tuple(
        f"alternative {old.name} was {old.value}: {_TOOL} --set {old.name} {old.value}"
        for old in changed
        if after.get(old.name) != old.value
    )


def _put_back(old: Alternative) -> None:
    """A manual choice is set, an automatic one follows from the priorities of what is installed. Where a package that
    others need stays, and outranks the old target, the target is what counts."""
    with contextlib.suppress(RemedyError):
        if old.status == "auto":
            _run("--auto", old.name)
            if any(one.name == old.name and one.value == old.value for one in selections()):
                return
        _run("--set", old.name, old.value)


def _run(*arguments: str) -> None:
    result = run(Programs(), [_TOOL, *arguments], timeout=60)
    if not result.ok:
        raise RemedyError(f"{_TOOL} {' '.join(arguments)} failed: {result.why}")


def _put_links(before: PackagesBefore, paths: frozenset[str]) -> None:
    """Links that no group manages, or whose group is gone with the packages."""
    for path, target in before.links:
        foreign = os.path.lexists(path) and not os.path.islink(path)
        if path not in paths or target is None or _target(path) == target or foreign:
            continue
        temporary = f"{path}.remedy"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        os.symlink(target, temporary)
        os.rename(temporary, path)
        sync_folder(Path(path).parent)
