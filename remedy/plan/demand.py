"""What the one toolkit for all libraries must be, and which CUDA releases can be it."""

from __future__ import annotations

from typing import Final

from remedy.facts.types import Driver, HostCompiler, Snapshot, Version
from remedy.jit import tables
from remedy.jit.types import Requirement
from remedy.jit.versions import cuda, dotted
from remedy.value import dataclass

# The compiler with its own parts and the runtime: no .cu of any library builds without them.
CORE: Final = frozenset({"nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cudart-library"})


@dataclass(frozen=True)
class Demand:
    """All that bounds the choice: the joined requirement, torch's CUDA release, the driver, gcc and glibc."""

    requirement: Requirement
    torch: Version | None
    driver: Driver | None
    gcc: HostCompiler | None
    glibc: Version | None

    @property
    def components(self) -> frozenset[str]:
        """The toolkit components that must be there."""
        return CORE | self.requirement.components

    def objection(self, release: Version, *, host_compiler: bool = True) -> str | None:
        """Why this CUDA release can't serve, in one clause; None where nothing speaks against it.

        With ``host_compiler`` false the compiler that is here now doesn't count (another will be installed).
        """
        wanted = self.requirement
        name = f"CUDA {dotted(release)}"
        if wanted.nvcc_minimum and release < wanted.nvcc_minimum[:2]:
            return f"{name} is too old: {wanted.reason or 'this GPU needs'} >= {dotted(wanted.nvcc_minimum)}"
        why = self._machine_objection(release)
        if why:
            return why
        if wanted.nvcc_below and release >= wanted.nvcc_below[:2]:
            return f"{name} no longer knows this GPU, the last that does is below {dotted(wanted.nvcc_below)}"
        unknown = sorted(target for target in wanted.targets if tables.knows(release, target) is False)
        if unknown:
            return f"{name} can't compile for {', '.join('sm_' + target for target in unknown)}"
        major = wanted.torch_major or (self.torch[0] if self.torch else None)
        if major and release[0] != major:
            return f"torch is built for CUDA {dotted(self.torch) if self.torch else major}, of another major release"
        return self._gcc_objection(release) if host_compiler else None

    def _machine_objection(self, release: Version) -> str | None:
        offered = tables.driver_major(self.driver.library, self.driver.cuda) if self.driver else None
        if offered and release[0] > offered:
            return f"the driver can't run CUDA {release[0]}"
        if not tables.glibc_accepted(self.glibc, release):
            return f"CUDA {dotted(release)}'s headers do not compile with glibc {dotted(self.glibc or ())}"
        return None

    def _gcc_objection(self, release: Version) -> str | None:
        if self.gcc is None or self.gcc.kind != "gcc" or not self.gcc.version:
            return None
        highest = tables.highest_gcc(release)
        if highest is not None and self.gcc.version[0] > highest:
            return f"CUDA {dotted(release)} accepts gcc up to {highest}, here is {dotted(self.gcc.version)}"
        return None

    def preference(self, release: Version) -> tuple[int, int, int, int]:
        """Sort key, best first: torch's own minor, then the next higher, then lower ones; none above the driver's.

        A newer minor than the driver's own runs (CUDA's minor-version compatibility), but its PTX does not load.
        """
        beyond = int(bool(self.driver and self.driver.cuda and release > self.driver.cuda[:2]))
        near = self.torch or self.requirement.nvcc_minimum or release
        side = 0 if release == near[:2] else 1 if release > near[:2] else 2
        return (beyond, side, abs(release[0] - near[0]), abs(release[1] - near[1]))


def demand_of(requirement: Requirement, snapshot: Snapshot) -> Demand:
    """The demand that a joined requirement makes on this machine."""
    python = snapshot.interpreter
    return Demand(
        requirement=requirement,
        torch=cuda(python.torch_cuda) if python else None,
        driver=snapshot.driver,
        gcc=host_compiler(snapshot),
        glibc=snapshot.host.glibc,
    )


def host_compiler(snapshot: Snapshot) -> HostCompiler | None:
    """The compiler that nvcc would take: $CC where set (``-ccbin``), else gcc of PATH; None where there is none."""
    found = [compiler for compiler in snapshot.compilers if compiler.path]
    chosen = [compiler for compiler in found if compiler.command not in ("gcc", "g++", "c++", "cc", "clang")]
    plain = [compiler for name in ("gcc", "g++", "c++") for compiler in found if compiler.command == name]
    return next(iter([*chosen, *plain]), None)
