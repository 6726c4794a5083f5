from __future__ import annotations

from typing import Any

import pytest

from remedy.jit.tvm_ffi import LIBRARY
from tests.jit.machines import PATH, VENV, WHOLE, causes, context, interpreter, toolkit

OLD, NEW = toolkit("/usr/local/cuda-12.8", (12, 8)), toolkit("/usr/local/cuda-13.0", (13, 0))
SMI = "/usr/bin/nvidia-smi"


def resolve(version: str = "0.1.11", env: dict[str, str] | None = None, **more: Any) -> Any:
    more = {"toolkits": [OLD, NEW], "programs": [SMI], "server": "sglang", **more}
    python = interpreter(apache_tvm_ffi=version, sglang=more.pop("sglang", "0.5.12"))
    return LIBRARY.resolve(version, context(env or {"CUDA_HOME": NEW.root}, python=python, **more))


def test_the_plain_capability_of_the_first_gpu() -> None:
    found = resolve()
    assert (found.toolkit, found.requires.targets, found.requires.nvcc_minimum) == (NEW.root, {"120"}, (12, 8))
    assert found.satisfied
    assert found.cache == "/root/.cache/tvm-ffi"


@pytest.mark.parametrize(
    ("version", "env", "rocm", "expected"),
    [
        ("0.1.8", {}, True, []),
        ("0.1.9", {}, True, ["rocm-selected"]),
        ("0.1.11", {}, True, ["rocm-selected"]),
        ("0.1.12", {}, True, ["rocm-selected"]),
        ("0.1.13", {}, True, []),
        ("0.1.11", {}, False, []),
        ("0.1.11", {"TVM_FFI_GPU_BACKEND": "cuda"}, True, []),
        ("0.1.15.post2", {"TVM_FFI_GPU_BACKEND": "hip"}, False, ["rocm-selected"]),
        ("0.1.11", {"ROCM_HOME": "/srv/rocm"}, False, ["rocm-selected"]),
    ],
)
def test_rocm(version: str, env: dict[str, str], rocm: bool, expected: list[str]) -> None:
    files = ["/opt/rocm/.info/version"] if rocm else []
    assert causes(resolve(version, {"CUDA_HOME": NEW.root, **env}, files=files)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.0", []),
        ("12.0f", []),
        ("8.9", ["arch-list-wrong"]),
        ("120", ["arch-list-wrong"]),
        ("12.0;9.0", ["arch-list-wrong"]),
        ("12.0 7.0", ["arch-list-wrong"]),
        ("", ["arch-list-wrong"]),
    ],
)
def test_lists(text: str, expected: list[str]) -> None:
    env = {"CUDA_HOME": NEW.root, "TVM_FFI_CUDA_ARCH_LIST": text}
    assert causes(resolve(env=env, sglang="0.5.7")) == expected
    assert causes(resolve(env=env, sglang="0.5.9")) == expected
    assert causes(resolve(env=env, sglang="0.5.10")) == []


@pytest.mark.parametrize(
    ("version", "sglang", "words"),
    [("0.1.5", "0.5.7", "builds for compute_70"), ("0.1.11", "0.5.7", "asks nvidia-smi"), ("0.1.11", "0.5.12", "")],
)
def test_without_nvidia_smi(version: str, sglang: str, words: str) -> None:
    found = resolve(version, programs=[], sglang=sglang)
    assert any(words in problem.text for problem in found.problems) is bool(words)


@pytest.mark.parametrize(
    ("server", "sglang", "fatal"),
    [("sglang", "0.5.7", True), ("sglang", "0.5.17", True), ("sglang", "0.5.18", False), ("vllm", "0.5.12", False)],
)
def test_only_a_server_that_builds_through_it_is_stopped(server: str, sglang: str, fatal: bool) -> None:
    found = resolve(env={"CUDA_HOME": "/nowhere"}, server=server, sglang=sglang)
    assert found.satisfied is not fatal


@pytest.mark.parametrize(
    ("env", "more", "expected"),
    [
        ({"CUDA_HOME": "/dev/null"}, {"files": ["/dev/null"]}, ["cuda-home-invalid"]),
        ({"CUDA_HOME": NEW.root, "PATH": "/usr/bin:/bin"}, {}, ["ninja-missing"]),
        ({"CUDA_HOME": NEW.root}, {"without": ["/usr/bin/gcc"]}, ["host-compiler-missing"]),
        ({"CUDA_HOME": NEW.root, "CC": "gcc-99"}, {}, []),
        ({"CUDA_HOME": OLD.root}, {"gpu": (12, 1)}, ["nvcc-too-old"]),
        ({"CUDA_HOME": NEW.root}, {"gpu": (7, 0)}, ["nvcc-too-new"]),
        ({"PATH": f"{VENV}/bin:/usr/bin"}, {"toolkits": []}, ["nvcc-not-found"]),
    ],
)
def test_what_stops_it(env: dict[str, str], more: dict[str, Any], expected: list[str]) -> None:
    assert causes(resolve(env={"PATH": PATH, **env}, **more), fatal=True) == expected


def test_it_needs_no_stub_and_no_curand() -> None:
    kit = toolkit(NEW.root, (13, 0), WHOLE - {"stub", "curand", "cccl"})
    assert causes(resolve(toolkits=[kit])) == []
    assert causes(resolve(toolkits=[toolkit(NEW.root, (13, 0), WHOLE - {"cudart-library"})])) == [
        "cuda-library-not-linkable"
    ]
