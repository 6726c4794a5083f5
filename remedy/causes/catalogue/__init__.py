"""The causes: one entry each, grouped by family. A file in this folder with a ``CAUSES`` tuple is found by itself."""

from __future__ import annotations

import functools

from remedy.causes.entry import Cause
from remedy.errors import UsageError
from remedy.listing import modules


@functools.cache
def causes() -> tuple[Cause, ...]:
    """All causes, in causal order."""
    found: list[Cause] = []
    for module in modules(__name__, __path__):
        found.extend(module.CAUSES)
    return tuple(sorted(found, key=lambda cause: (cause.rank, cause.id)))


@functools.cache
def _index() -> dict[str, Cause]:
    return {cause.id: cause for cause in causes()}


def by_id(cause_id: str) -> Cause:
    """One cause. Raises UsageError with the nearest names where there is none of that id."""
    found = _index().get(cause_id)
    if found is None:
        import difflib

        near = difflib.get_close_matches(cause_id, _index(), n=3, cutoff=0.4)
        hint = "near it: " + ", ".join(near) if near else "`remedy explain` lists them"
        raise UsageError(f"no cause is called {cause_id!r}", hint=hint)
    return found
