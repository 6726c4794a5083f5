"""Two states of a scene compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Every place where two states differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key), after.get(key), f"{path}/{key}")
    elif before != after:
        if isinstance(before, list) and isinstance(after, list) and path.count("/") == 1:
            before, after = ([x for x in before if x not in after], [x for x in after if x not in before])
        yield f"{path}: {before} -> {after}"


def changed(before: Any, after: Any, but: tuple[str, ...] = ()) -> list[str]:
    """The differences of two states, without places that start with one of ``but``."""
    return [line for line in differences(before, after) if not line.startswith(but)]


def timeless(state: dict[str, Any]) -> dict[str, Any]:
    """A state without the times of files."""
    return {**state, "files": {path: row[:-1] for path, row in state["files"].items()}}
