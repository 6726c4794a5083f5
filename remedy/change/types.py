"""The outcome of a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remedy.errors import Exit
from remedy.gate.types import Verdict

OutcomeName = Literal[
    "healthy", "nothing-to-do", "planned", "refused", "rolled-back", "rollback-incomplete", "interrupted"
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The one value that feeds exit code, text and JSON alike."""

    name: OutcomeName
    exit: Exit
    transaction: str | None = None
    cause: str | None = None
    reason: str = ""
    verdict: Verdict | None = None
    left: tuple[str, ...] = ()
