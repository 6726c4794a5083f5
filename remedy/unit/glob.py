"""glob(7) on a view: what EnvironmentFile= with wildcards names. Names with a dot first need one in the pattern."""

from __future__ import annotations

from remedy.unit.paths import has_wildcards
from remedy.view import View


def expand(view: View, pattern: str, *, strict: bool = False) -> list[str]:
    """The paths that match, in byte order; a path without wildcards is itself, whether it is there or not.

    With ``strict``, raises PermissionError where a directory on the way may not be listed.
    """
    if not has_wildcards(pattern):
        return [pattern]
    found = [""]
    for part in pattern.strip("/").split("/"):
        found = [path for parent in found for path in _step(view, parent, part, strict)]
    return sorted(found, key=lambda path: path.encode("utf-8", "surrogateescape"))


def _step(view: View, parent: str, part: str, strict: bool) -> list[str]:
    if not has_wildcards(part):
        path = f"{parent}/{part}"
        return [path] if view.lstat(path) is not None else []
    try:
        entries = view.list(parent or "/")
    except OSError as bad:
        if strict and isinstance(bad, PermissionError):
            raise
        return []
    return [f"{parent}/{entry}" for entry in entries if _fits(entry, part)]


def _fits(name: str, pattern: str) -> bool:
    import fnmatch
    import re

    if name.startswith(".") and not pattern.startswith((".", "\\.")):
        return False
    plain = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], pattern, flags=re.DOTALL)
    return re.match(fnmatch.translate(plain.replace("[^", "[!")), name) is not None
