"""glob(7) on a view: what EnvironmentFile= with wildcards names. Names with a dot first need one in the pattern."""

from __future__ import annotations

from remedy.view import View

_MAGIC = frozenset("*?[\\")


def expand(view: View, pattern: str) -> list[str]:
    """The paths that match, in byte order; a path without wildcards is itself if something stands there."""
    if _MAGIC.isdisjoint(pattern):
        return [pattern] if pattern == "/dev/null" or view.lstat(pattern) is not None else []
    found = [""]
    for part in pattern.strip("/").split("/"):
        found = [path for parent in found for path in _step(view, parent, part)]
    return sorted(found, key=lambda path: path.encode("utf-8", "surrogateescape"))


def _step(view: View, parent: str, part: str) -> list[str]:
    if _MAGIC.isdisjoint(part):
        path = f"{parent}/{part}"
        return [path] if view.lstat(path) is not None else []
    try:
        entries = view.list(parent or "/")
    except OSError:
        return []
    return [f"{parent}/{entry}" for entry in entries if _fits(entry, part)]


def _fits(name: str, pattern: str) -> bool:
    import fnmatch
    import re

    if name.startswith(".") and not pattern.startswith((".", "\\.")):
        return False
    translated = re.sub(r"\\(.)", lambda match: f"[{match.group(1)}]", pattern, flags=re.DOTALL)
    return re.match(fnmatch.translate(translated), name) is not None
