from __future__ import annotations

import pytest

from remedy.facts.types import Version
from remedy.jit import tables
from remedy.jit.tables import Capability


@pytest.mark.parametrize(
    ("capability", "suffix", "minimum"),
    [
        ((12, 0), "", (12, 8)),
        ((12, 0), "a", (12, 8)),
        ((12, 0), "f", (12, 9)),
        ((12, 1), "a", (12, 9)),
        ((10, 3), "", (12, 9)),
        ((10, 0), "f", (12, 9)),
        ((9, 0), "", (11, 8)),
        ((9, 0), "a", (12, 0)),
        ((9, 0), "f", None),
        ((8, 9), "a", None),
        ((11, 0), "a", (13, 0)),
        ((10, 7), "a", (13, 4)),
        ((15, 0), "a", None),
    ],
)
def test_the_first_nvcc_for_a_target(capability: Capability, suffix: str, minimum: Version | None) -> None:
    assert tables.nvcc_minimum(capability, suffix) == minimum


@pytest.mark.parametrize(
    ("cuda", "target", "known"),
    [
        ((12, 8), "120f", False),
        ((12, 8), "120a", True),
        ((12, 9), "120f", True),
        ((13, 0), "70", False),
        ((12, 9), "70", True),
        ((13, 0), "101a", False),
        ((12, 9), "110a", False),
        ((13, 0), "110a", True),
        ((11, 8), "90a", False),
        ((13, 0), "200a", None),
        ((13, 0), "nonsense", None),
    ],
)
def test_what_a_release_knows(cuda: Version, target: str, known: bool | None) -> None:
    assert tables.knows(cuda, target) is known


def test_all_targets_of_a_release() -> None:
    assert {"75", "90a", "100f", "120f", "121a"} <= tables.targets_known((13, 0))
    assert not {"70", "101", "107a"} & tables.targets_known((13, 0))
    assert "120f" not in tables.targets_known((12, 8))


@pytest.mark.parametrize(
    ("target", "capability", "runs"),
    [
        ("120f", (12, 1), True),
        ("120a", (12, 1), False),
        ("121a", (12, 1), True),
        ("80", (8, 9), True),
        ("89", (8, 0), False),
        ("90a", (10, 0), False),
        ("100f", (10, 3), True),
        ("", (8, 0), False),
    ],
)
def test_what_runs_where(target: str, capability: Capability, runs: bool) -> None:
    assert tables.runs_on(target, capability) is runs


@pytest.mark.parametrize(
    ("cuda", "gcc"),
    [((11, 8), 11), ((12, 2), 12), ((12, 6), 13), ((12, 9), 14), ((13, 2), 15), ((13, 5), 16), ((14, 0), None)],
)
def test_the_highest_gcc(cuda: Version, gcc: int | None) -> None:
    assert tables.highest_gcc(cuda) == gcc


@pytest.mark.parametrize(
    ("glibc", "cuda", "accepted"),
    [((2, 41), (12, 9), False), ((2, 42), (12, 8), False), ((2, 41), (13, 0), True), ((2, 36), (11, 8), True)],
)
def test_glibc(glibc: Version, cuda: Version, accepted: bool) -> None:
    assert tables.glibc_accepted(glibc, cuda) is accepted


@pytest.mark.parametrize(
    ("driver", "cuda", "major"),
    [
        ("580.126.09", None, 13),
        ("570.86.10", None, 12),
        ("450.80.02", None, 11),
        ("390.0", None, None),
        (None, None, None),
        ("570.86.10", (13, 0), 13),
        ("open kernel module", None, None),
    ],
)
def test_the_cuda_that_a_driver_runs(driver: str | None, cuda: Version | None, major: int | None) -> None:
    assert tables.driver_major(driver, cuda) == major


@pytest.mark.parametrize(
    ("torch", "cuda"), [("2.11.0", (13, 0)), ("2.10.0+cu128", (12, 8)), ("2.6.0", (12, 4)), ("2.1", None)]
)
def test_the_cuda_of_torchs_wheel(torch: str, cuda: Version | None) -> None:
    assert tables.torch_cuda(torch) == cuda
