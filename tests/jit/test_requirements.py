from __future__ import annotations

import pytest

from remedy.facts.types import Toolkit, Version
from remedy.jit import resolve_all
from remedy.jit.requirements import joined, shortfalls
from remedy.jit.types import Requirement, Resolution
from tests.jit.machines import PATH, WHOLE, causes, context, interpreter, toolkit

OLD = toolkit("/usr/local/cuda-12.8", (12, 8))
STORY = context(
    {"PATH": f"{OLD.root}/bin:{PATH}"},
    toolkits=[OLD],
    python=interpreter(
        flashinfer_python="0.6.8.post1", apache_tvm_ffi="0.1.11", sglang="0.5.12", triton="3.6.0", sgl_deep_gemm="0.1.0"
    ),
)


def of(requirement: Requirement) -> Resolution:
    return Resolution("one", "1", requires=requirement)


def test_the_highest_floor_gives_its_reason() -> None:
    found = joined(
        [
            of(Requirement(nvcc_minimum=(12, 8), reason="a needs")),
            of(Requirement(nvcc_minimum=(12, 9), reason="b needs")),
        ]
    )
    assert (found.nvcc_minimum, found.reason) == ((12, 9), "b needs")


def test_all_must_hold() -> None:
    found = joined(
        [
            of(Requirement(nvcc_below=(14, 0), components=frozenset({"nvcc"}), ninja=True, torch_major=13)),
            of(Requirement(nvcc_below=(13, 0), optional=frozenset({"nvcc", "cublas"}), python_headers=True)),
        ]
    )
    assert found.nvcc_below == (13, 0)
    assert found.components == {"nvcc"}
    assert found.optional == {"cublas"}
    assert (found.ninja, found.python_headers, found.host_compiler, found.torch_major) == (True, True, False, 13)


def test_nothing_demanded_is_nothing() -> None:
    assert joined([]) == Requirement()


def test_the_storys_libraries_together() -> None:
    found = joined(resolve_all(STORY))
    assert (found.nvcc_minimum, found.nvcc_below, found.torch_major) == ((12, 9), (14, 0), 13)
    assert {"nvcc", "curand", "stub", "cccl", "cudart-library"} <= found.components
    assert found.python_headers
    assert found.ninja


@pytest.mark.parametrize(
    ("release", "components", "expected"),
    [
        ((13, 0), WHOLE, []),
        ((13, 2), WHOLE, []),
        ((12, 9), WHOLE, ["nvcc-torch-mismatch"]),
        ((12, 8), WHOLE, ["nvcc-too-old", "nvcc-torch-mismatch"]),
        ((14, 0), WHOLE, ["nvcc-too-new", "nvcc-torch-mismatch"]),
        ((13, 0), WHOLE - {"curand"}, ["cuda-headers-missing"]),
        ((13, 0), WHOLE - {"cublas"}, []),
        (None, WHOLE, ["nvcc-not-found"]),
    ],
)
def test_candidates(release: Version | None, components: frozenset[str], expected: list[str]) -> None:
    root = "/var/lib/remedy/toolkits/cuda"
    kit = Toolkit(root, f"{root}/bin/nvcc" if release else None, release, release, components, "remedy", root)
    assert causes(shortfalls(joined(resolve_all(STORY)), kit, STORY)) == expected
