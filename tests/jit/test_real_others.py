"""The other libraries' lookups, cut out of their own files, against the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from remedy.jit import deep_gemm, lookup, servers, sglang, tilelang, torch_archs, tvm_ffi
from remedy.jit.tables import Capability
from remedy.jit.types import Context
from tests.jit import toolchains
from tests.jit.real import store
from tests.jit.toolchains import ENVIRONMENTS, Roots

pytestmark = pytest.mark.machine

ROOT_LOOKUPS: tuple[tuple[str, str, str, str, Callable[[str, Context], lookup.Found]], ...] = (
    ("apache-tvm-ffi", "0.1.0", "tvm_ffi/cpp/load_inline.py", "_find_cuda_home", lambda _, at: lookup.usual(at)),
    ("apache-tvm-ffi", "0.1.9", "tvm_ffi/cpp/extension.py", "_find_cuda_home", lambda _, at: lookup.usual(at)),
    ("apache-tvm-ffi", "0.1.11", "tvm_ffi/cpp/extension.py", "_find_cuda_home", lambda _, at: lookup.usual(at)),
    ("apache-tvm-ffi", "0.1.15.post2", "tvm_ffi/cpp/extension.py", "_find_cuda_home", lambda _, at: lookup.usual(at)),
    ("sglang", "0.5.18", "sglang/kernels/jit/utils/compile/toolchain.py", "cuda_home", sglang.root),
    ("sglang", "0.5.23", "sglang/kernels/jit/utils/compile/toolchain.py", "cuda_home", sglang.root),
    ("sgl-deep-gemm", "0.1.0", "deep_gemm/__init__.py", "_find_cuda_home", partial(deep_gemm.root, "sgl-deep-gemm")),
    ("sgl-deep-gemm", "0.2.0", "deep_gemm/cuda_helpers.py", "find_cuda_home", partial(deep_gemm.root, "sgl-deep-gemm")),
    ("tilelang", "0.1.6.post2", "tilelang/env.py", "_find_cuda_home", tilelang.root),
    ("tilelang", "0.1.8", "tilelang/env.py", "_find_cuda_home", tilelang.root),
    ("tilelang", "0.1.12", "tilelang/env.py", "_find_cuda_home", tilelang.root),
)


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Roots:
    return toolchains.build(tmp_path_factory.mktemp("cuda"))


def ask(distribution: str, version: str, file: str, functions: list[str], cases: list[dict[str, Any]]) -> list[Any]:
    """The answers of one release's functions to many cases."""
    asked: list[dict[str, object]] = [{"file": file, "functions": functions, **case} for case in cases]
    # torch's wheel is large, and is installed already.
    folder = store.installed() if distribution == "torch" else store.source(distribution, version)
    return store.ask("probe_functions.py", folder, asked)


@pytest.mark.parametrize(("distribution", "version", "file", "function", "model"), ROOT_LOOKUPS)
def test_the_root_is_the_librarys(
    roots: Roots,
    distribution: str,
    version: str,
    file: str,
    function: str,
    model: Callable[[str, Context], lookup.Found],
) -> None:
    environments = [roots.filled(env) for env in ENVIRONMENTS]
    answers = ask(distribution, version, file, [function], [{"env": env} for env in environments])
    for env, answer in zip(environments, answers, strict=True):
        root, expected = model(version, toolchains.context(roots, env)).root, answer.get("value")
        # TileLang says "" where it finds nothing.
        assert root == expected or (distribution == "tilelang" and not root and not expected), env


@pytest.mark.parametrize("version", ["0.1.9", "0.1.11", "0.1.15.post2"])
def test_tvm_ffi_takes_hip_where_the_model_says_so(roots: Roots, version: str) -> None:
    rocm = roots.base / "rocm"
    rocm.mkdir(exist_ok=True)
    environments = [
        roots.filled({"PATH": "{old}/bin:{system}", **more})
        for more in ({}, {"ROCM_HOME": str(rocm)}, {"TVM_FFI_GPU_BACKEND": "hip"}, {"ROCM_PATH": str(rocm)})
    ] + [roots.filled({"PATH": "{system}", "TVM_FFI_GPU_BACKEND": "cuda", "ROCM_HOME": str(rocm)})]
    functions = ["_find_compiler", "_find_rocm_home", "_detect_gpu_backend"]
    cases = [{"env": env, "torch_cuda": "13.0"} for env in environments]
    for env, answer in zip(environments, ask("apache-tvm-ffi", version, FILE, functions, cases), strict=True):
        problems = list(tvm_ffi.rocm_problem(version, toolchains.context(roots, env), fatal=True))
        assert bool(problems) == (answer["value"] == "hip"), env


FILE = "tvm_ffi/cpp/extension.py"


@pytest.mark.parametrize("text", ["8.9 9.0a", "12.0f", " 12.0 ", "120", "12.0;9.0", "12.0.1"])
def test_tvm_ffi_reads_its_list_as_the_model_does(roots: Roots, text: str) -> None:
    env = roots.filled({"PATH": "{new}/bin:{system}", tvm_ffi.VARIABLE: text})
    (answer,) = ask("apache-tvm-ffi", "0.1.11", FILE, ["_get_cuda_target"], [{"env": env}])
    targets, refused = tvm_ffi.listed(toolchains.context(roots, env))
    assert (refused is not None) == ("error" in answer)
    if "value" in answer:
        assert targets == {flag.rpartition("sm_")[2] for flag in answer["value"].split()}


@pytest.mark.parametrize("version", ["0.5.17", "0.5.18", "0.5.23"])
@pytest.mark.parametrize("gpu", [(12, 0), (12, 1), (9, 0), (8, 9), (10, 0), (11, 0)])
def test_sglang_spells_the_target_as_the_model_does(roots: Roots, version: str, gpu: Capability) -> None:
    for kit, nvcc in (("old", (12, 8)), ("new", (13, 0))):
        env = roots.filled({"PATH": f"{{{kit}}}/bin:{{system}}"})
        file, functions = "sglang/kernels/jit/utils/arch.py", ["_jit_cuda_version", "_cuda_arch_suffix"]
        case = {"env": env, "arguments": gpu, "torch_cuda": "13.0"}
        (answer,) = ask("sglang", version, file, functions, [case])
        assert sglang.target(version, gpu, nvcc) == f"{gpu[0]}{gpu[1]}{answer['value']}"


@pytest.mark.parametrize("version", ["0.5.18", "0.5.23"])
def test_sglang_moves_the_caches_that_the_model_moves(roots: Roots, version: str) -> None:
    env = roots.filled({"PATH": "{system}"})
    folder = store.source("sglang", version)
    names = servers.effective(toolchains.context(roots, env, server="sglang", sglang=version)).env
    text = (folder / "sglang/srt/environ.py").read_text()
    body = text.partition("def third_party_cache_defaults")[2].partition("\ndef ")[0]
    moved = {line.split('"')[1] for line in body.splitlines() if line.strip().startswith('"')}
    assert moved == set(names) - set(env) - {"DG_JIT_CACHE_DIR"}


LISTS = (
    "8.9",
    "9.0a 12.0",
    "12.0;9.0",
    "12.0f",
    "Hopper",
    "Blackwell",
    "Blackwell+Tegra",
    "9.0+PTX",
    "8.9;",
    "nonsense",
)


@pytest.mark.parametrize("text", LISTS)
def test_torch_reads_its_list_as_the_model_does(roots: Roots, text: str) -> None:
    env = roots.filled({"PATH": "{system}", "TORCH_CUDA_ARCH_LIST": text})
    case = {"env": env, "gpus": [(12, 0)], "torch_cuda": "13.0"}
    (answer,) = ask("torch", "2.13.0", "torch/utils/cpp_extension.py", ["_get_cuda_arch_flags"], [case])
    archs = torch_archs.from_list("2.13.0", text)
    assert (archs.error is not None) == ("error" in answer), answer
    if "value" in answer:
        assert set(archs.targets) == {flag.rpartition("_")[2] for flag in answer["value"] if "code=sm_" in flag}
        assert archs.forward == any("code=compute_" in flag for flag in answer["value"])
