"""How causes are mended: one function for each kind of mend that a cause's entry can name.

A file in this folder with a ``MENDS`` table (kind to function) is found by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from remedy.causes import catalogue
from remedy.causes.entry import MendKind
from remedy.listing import modules
from remedy.plan.task import Mend


@functools.cache
def mends() -> Mapping[MendKind, Mend]:
    """Every kind of mend."""
    table: dict[MendKind, Mend] = {}
    for module in modules(__name__, __path__):
        table.update(module.MENDS)
    return table


def mend_for(cause: str) -> Mend | None:
    """The mend of a cause; None where remedy only advises. Raises UsageError where there is no such cause."""
    kind = catalogue.by_id(cause).mend
    return mends()[kind] if kind else None
