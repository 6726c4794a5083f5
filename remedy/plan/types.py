"""The plan: ordered steps, each with a preview and a reason."""

from __future__ import annotations

from remedy.facts.types import PackageChange as PackageChange
from remedy.unit.types import EditRefused, FileEdit
from remedy.value import dataclass


@dataclass(frozen=True)
class InstallPackages:
    """Install through apt. ``requested`` is what is named on apt's command line, each pinned to a version;
    ``changes`` is all that apt's simulation says would come with it. ``hold_alternatives`` are link groups
    whose target is put back afterwards (name, target path), because installation would flip them.
    """

    requested: tuple[str, ...]
    changes: tuple[PackageChange, ...]
    toolkit_root: str
    hold_alternatives: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def download(self) -> int:
        """Bytes to download."""
        return sum(change.download for change in self.changes)


@dataclass(frozen=True)
class BuildToolkit:
    """Lay out a toolkit from PyPI wheels under remedy's own prefix. ``requirements`` are pinned pip names."""

    requirements: tuple[str, ...]
    root: str
    reason: str = ""


@dataclass(frozen=True)
class EditFile:
    """Replace a file's bytes."""

    edit: FileEdit


@dataclass(frozen=True)
class MoveCache:
    """Move one stale cache entry aside; it is deleted when the service is healthy, moved back on rollback.
    ``size`` in bytes. ``new``: nothing is there yet; it is built ahead of the restart, and removed on rollback."""

    path: str
    size: int
    library: str
    reason: str
    new: bool = False


@dataclass(frozen=True)
class RestartUnit:
    """daemon-reload where files changed, reset-failed, and start; ``expected`` seconds of the last good start.
    ``modules`` are the folders that the start may build JIT modules in."""

    unit: str
    daemon_reload: bool
    expected: float | None = None
    modules: tuple[str, ...] = ()


Step = InstallPackages | BuildToolkit | EditFile | MoveCache | RestartUnit


@dataclass(frozen=True)
class Rejected:
    """A candidate that was not taken, and why."""

    candidate: str
    why: str


@dataclass(frozen=True)
class Plan:
    """What fix would do. ``steps`` is empty where there is nothing to do or nothing that can be done.

    ``refused`` names what can't be reached; ``warnings`` are side effects to know of; ``wanted`` the
    environment values the effective unit must hold afterwards (name, value or None for unset). ``interrupts`` says
    what the restart would interrupt where the service does not fail now: that needs the operator's explicit word.
    """

    unit: str
    cause: str
    steps: tuple[Step, ...] = ()
    toolkit: str | None = None
    toolkit_version: tuple[int, ...] | None = None
    wanted: tuple[tuple[str, str | None], ...] = ()
    rejected: tuple[Rejected, ...] = ()
    refused: tuple[EditRefused, ...] = ()
    warnings: tuple[str, ...] = ()
    impossible: str | None = None
    interrupts: str | None = None
