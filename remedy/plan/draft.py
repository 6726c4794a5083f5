"""A plan while it is being made."""

from __future__ import annotations

from collections.abc import Mapping

from remedy.facts.types import Snapshot, Toolkit
from remedy.plan.types import BuildToolkit, InstallPackages, MoveCache, Rejected
from remedy.unit.types import FileEdit
from remedy.value import dataclass, field, replace


@dataclass(frozen=True)
class Wish:
    """A unit setting that shall have a value (``Service``, ``TimeoutStartSec``, ``1800``)."""

    section: str
    name: str
    value: str


@dataclass(frozen=True)
class Draft:
    """What has been decided so far, and the machine as it would then be.

    ``snapshot`` is that machine, ``programs`` the executables that will be there and aren't yet. ``wanted`` are
    the unit's environment values (None: unset), ``wishes`` its settings, ``rewrites`` lines that say something else
    than they were meant to. ``impossible`` ends the making of the plan.
    """

    snapshot: Snapshot
    programs: frozenset[str] = frozenset()
    toolkit: Toolkit | None = None
    installs: tuple[InstallPackages | BuildToolkit, ...] = ()
    wanted: Mapping[str, str | None] = field(default_factory=dict)
    wishes: tuple[Wish, ...] = ()
    rewrites: tuple[FileEdit, ...] = ()
    moves: tuple[MoveCache, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()
    impossible: str | None = None

    def want(self, values: Mapping[str, str | None]) -> Draft:
        """With these environment values wanted as well; a later wish for the same variable wins."""
        return replace(self, wanted={**self.wanted, **values})

    def wish(self, section: str, name: str, value: str) -> Draft:
        """With a unit setting wished for."""
        kept = tuple(wish for wish in self.wishes if (wish.section, wish.name) != (section, name))
        return replace(self, wishes=(*kept, Wish(section, name, value)))

    def rewrite(self, edits: tuple[FileEdit, ...]) -> Draft:
        """With lines written anew."""
        return replace(self, rewrites=(*self.rewrites, *edits))

    def warn(self, *texts: str) -> Draft:
        """With these warnings, each once."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *texts))))

    def install(self, step: InstallPackages | BuildToolkit) -> Draft:
        """With another installation."""
        return replace(self, installs=(*self.installs, step))

    def give_up(self, why: str) -> Draft:
        """No plan is possible, and why."""
        return replace(self, impossible=why)
