"""What a plan is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from remedy.causes.types import Diagnosis
from remedy.facts.types import AptPackage, Simulation, Snapshot
from remedy.jit.types import Context, Resolution
from remedy.unit.types import EditStyle, Launch, Manager, Service
from remedy.value import dataclass
from remedy.view import View


class AptQuery(Protocol):
    """What apt knows and would do. Asking changes nothing, downloads nothing and needs no root."""

    def available(self, names: Sequence[str]) -> Mapping[str, AptPackage]:
        """The version that apt would install of each name; names that it can't install are left out."""
        ...

    def withheld(self, names: Sequence[str]) -> Mapping[str, str]:
        """The versions of these that a repository has and apt's preferences keep out."""
        ...

    def simulate(self, requested: Sequence[str]) -> Simulation:
        """What ``apt-get install`` of these (``name`` or ``name=version``) would change."""
        ...


@dataclass(frozen=True)
class Inputs:
    """One service that is to be put right: its unit and launch, this machine, what is wrong, and who can be asked.

    ``context`` is what the resolutions were made from; ``resolve`` makes them again for a planned state.
    ``style`` is the user's wish for edits (None: as the files suggest), ``writable`` says whether a file's place
    can be written at all (None: not known), ``last_start`` the seconds of the last good start, ``prewarm`` whether
    kernels may be built ahead of the restart.
    """

    service: Service
    launch: Launch
    context: Context
    resolutions: tuple[Resolution, ...]
    diagnosis: Diagnosis
    manager: Manager
    apt: AptQuery
    resolve: Callable[[Context], tuple[Resolution, ...]]
    style: EditStyle | None = None
    writable: Callable[[str], bool] | None = None
    last_start: float | None = None
    prewarm: bool = True

    @property
    def snapshot(self) -> Snapshot:
        """The machine as it is."""
        return self.context.snapshot

    @property
    def view(self) -> View:
        """The file system as it is."""
        return self.context.view
