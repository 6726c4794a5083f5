"""What is undone of an installation, as tables."""

from __future__ import annotations

import pytest

from remedy.change.alternatives import parse as parse_alternatives
from remedy.change.apt import Action, brief, parse_simulation, parse_status
from remedy.change.packages import Undo, differences, parse, undo
from remedy.change.types import Alternative, Package, PackagesBefore


def state(*lines: str) -> str:
    """``name version status depends [provides]`` as dpkg-query's format has it."""
    rows = []
    for line in lines:
        name, version, status, *rest = line.split(" ", 3)
        depends, _, provides = (rest[0] if rest else "").partition(" => ")
        rows.append(f"{name}:amd64\t{version}\t{status} \t, {depends}\t{provides}\n")
    return "".join(rows)


NVCC = "cuda-nvcc-13-0 13.0.88-1 ii cuda-crt-13-0, libnvvm-13-0"
CRT = "cuda-crt-13-0 13.0.88-1 ii"
NVVM = "libnvvm-13-0 13.0.88-1 ii"
TOUCHED = ("cuda-nvcc-13-0", "cuda-crt-13-0", "libnvvm-13-0")
AUTO = ("cuda-crt-13-0", "libnvvm-13-0")
REQUESTED = ("cuda-nvcc-13-0=13.0.88-1",)


def before(*packages: Package) -> PackagesBefore:
    return PackagesBefore(TOUCHED, packages, (), ())


@pytest.mark.parametrize(
    ("now", "automatic", "old", "wanted"),
    [
        ((NVCC, CRT, NVVM), AUTO, (), Undo(("cuda-crt-13-0", "cuda-nvcc-13-0", "libnvvm-13-0"))),
        ((), (), (), Undo()),
        (("cuda-crt-13-0 13.0.88-1 iU",), (), (), Undo(("cuda-crt-13-0",))),
        (("cuda-crt-13-0 13.0.88-1 rc",), (), (), Undo(("cuda-crt-13-0",))),
        (
            (NVCC, CRT, NVVM, "other 1 ii cuda-crt-13-0 (>= 13)"),
            AUTO,
            (),
            Undo(("cuda-nvcc-13-0", "libnvvm-13-0"), (), (), (("cuda-crt-13-0", "other needs it"),)),
        ),
        (
            (NVCC, CRT, NVVM, "other 1 ii cuda-nvcc-13-0"),
            AUTO,
            (),
            Undo(
                (),
                (),
                (),
                (
                    ("cuda-crt-13-0", "cuda-nvcc-13-0 needs it"),
                    ("cuda-nvcc-13-0", "other needs it"),
                    ("libnvvm-13-0", "cuda-nvcc-13-0 needs it"),
                ),
            ),
        ),
        (
            (NVCC, CRT, NVVM, "other 1 ii libnvvm-13-0 | libc6", "libc6 2 ii"),
            AUTO,
            (),
            Undo(("cuda-crt-13-0", "cuda-nvcc-13-0", "libnvvm-13-0")),
        ),
        (
            (NVCC, "cuda-crt-13-0 13.0.88-1 ii  => crt-virtual (= 1)", NVVM, "other 1 ii crt-virtual"),
            AUTO,
            (),
            Undo(("cuda-nvcc-13-0", "libnvvm-13-0"), (), (), (("cuda-crt-13-0", "other needs it"),)),
        ),
        (
            (NVCC, CRT, NVVM, "other 1 rc cuda-crt-13-0"),
            AUTO,
            (),
            Undo(("cuda-crt-13-0", "cuda-nvcc-13-0", "libnvvm-13-0")),
        ),
        (
            (NVCC, CRT, NVVM),
            ("libnvvm-13-0",),
            (),
            Undo(
                ("cuda-nvcc-13-0", "libnvvm-13-0"),
                (),
                (),
                (("cuda-crt-13-0", "it was marked as manually installed since"),),
            ),
        ),
        (
            (NVCC, CRT, NVVM),
            AUTO,
            (Package("cuda-crt-13-0:amd64", "13.0.48-1"),),
            Undo(("cuda-nvcc-13-0", "libnvvm-13-0"), (), (("cuda-crt-13-0", "13.0.48-1"),)),
        ),
        ((NVVM,), AUTO, (Package("cuda-crt-13-0:amd64", "1"),), Undo(("libnvvm-13-0",), (), (("cuda-crt-13-0", "1"),))),
        (
            ("cuda-crt-13-0 2 ii libnvvm-13-0", NVVM),
            AUTO,
            (Package("cuda-crt-13-0:amd64", "1"),),
            Undo(("libnvvm-13-0",), (), (("cuda-crt-13-0", "1"),)),
        ),
        (
            (NVCC, CRT, NVVM),
            AUTO,
            (Package("cuda-crt-13-0:amd64", "13.0.88-1", "rc"),),
            Undo(("cuda-nvcc-13-0", "libnvvm-13-0"), ("cuda-crt-13-0",)),
        ),
        (("cuda-crt-13-0 1 rc",), (), (Package("cuda-crt-13-0:amd64", "1", "rc"),), Undo()),
    ],
)
def test_undo(now: tuple[str, ...], automatic: tuple[str, ...], old: tuple[Package, ...], wanted: Undo) -> None:
    found = undo(before(*old), parse(state(*now), automatic), REQUESTED)
    plain = Undo(
        tuple(name.split(":")[0] for name in found.purge),
        tuple(name.split(":")[0] for name in found.remove),
        tuple((name.split(":")[0], version) for name, version in found.versions),
        tuple((name.split(":")[0], why) for name, why in found.kept),
    )
    assert plain == wanted


def test_packages_that_others_brought_are_none_of_ours() -> None:
    now = parse(state(NVCC, CRT, NVVM, "htop 3 ii", "cuda-nvcc-12-9 12.9 ii"), AUTO)
    assert "htop:amd64" not in undo(before(), now, REQUESTED).purge
    assert "cuda-nvcc-12-9:amd64" not in undo(before(), now, REQUESTED).purge


@pytest.mark.parametrize(
    ("now", "old", "words"),
    [
        ((), (), ()),
        ((CRT,), (), ("apt-get purge cuda-crt-13-0",)),
        ((CRT,), (Package("cuda-crt-13-0:amd64", "13.0.88-1"),), ()),
        ((CRT,), (Package("cuda-crt-13-0:amd64", "1"),), ("--allow-downgrades cuda-crt-13-0=1",)),
        ((), (Package("cuda-crt-13-0:amd64", "1"),), ("is not installed",)),
        (
            ("cuda-crt-13-0 1 iF",),
            (Package("cuda-crt-13-0:amd64", "1"),),
            ("dpkg --configure -a",),
        ),
    ],
)
def test_differences(now: tuple[str, ...], old: tuple[Package, ...], words: tuple[str, ...]) -> None:
    found = differences(before(*old), parse(state(*now)))
    assert len(found) == len(words)
    assert all(word in line for word, line in zip(words, found, strict=True))


def test_names_without_a_state_are_left_out() -> None:
    assert parse("vim:amd64\t\tun \t, \t\nnot a line\n") == {}


def test_simulation() -> None:
    text = (
        "Reading package lists...\n"
        "Inst cuda-crt-13-0 (13.0.88-1 NVIDIA:13.0 [amd64])\n"
        "Inst libc6-dev [2.36-9] (2.36-9+deb12u1 Debian:12 [amd64]) []\n"
        "Remv gcc-10 [10.2]\n"
        "Purg cuda-nvcc-13-0 [13.0.88-1]\n"
        "Conf cuda-crt-13-0 (13.0.88-1 NVIDIA:13.0 [amd64])\n"
    )
    assert parse_simulation(text) == (
        Action("Inst", "cuda-crt-13-0", None, "13.0.88-1"),
        Action("Inst", "libc6-dev", "2.36-9", "2.36-9+deb12u1"),
        Action("Remv", "gcc-10", "10.2", None),
        Action("Purg", "cuda-nvcc-13-0", "13.0.88-1", None),
    )


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("dlstatus:1:12.5000:Retrieving file 1 of 3 (10s remaining)", ("Retrieving file 1 of 3 (10s remaining)", 12.5)),
        (
            "pmstatus:cuda-nvcc-13-0:33.3333:Installing cuda-nvcc-13-0 (amd64)",
            ("Installing cuda-nvcc-13-0 (amd64)", 33.3333),
        ),
        ("pmstatus:libc6:amd64:20:Preparing libc6:amd64", ("Preparing libc6:amd64", 20.0)),
        (
            "pmerror:a:50:dependency problems",
            ("dependency problems", 50.0),
        ),
        ("pmconffile:/etc/x:50:'a' 'b' 1 1", None),
        ("", None),
        ("dlstatus:x", None),
    ],
)
def test_status(line: str, wanted: tuple[str, float] | None) -> None:
    assert parse_status(line) == wanted


def test_alternatives() -> None:
    text = "cuda                           auto     /usr/local/cuda-13.2\nawk  manual  /usr/bin/mawk\n"
    assert parse_alternatives(text) == (
        Alternative("awk", "manual", "/usr/bin/mawk"),
        Alternative("cuda", "auto", "/usr/local/cuda-13.2"),
    )


GONE = "Failed to fetch http://repo.example/x/cuda-{}-13-0_13.0.88-1_amd64.deb  404  Not Found [IP: 192.0.2.1 80]"


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([], []),
        (["Unable to locate package a"], ["Unable to locate package a"]),
        ([f"no {name}" for name in "abcde"], ["no a", "no b", "no c", "and 2 more"]),
        (
            [GONE.format("nvcc"), GONE.format("crt"), "Unable to fetch some archives, maybe run apt-get update"],
            ["cuda-nvcc-13-0_13.0.88-1_amd64.deb can't be fetched, nor 1 more: 404  Not Found [IP: 192.0.2.1 80]"],
        ),
        (
            ["Failed to fetch file:/srv/repo/a.deb  File not found"],
            ["a.deb can't be fetched: File not found"],
        ),
    ],
)
def test_a_repository_that_is_gone_is_told_once(errors: list[str], told: list[str]) -> None:
    assert brief(errors) == told
