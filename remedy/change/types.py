"""What a change is made of: what was there before each step, what happens, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Literal, Protocol

from remedy.causes.types import Diagnosis
from remedy.gate.types import Progress, Verdict
from remedy.plan.types import Plan
from remedy.value import dataclass

OutcomeName = Literal[
    "healthy", "nothing-to-do", "planned", "refused", "rolled-back", "rollback-incomplete", "interrupted", "under-way"
]
Report = Callable[["Event"], None]


@dataclass(frozen=True)
class Outcome:
    """The one value that feeds exit code, text and JSON alike."""

    name: OutcomeName
    exit: int
    transaction: str | None = None
    cause: str | None = None
    reason: str = ""
    verdict: Verdict | None = None
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Event:
    """Something to show while a change runs. ``step`` counts from 1 of ``total``; ``fraction`` is from 0 to 1;
    ``progress`` is set while the start is watched, ``verdict`` at its end."""

    kind: Literal["step", "proof", "prewarm", "progress", "verdict", "rollback"]
    text: str
    state: Literal["begin", "running", "done", "failed"] = "running"
    step: int | None = None
    total: int | None = None
    fraction: float | None = None
    progress: Progress | None = None
    verdict: Verdict | None = None


class Watching(Protocol):
    """A watch on one start: subscribed when it is made, so that it is made before the start is asked for."""

    def __enter__(self) -> Watching: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def run(self, report: Callable[[Progress], None]) -> Verdict:
        """Wait for the verdict."""
        ...


@dataclass(frozen=True)
class Hooks:
    """What the transaction asks of other rooms.

    ``watch`` makes a watch on the unit's next start. ``prove`` compiles under the planned environment and
    ``prewarm`` builds ahead of the restart: both return why not, or None where all is well, and report what they do
    (in a line, in events). ``diagnose`` explains a start that failed. ``redact`` removes secrets from a text that is
    kept; ``environment`` is what the service starts with after the change, kept as evidence only where there is a
    ``redact``.
    """

    watch: Callable[[], Watching]
    prove: Callable[[Callable[[str], None]], str | None] | None = None
    prewarm: Callable[[Report], str | None] | None = None
    diagnose: Callable[[Verdict], Diagnosis] | None = None
    redact: Callable[[str], str] | None = None
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FileBefore:
    """A file as it was: ``backup`` names the copy of its bytes in the transaction's folder (None: no such file).

    ``new_parents`` are the folders that had to be made for it, outermost first.
    """

    path: str
    backup: str | None
    mode: int = 0
    uid: int = 0
    gid: int = 0
    atime_ns: int = 0
    mtime_ns: int = 0
    xattrs: tuple[tuple[str, bytes], ...] = ()
    new_parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class CacheBefore:
    """A cache entry as it was; ``aside`` is the name, in the same folder, that it is moved to."""

    path: str
    existed: bool
    aside: str
    device: int = 0
    inode: int = 0


@dataclass(frozen=True)
class Package:
    """One installed package: dpkg's ``name:architecture``, version, and status letters (``ii``)."""

    name: str
    version: str
    status: str = "ii"
    automatic: bool = False


@dataclass(frozen=True)
class Alternative:
    """One link group of update-alternatives(1): ``status`` is auto or manual, ``value`` the path it points to."""

    name: str
    status: str
    value: str


@dataclass(frozen=True)
class PackagesBefore:
    """dpkg's state of the packages that apt is about to touch (absent: not installed), every link group, and
    the raw targets of the CUDA links; ``saved`` are package files kept to go back to an older version."""

    touched: tuple[str, ...]
    packages: tuple[Package, ...]
    alternatives: tuple[Alternative, ...]
    links: tuple[tuple[str, str | None], ...]
    saved: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolkitBefore:
    """Whether the toolkit's folder was there."""

    root: str
    existed: bool


@dataclass(frozen=True)
class ModulesBefore:
    """The names in a folder that JIT modules are built in, before the restart."""

    folder: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class UnitBefore:
    """The run state: the unit's ActiveState and NRestarts, the ActiveState of every unit that its restart would stop
    or restart, and what stands where the start may build modules."""

    unit: str
    active_state: str
    sub_state: str
    unit_file_state: str
    invocation: str
    boot: str
    dependents: tuple[tuple[str, str], ...] = ()
    modules: tuple[ModulesBefore, ...] = ()
    n_restarts: int = 0


Before = FileBefore | CacheBefore | PackagesBefore | ToolkitBefore | UnitBefore


@dataclass(frozen=True)
class Begin:
    """The first entry of a ledger. ``created`` in seconds since the epoch."""

    schema: int
    transaction: str
    unit: str
    cause: str
    created: float
    keep_packages: bool = False


@dataclass(frozen=True)
class Intent:
    """Written before a step acts, with all that its undo needs; ``step`` counts from 0."""

    step: int
    before: Before


@dataclass(frozen=True)
class Done:
    """Written after a step acted, or was undone."""

    step: int
    action: Literal["do", "undo"]


@dataclass(frozen=True)
class Phase:
    """A point that recover must know of. After ``healthy`` a change is only ever finished, never undone by itself."""

    name: Literal["healthy", "rolling-back", "failed-start"]
    why: str = ""


@dataclass(frozen=True)
class End:
    """The last entry of a finished transaction; ``left`` is what could not be put back."""

    outcome: OutcomeName
    reason: str = ""
    left: tuple[str, ...] = ()


Entry = Begin | Intent | Done | Phase | End


@dataclass(frozen=True)
class Record:
    """One transaction as history shows it. ``state`` is the outcome, ``unfinished`` or ``damaged``."""

    id: str
    unit: str
    cause: str
    created: float
    state: str
    reason: str
    left: tuple[str, ...]
    folder: str
    plan: Plan | None = None
    entries: tuple[Entry, ...] = ()
    evidence: tuple[str, ...] = ()
