"""How each cause is mended. A file in this folder with a ``MENDS`` table (cause id to mend) is found by itself."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping

from remedy.plan.task import Mend


@functools.cache
def _table() -> Mapping[str, Mend]:
    table: dict[str, Mend] = {}
    for module in pkgutil.iter_modules(__path__):
        table.update(importlib.import_module(f"{__name__}.{module.name}").MENDS)
    return table


def mend_for(cause: str) -> Mend | None:
    """The mend of a cause; None where remedy only advises."""
    return _table().get(cause)
