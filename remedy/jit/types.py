"""What one JIT library would do here: which compiler it finds, what it needs, whether that is satisfied."""

from __future__ import annotations

from collections.abc import Mapping

from remedy.facts.types import CacheEntry, Snapshot, Version
from remedy.hints import Protocol
from remedy.value import dataclass, field
from remedy.view import View


@dataclass(frozen=True)
class Context:
    """What a library is asked about: the environment it would run in, this machine, its file system.

    ``env`` is the environment of the interpreter process (after the launch chain); ``home`` the home folder
    of the service's user; ``server`` the server program that hosts the library (``sglang``, ``vllm``, "");
    ``argv`` its command line, empty where it is not known.
    """

    env: Mapping[str, str]
    snapshot: Snapshot
    view: View
    home: str = "/root"
    server: str = ""
    user: str = "root"
    argv: tuple[str, ...] = ()


@dataclass(frozen=True)
class Requirement:
    """What a library demands of a toolkit for these GPUs and this torch.

    ``nvcc_minimum`` and ``nvcc_below`` (exclusive) bound nvcc's version, ``targets`` are the architectures it
    will ask nvcc for (``120f``), ``components`` those of Toolkit.components that its builds need,
    ``torch_major`` the CUDA major that must match (None: any), ``reason`` says in one clause where the minimum
    comes from ("SM 12.x requires CUDA >= 12.9"). ``optional`` are components that only some of the library's
    modules need, and this service probably: installed beside the others, never a reason to reject a toolkit.
    ``gcc_minimum`` is the lowest gcc major that its sources compile with (0: any).
    """

    nvcc_minimum: Version | None = None
    nvcc_below: Version | None = None
    targets: frozenset[str] = frozenset()
    components: frozenset[str] = frozenset()
    torch_major: int | None = None
    ninja: bool = False
    host_compiler: bool = False
    python_headers: bool = False
    reason: str = ""
    optional: frozenset[str] = frozenset()
    gcc_minimum: int = 0


@dataclass(frozen=True)
class Problem:
    """Why a library will fail (or misbehave) here: a cause id, one sentence, and the facts it rests on.

    ``variable`` names the environment variable whose value is to blame, where one is.
    """

    cause: str
    text: str
    facts: tuple[str, ...] = ()
    fatal: bool = True
    variable: str | None = None


@dataclass(frozen=True)
class StaleEntry:
    """A cache entry that must go for a repaired toolchain to take effect, and why."""

    library: str
    entry: CacheEntry
    why: str


@dataclass(frozen=True)
class Resolution:
    """One library's answer.

    ``toolkit`` is the root it takes, ``found_by`` the step of its own lookup that decided ("CUDA_HOME",
    "PATH", "/usr/local/cuda", "torch.version.cuda", "bundled", "nothing"), ``variable`` the environment
    variable that decided (its Place is looked up in the Launch by whoever prints it). ``variables`` are those
    that the library reads.
    """

    library: str
    version: str
    toolkit: str | None = None
    found_by: str = ""
    variable: str | None = None
    nvcc: str | None = None
    nvcc_version: Version | None = None
    requires: Requirement = field(default_factory=Requirement)
    problems: tuple[Problem, ...] = ()
    cache: str | None = None
    stale: tuple[StaleEntry, ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def satisfied(self) -> bool:
        """Nothing that would stop this library."""
        return not any(problem.fatal for problem in self.problems)


class Library(Protocol):
    """One JIT library: one file in this folder, found by the folder's own listing.

    ``rank`` orders libraries by how much of a start hangs on them, lowest first. ``frames`` are parts of file names by
    which a traceback shows that it went through the library while that builds or loads a kernel.
    """

    name: str
    rank: int
    frames: tuple[str, ...]

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this version of the library would do in this context. Pure; never raises for odd values."""
        ...
