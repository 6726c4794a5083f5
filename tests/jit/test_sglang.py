from __future__ import annotations

import pytest

from remedy.facts.types import Version
from remedy.jit.servers import effective
from remedy.jit.sglang import LIBRARY, target
from remedy.jit.tables import Capability
from tests.jit.machines import causes, context, interpreter, toolkit

OLD, NEW = toolkit("/usr/local/cuda-12.8", (12, 8)), toolkit("/usr/local/cuda-13.0", (13, 0))


@pytest.mark.parametrize(
    ("version", "gpu", "nvcc", "spelled"),
    [
        ("0.5.10", (12, 0), (13, 0), "120"),
        ("0.5.17", (12, 0), (13, 0), "120f"),
        ("0.5.18", (12, 0), (12, 8), "120a"),
        ("0.5.18", (12, 1), (13, 0), "121a"),
        ("0.5.18", (9, 0), (12, 4), "90a"),
        ("0.5.18", (8, 9), (12, 4), "89"),
        ("0.5.18", (12, 0), None, "120f"),
    ],
)
def test_targets(version: str, gpu: Capability, nvcc: Version | None, spelled: str) -> None:
    assert target(version, gpu, nvcc) == spelled


@pytest.mark.parametrize(
    ("version", "env", "root", "expected"),
    [
        ("0.5.3", {}, None, []),
        ("0.5.12", {"CUDA_HOME": NEW.root}, NEW.root, []),
        ("0.5.12", {"CUDA_HOME": "/nowhere"}, "/nowhere", ["cuda-home-invalid"]),
        ("0.5.12", {}, None, ["nvcc-not-found"]),
        ("0.5.18", {}, "/usr/local/cuda", ["nvcc-not-found"]),
        ("0.5.18", {"CUDA_HOME": OLD.root}, OLD.root, []),
    ],
)
def test_lookup(version: str, env: dict[str, str], root: str | None, expected: list[str]) -> None:
    found = LIBRARY.resolve(version, context(env, toolkits=[OLD, NEW], python=interpreter(sglang=version)))
    assert found.toolkit == root
    assert causes(found, fatal=True) == expected


@pytest.mark.parametrize(("gcc", "expected"), [((9, 4), ["host-compiler-unsupported"]), ((10, 2), [])])
def test_its_sources_are_c_20(gcc: Version, expected: list[str]) -> None:
    where = context({"CUDA_HOME": NEW.root}, toolkits=[NEW], python=interpreter(sglang="0.5.12"), gcc=gcc)
    assert causes(LIBRARY.resolve("0.5.12", where)) == expected


def test_it_stops_only_its_own_server() -> None:
    where = context({"CUDA_HOME": "/nowhere"}, python=interpreter(sglang="0.5.12"), server="vllm")
    assert LIBRARY.resolve("0.5.12", where).problems == ()


@pytest.mark.parametrize(
    ("version", "env", "expected"),
    [
        ("0.5.17", {}, {"DG_JIT_CACHE_DIR": "/root/.cache/deep_gemm"}),
        ("0.5.17", {"SGLANG_DG_CACHE_DIR": "/srv/dg"}, {"DG_JIT_CACHE_DIR": "/srv/dg"}),
        (
            "0.5.18",
            {},
            {
                "DG_JIT_CACHE_DIR": "/root/.cache/sglang/deep_gemm",
                "TRITON_CACHE_DIR": "/root/.cache/sglang/triton",
                "TORCHINDUCTOR_CACHE_DIR": "/root/.cache/sglang/inductor",
                "CUDA_CACHE_PATH": "/root/.cache/sglang/nv",
                "FLASHINFER_WORKSPACE_BASE": "/root/.cache/sglang",
            },
        ),
        ("0.5.23", {"SGLANG_CACHE_DIR": "/srv"}, {"TILELANG_CACHE_DIR": "/srv/tilelang"}),
        ("0.5.18", {"TRITON_CACHE_DIR": "/own"}, {"TRITON_CACHE_DIR": "/own"}),
    ],
)
def test_what_it_moves(version: str, env: dict[str, str], expected: dict[str, str]) -> None:
    after = effective(context(env, python=interpreter(sglang=version))).env
    assert {name: after.get(name) for name in expected} == expected


def test_flashinfers_cache_follows() -> None:
    from remedy.jit import resolve_all

    python = interpreter(sglang="0.5.18", flashinfer_python="0.6.17")
    found = {one.library: one for one in resolve_all(context({"CUDA_HOME": NEW.root}, toolkits=[NEW], python=python))}
    assert found["flashinfer"].cache == "/root/.cache/sglang/.cache/flashinfer/0.6.17/120f/cached_ops"
    assert found["flashinfer"].requires.targets == {"120f", "120a"}
