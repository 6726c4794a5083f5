"""Which CUDA releases can serve, and which is best."""

from __future__ import annotations

import pytest

from remedy.facts.types import Driver, HostCompiler, Version
from remedy.jit.types import Requirement
from remedy.plan.demand import Demand, demand_of
from remedy.plan.toolkit import releases_for
from tests.plan.cases import machine

BLACKWELL = Requirement((12, 9), targets=frozenset({"120f"}), reason="SM 12.x requires CUDA")
HOPPER = Requirement((12, 0), targets=frozenset({"90a"}))
VOLTA = Requirement((9, 0), (13, 0), frozenset({"70"}))


def demand(
    requirement: Requirement = BLACKWELL,
    torch: Version | None = (13, 0),
    driver: Version | None = (13, 0),
    gcc: int | None = 12,
    glibc: Version = (2, 36),
) -> Demand:
    return Demand(
        requirement,
        torch,
        Driver("580.95.05", None, driver, "") if driver else None,
        HostCompiler("gcc", "/usr/bin/gcc", "gcc", (gcc, 2, 0)) if gcc else None,
        glibc,
    )


@pytest.mark.parametrize(
    ("asked", "release", "why"),
    [
        (demand(), (13, 0), None),
        (demand(), (12, 8), "too old: SM 12.x requires CUDA >= 12.9"),
        (demand(torch=(12, 8)), (13, 0), "torch is built for CUDA 12.8"),
        (demand(torch=None), (13, 0), None),
        (demand(HOPPER, driver=(12, 9)), (13, 0), "the driver can't run CUDA 13"),
        (demand(HOPPER, torch=(12, 4)), (12, 4), None),
        (demand(HOPPER, torch=(12, 4), gcc=14), (12, 4), "accepts gcc up to 13, here is 14.2.0"),
        (demand(HOPPER, torch=(12, 8), glibc=(2, 41)), (12, 8), "do not compile with glibc 2.41"),
        (demand(VOLTA, torch=(12, 8)), (12, 9), None),
        (demand(VOLTA, torch=None), (13, 0), "no longer knows this GPU"),
        (demand(Requirement(targets=frozenset({"107a"}))), (13, 3), "can't compile for sm_107a"),
        (demand(Requirement(torch_major=12), torch=None), (13, 0), "torch is built for CUDA 12"),
    ],
)
def test_objections(asked: Demand, release: Version, why: str | None) -> None:
    found = asked.objection(release)
    assert found is None if why is None else why in (found or "")


def test_another_compiler_can_be_installed() -> None:
    asked = demand(HOPPER, torch=(12, 4), gcc=14)
    assert asked.objection((12, 4), host_compiler=False) is None


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        (demand(), [(13, 0), (13, 1), (13, 2)]),
        (demand(torch=(13, 2), driver=(13, 2)), [(13, 2), (13, 1), (13, 0)]),
        (demand(torch=(12, 8)), [(12, 9)]),
        (demand(HOPPER, torch=(12, 4)), [(12, 4), (12, 5), (12, 6), (12, 8), (12, 9), (12, 3)]),
        (demand(HOPPER, torch=(12, 4), driver=(12, 5)), [(12, 4), (12, 5), (12, 3)]),
        (demand(torch=None), [(12, 9), (13, 0)]),
        (demand(torch=(11, 8)), []),
    ],
)
def test_torch_s_own_minor_first_then_the_next_higher(asked: Demand, first: list[Version]) -> None:
    found = releases_for(asked, with_compiler=True)
    assert found[: len(first)] == first
    assert bool(found) == bool(first)


def test_the_demand_of_a_machine() -> None:
    found = demand_of(BLACKWELL, machine())
    assert (found.torch, found.glibc) == ((13, 0), (2, 36))
    assert found.gcc and found.gcc.command == "gcc"
