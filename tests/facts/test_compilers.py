from __future__ import annotations

import pytest

from remedy.facts.compilers import finish, look_up, parse_version, version_of_name
from remedy.facts.run import NoRunner, Result
from remedy.facts.types import HostCompiler
from tests.facts.answers import Answers
from tests.memory import MemoryView

DEBIAN_GCC = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n"
CONDA = (
    "x86_64-conda-linux-gnu-cc (conda-forge gcc 13.3.0-2) 13.3.0\nCopyright (C) 2023 Free Software Foundation, Inc.\n"
)


@pytest.mark.parametrize(
    ("path", "kind", "version"),
    [
        ("/usr/bin/x86_64-linux-gnu-gcc-12", "gcc", (12,)),
        ("/usr/bin/x86_64-linux-gnu-g++-13", "gcc", (13,)),
        ("/usr/bin/gcc-4.9", "gcc", (4, 9)),
        ("/usr/lib/llvm-15/bin/clang", "clang", (15,)),
        ("/usr/bin/clang++-19", "clang", (19,)),
        ("/usr/bin/ccache", "unknown", None),
        ("/opt/rh/gcc-toolset-13/root/usr/bin/gcc", "unknown", None),
    ],
)
def test_version_in_a_name(path: str, kind: str, version: tuple[int, ...] | None) -> None:
    assert version_of_name(path) == (kind, version)


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        (DEBIAN_GCC, "gcc", (12, 2, 0)),
        (CONDA, "gcc", (13, 3, 0)),
        ("gcc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0\n", "gcc", (13, 3, 0)),
        ("g++ (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)\nCopyright (C) 2024 Free Software", "gcc", (14, 2, 1)),
        ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", "clang", (14, 0, 6)),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)\n", "clang", (18, 1, 3)),
        ("tcc version 0.9.27 (x86_64 Linux)\n", "unknown", None),
        ("", "unknown", None),
    ],
)
def test_version_that_a_compiler_says(text: str, kind: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == (kind, version)


def test_compilers_of_a_service() -> None:
    view = MemoryView(
        programs=(
            "/usr/bin/x86_64-linux-gnu-gcc-12",
            "/usr/bin/x86_64-linux-gnu-g++-12",
            "/opt/conda/bin/x86_64-conda-linux-gnu-cc",
        ),
        links={"/usr/bin/gcc": "x86_64-linux-gnu-gcc-12", "/usr/bin/g++": "x86_64-linux-gnu-g++-12"},
    )
    conda = "/opt/conda/bin/x86_64-conda-linux-gnu-cc"
    runner = Answers({(conda, "--version"): Result(0, CONDA.encode())})
    env = {"PATH": "/nowhere:/usr/bin", "CC": conda, "CXX": "g++ -m64"}
    found = {compiler.command: compiler for compiler in finish(look_up(view, runner, env, None))}
    assert found[conda] == HostCompiler(conda, conda, "gcc", (13, 3, 0))
    assert found["g++ -m64"] == HostCompiler("g++ -m64", "/usr/bin/g++", "gcc", (12,))
    assert found["gcc"] == HostCompiler("gcc", "/usr/bin/gcc", "gcc", (12,))
    assert found["c++"] == HostCompiler("c++", None, "unknown", None)
    assert runner.asked == [(conda, "--version")]


def test_a_wrapper_that_may_not_run_leaves_the_version_open() -> None:
    view = MemoryView(programs=("/usr/bin/ccache",), links={"/usr/lib/ccache/gcc": "/usr/bin/ccache"})
    found = finish(look_up(view, NoRunner("only read"), {"PATH": "/usr/lib/ccache"}, None))
    assert found[0] == HostCompiler("gcc", "/usr/lib/ccache/gcc", "unknown", None)
