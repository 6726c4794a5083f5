"""Where nothing is wrong, and where something is that has no entry."""

from __future__ import annotations

from typing import Final

from remedy.causes.case import Case
from remedy.causes.entry import Cause, Claim, Page


def _never(_case: Case) -> Claim | None:
    """The engine names these two itself, when no other cause claims the case."""
    return None


CAUSES: Final = (
    Cause(
        id="healthy",
        title="nothing is wrong",
        handling="none",
        rank=990,
        summary="Nothing is wrong: the service came up.",
        advice="Nothing to do.",
        judge=_never,
        page=Page(meaning="", origin="", recognised="", mending=""),
    ),
    Cause(
        id="unknown",
        title="something is wrong that remedy does not know",
        handling="advise",
        rank=999,
        summary="Something fails that remedy does not know, and no error line says what.",
        advice="Read the log from the earliest error on: `journalctl -u UNIT -b --no-pager`.",
        judge=_never,
        page=Page(meaning="", origin="", recognised="", mending=""),
    ),
)
