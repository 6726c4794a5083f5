"""apt's answers, recorded from apt 2.6 (Debian 12)."""

from __future__ import annotations

import pytest

from remedy.facts.apt import Apt, parse_errors, parse_packages, parse_simulation, parse_withheld
from remedy.facts.run import Done, Result, Running
from remedy.facts.types import PackageChange

SHOWN = b"""\
Package: cuda-nvcc-13-0
Version: 13.0.88-1
Architecture: amd64
Installed-Size: 120
Depends: build-essential, cuda-crt-13-0, libnvvm-13-0
Filename: ./cuda-nvcc-13-0_13.0.88-1_amd64.deb
Size: 40000
Description: CUDA nvcc
 A long text.

Package: only-installed
Status: install ok installed
Version: 1
Architecture: amd64
Installed-Size: 9
Description: not in any repository
"""

SIMULATED = """\
Reading package lists...
The following NEW packages will be installed:
  cuda-nvcc-13-0 libcurand-dev-13-0
Inst cuda-crt-13-0 (13.0.88-1 localhost [amd64])
Inst cuda-nvcc-13-0 (13.0.88-1 localhost [amd64])
Inst libc6 [2.36-9+deb12u9] (2.36-9+deb12u10 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [amd64]) [x]
Inst zlib1g:i386 (1:1.2.13 Debian:12.15/oldstable [i386])
Conf cuda-crt-13-0 (13.0.88-1 localhost [amd64])
"""

UNMET = """\
The following information may help to resolve the situation:

The following packages have unmet dependencies:
 cuda-y-13-0 : Depends: nosuch-dep but it is not installable
               Depends: other (>= 2) but 1 is to be installed
"""


def test_packages_that_can_be_had() -> None:
    found = parse_packages(SHOWN)
    assert [(each.name, each.version, each.size, each.installed_size) for each in found] == [
        ("cuda-nvcc-13-0", "13.0.88-1", 40000, 120 * 1024)
    ]
    assert "libnvvm-13-0" in found[0].depends


@pytest.mark.parametrize("data", [b"", b"garbage without a colon\n", b"Package: x\nFilename: y\nSize: huge\n"])
def test_odd_output_is_survived(data: bytes) -> None:
    assert all(package.size == 0 for package in parse_packages(data))


def test_simulation_lists_every_change() -> None:
    changes, removed = parse_simulation(SIMULATED + "Remv nvidia-cuda-toolkit [11.8.89]\n")
    assert removed == ("nvidia-cuda-toolkit",)
    assert [(change.name, change.old_version, change.version) for change in changes] == [
        ("cuda-crt-13-0", None, "13.0.88-1"),
        ("cuda-nvcc-13-0", None, "13.0.88-1"),
        ("libc6", "2.36-9+deb12u9", "2.36-9+deb12u10"),
        ("zlib1g:i386", None, "1:1.2.13"),
    ]
    assert changes[0].origin == "localhost"
    assert changes[2].origin.startswith("Debian:12.15/oldstable, Debian-Security")


def test_reasons_name_the_dependency_first() -> None:
    errors = parse_errors(UNMET, "E: Unable to correct problems, you have held broken packages.\nW: a warning\n")
    assert errors == (
        "cuda-y-13-0 : Depends: nosuch-dep but it is not installable",
        "Depends: other (>= 2) but 1 is to be installed",
        "Unable to correct problems, you have held broken packages.",
    )


HELD = """Reading package lists...
The following held packages will be changed:
  cuda-crt-13-0 cuda-nvcc-13-0
0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.
"""
CHANGED = "E: Held packages were changed and -y was used without --allow-change-held-packages.\n"


def test_a_hold_is_named() -> None:
    assert parse_errors(HELD, CHANGED) == (
        "cuda-crt-13-0 is on hold (apt-mark unhold cuda-crt-13-0)",
        "cuda-nvcc-13-0 is on hold (apt-mark unhold cuda-nvcc-13-0)",
    )
    assert parse_errors("", CHANGED) == (CHANGED[3:].strip(),)


POLICY = """cuda-nvcc-13-0:
  Installed: (none)
  Candidate: (none)
  Version table:
     13.0.88-1 -1
        500 file:/srv/cuda-repo ./ Packages
libcurand-dev-13-0:
  Installed: (none)
  Candidate: (none)
  Version table:
bash:
  Installed: 5.2.15-2+b2
  Candidate: 5.2.15-2+b2
  Version table:
 *** 5.2.15-2+b2 100
        100 /var/lib/dpkg/status
"""


def test_what_the_preferences_keep_out() -> None:
    assert parse_withheld(POLICY) == {"cuda-nvcc-13-0": "13.0.88-1"}


class Recorded:
    """A runner that answers each program with a recorded result."""

    def __init__(self, **answers: Result) -> None:
        self.answers = answers

    def start(self, argv: object, **_: object) -> Running:
        assert isinstance(argv, tuple)
        return Done(self.answers[argv[0].replace("-", "_")])


def test_a_simulation_has_sizes() -> None:
    one = b"Inst cuda-nvcc-13-0 (13.0.88-1 localhost [amd64])\n"
    apt = Apt(Recorded(apt_get=Result(0, one), apt_cache=Result(0, SHOWN)))
    assert apt.simulate(["cuda-nvcc-13-0"]).changes == (
        PackageChange("cuda-nvcc-13-0", "13.0.88-1", None, 40000, 120 * 1024, "localhost"),
    )


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (Result(None, why="apt-get is not there or not executable"), "apt-get is not there or not executable"),
        (Result(100, b"", b"E: Unable to locate package cuda-nvcc-13-0\n"), "Unable to locate package cuda-nvcc-13-0"),
        (Result(0, b"Remv gcc [4:12]\n"), "gcc would be removed"),
        (Result(3), "apt-get ended with status 3"),
    ],
)
def test_an_impossible_installation_says_why(result: Result, error: str) -> None:
    simulation = Apt(Recorded(apt_get=result)).simulate(["x"])
    assert simulation.errors[0] == error and simulation.changes == ()
