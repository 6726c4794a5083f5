from __future__ import annotations

from typing import Any

import pytest

from remedy.facts.types import Interpreter
from remedy.jit.tables import Capability
from remedy.jit.triton import LIBRARY, variable
from tests.jit.machines import causes, context, interpreter, toolkit

NEW = toolkit("/usr/local/cuda-13.0", (13, 0))
PTXAS = f"{NEW.root}/bin/ptxas"
PLAIN, BLACKWELL = "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"


def resolve(version: str, env: dict[str, str] | None = None, **more: Any) -> Any:
    more = {"toolkits": [NEW], "programs": [PTXAS], "python": interpreter(triton=version), **more}
    return LIBRARY.resolve(version, context(env, **more))


@pytest.mark.parametrize(
    ("version", "gpu", "expected"),
    [
        ("3.2.0", (9, 0), []),
        ("3.2.0", (12, 0), ["ptxas-too-old"]),
        ("3.3.1", (12, 0), []),
        ("3.3.1", (12, 1), ["ptxas-too-old"]),
        ("3.4.0", (12, 0), []),
        ("3.5.1", (12, 1), ["ptxas-too-old"]),
        ("3.5.1", (10, 3), ["ptxas-too-old"]),
        ("3.6.0", (12, 1), []),
        ("3.6.0", (11, 0), ["ptxas-too-old"]),
        ("3.7.1", (11, 0), []),
        ("3.6.0", (15, 0), []),
    ],
)
def test_the_bundled_ptxas(version: str, gpu: Capability, expected: list[str]) -> None:
    assert causes(resolve(version, gpu=gpu)) == expected


@pytest.mark.parametrize(
    ("version", "gpu", "name"),
    [
        ("3.2.0", (12, 0), PLAIN),
        ("3.3.1", (12, 0), None),
        ("3.3.1", (9, 0), PLAIN),
        ("3.5.1", (12, 1), PLAIN),
        ("3.6.0", (12, 1), BLACKWELL),
        ("3.6.0", (9, 0), PLAIN),
        ("3.9.0", (9, 0), BLACKWELL),
    ],
)
def test_the_variable_that_counts(version: str, gpu: Capability, name: str | None) -> None:
    assert variable(version, gpu) == name


@pytest.mark.parametrize(
    ("version", "gpu", "env", "expected"),
    [
        ("3.6.0", (11, 0), {BLACKWELL: PTXAS}, []),
        ("3.6.0", (11, 0), {PLAIN: PTXAS}, ["ptxas-too-old"]),
        ("3.6.0", (11, 0), {BLACKWELL: "/nowhere/ptxas"}, ["ptxas-too-old"]),
        ("3.4.0", (12, 1), {PLAIN: PTXAS}, ["ptxas-too-old"]),
        ("3.5.0", (12, 1), {PLAIN: PTXAS}, []),
        ("3.6.0", (12, 0), {BLACKWELL: "/opt/other/ptxas"}, []),
    ],
)
def test_overrides(version: str, gpu: Capability, env: dict[str, str], expected: list[str]) -> None:
    assert causes(resolve(version, env, gpu=gpu, programs=[PTXAS, "/opt/other/ptxas"])) == expected


def test_the_workaround_that_no_longer_works_is_named() -> None:
    (problem,) = resolve("3.6.0", {PLAIN: PTXAS}, gpu=(11, 0)).problems
    assert "no effect" in problem.text


@pytest.mark.parametrize(
    ("env", "more", "expected"),
    [
        ({}, {"without": ["/usr/bin/gcc"]}, ["host-compiler-missing"]),
        ({}, {"without": ["/usr/bin/gcc"], "programs": ["/usr/bin/clang"]}, []),
        ({"CC": "gcc -m64"}, {}, ["host-compiler-missing"]),
        ({"CC": "/usr/bin/gcc"}, {}, []),
    ],
)
def test_the_c_compiler(env: dict[str, str], more: dict[str, Any], expected: list[str]) -> None:
    assert causes(resolve("3.6.0", env, **more), fatal=True) == expected


def test_python_headers() -> None:
    bare = Interpreter("/venv/bin/python", "/venv", (3, 11, 2), (), {}, "2.11.0", "13.0")
    assert causes(resolve("3.6.0", python=bare)) == ["python-headers-missing"]
    assert causes(resolve("3.6.0", python=bare, server=""), fatal=True) == []


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, "/root/.triton/cache"),
        ({"TRITON_HOME": "/srv"}, "/srv/.triton/cache"),
        ({"TRITON_CACHE_DIR": "/srv/t", "TRITON_HOME": "/x"}, "/srv/t"),
    ],
)
def test_the_cache(env: dict[str, str], folder: str) -> None:
    assert resolve("3.6.0", env).cache == folder
