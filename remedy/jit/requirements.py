"""What all libraries demand at once, and whether a toolkit gives it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from remedy.facts.types import Toolkit
from remedy.hints import Final
from remedy.jit import judge
from remedy.jit.judge import Build
from remedy.jit.lookup import Found
from remedy.jit.types import Context, Problem, Requirement, Resolution

_RULES: Final = (
    judge.nvcc_knows_the_gpu,
    judge.nvcc_matches_torch,
    judge.glibc_is_accepted,
    judge.toolkit_is_one,
    judge.toolkit_is_whole,
    judge.host_compiler_fits,
)


def joined(resolutions: Iterable[Resolution]) -> Requirement:
    """The requirement that satisfies every library: the highest floor with its reason, the lowest ceiling, all
    targets and components. A component that one library needs and another merely likes is needed.
    """
    every = [resolution.requires for resolution in resolutions]
    floors = [one for one in every if one.nvcc_minimum]
    highest = max(floors, key=lambda one: one.nvcc_minimum or (), default=Requirement())
    components = frozenset[str]().union(*(one.components for one in every))
    return Requirement(
        nvcc_minimum=highest.nvcc_minimum,
        nvcc_below=min((one.nvcc_below for one in every if one.nvcc_below), default=None),
        targets=frozenset[str]().union(*(one.targets for one in every)),
        components=components,
        torch_major=next((one.torch_major for one in every if one.torch_major), None),
        ninja=any(one.ninja for one in every),
        host_compiler=any(one.host_compiler for one in every),
        python_headers=any(one.python_headers for one in every),
        reason=highest.reason,
        optional=frozenset[str]().union(*(one.optional for one in every)) - components,
        gcc_minimum=max((one.gcc_minimum for one in every), default=0),
    )


def shortfalls(requires: Requirement, kit: Toolkit, context: Context) -> tuple[Problem, ...]:
    """What a toolkit, here or only planned, lacks for a requirement; its files need not exist yet.

    A CUDA major other than torch's is among them although the libraries may live with it: no toolkit is chosen so.
    """
    nvcc = kit.nvcc or f"{kit.root}/bin/nvcc"
    found = Found(kit.root, "candidate", None, nvcc, exists=kit.version is not None)
    one = Build("the service", found, requires, context, True, True, ("lib64", "lib64/stubs"), kit, kit.version)
    return (*_without_nvcc(one), *(problem for rule in _RULES for problem in rule(one)))


def _without_nvcc(one: Build) -> Iterator[Problem]:
    """A folder that holds libraries or headers, but no compiler."""
    if one.kit is not None and one.kit.version is None:
        yield one.problem("nvcc-not-found", f"{one.found.root} holds no nvcc that says its version")
