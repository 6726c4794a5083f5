"""The one road through the rooms: from a unit's name to what is wrong with it, and to what would mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remedy.causes.types import Diagnosis
from remedy.facts.types import Snapshot
from remedy.jit.types import Context, Resolution
from remedy.unit.types import Launch, Manager, Service
from remedy.view import View


@dataclass(frozen=True, slots=True)
class Look:
    """One look at one service: every value that the rooms handed on."""

    manager: Manager
    view: View
    service: Service
    launch: Launch
    snapshot: Snapshot
    context: Context
    resolutions: Sequence[Resolution]
    diagnosis: Diagnosis
