"""vLLM's own rules, cut out of its files, beside the real FlashInfer, against the model."""

from __future__ import annotations

from functools import partial

import pytest

from remedy.jit import deep_gemm, vllm
from tests.jit import toolchains
from tests.jit.real import store
from tests.jit.toolchains import ENVIRONMENTS, Roots

pytestmark = pytest.mark.machine

FILE = "vllm/utils/flashinfer.py"
FUNCTIONS = ["_DEFAULT_CUDA_HOME", "_flashinfer_nvcc_path", "has_flashinfer_cubin", "has_flashinfer"]
PARTS = ("vllm/envs.py", FILE)
ENVS = {"modules": {"envs": "vllm/envs.py"}}
VERSIONS = ("0.11.0", "0.11.1", "0.31.0", "0.32.0", "0.33.0", "0.34.0")


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Roots:
    base = tmp_path_factory.mktemp("cuda")
    (base / "tools").mkdir()
    (base / "tools/ninja").write_text("#!/bin/sh\n")
    (base / "tools/ninja").chmod(0o755)
    (base / "cubin/flashinfer_cubin").mkdir(parents=True)
    (base / "cubin/flashinfer_cubin/__init__.py").touch()
    return toolchains.build(base)


def environments(roots: Roots) -> list[dict[str, str]]:
    """Those of the other libraries, with and without ninja, and with vLLM's own variable."""
    found = [roots.filled(env) for env in ENVIRONMENTS]
    found += [{**env, "PATH": f"{env['PATH']}:{roots.base}/tools"} for env in found]
    return [*found, {**found[2], "VLLM_HAS_FLASHINFER_CUBIN": "1"}, {**found[2], "VLLM_HAS_FLASHINFER_CUBIN": "0"}]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cubin", [False, True])
def test_flashinfer_is_left_out_where_the_model_says_so(roots: Roots, version: str, cubin: bool) -> None:
    path = [str(store.source("flashinfer-python", "0.6.12")), *([str(roots.base / "cubin")] if cubin else [])]
    asked = environments(roots)
    more: dict[str, object] = {"file": FILE, "functions": FUNCTIONS, "path": path, **ENVS}
    answers = store.ask(
        "probe_functions.py", store.part("vllm", version, *PARTS), [{"env": env, **more} for env in asked]
    )
    machine = partial(toolchains.context, roots, server="vllm", vllm=version)
    machine = partial(machine, flashinfer_cubin="0.6.12") if cubin else machine
    for env, answer in zip(asked, answers, strict=True):
        assert vllm.flashinfer_is_on(machine(env)) is answer.get("value"), (env, answer)


GEMM = "vllm/utils/deep_gemm.py"
GATE = ["_DEFAULT_CUDA_HOME", "_deep_gemm_nvcc_path", "_nvcc_version"]
COMPILERS = ("DG_JIT_NVCC_COMPILER", "DJ_JIT_NVCC_COMPILER")


def test_deep_gemm_is_left_out_where_the_model_says_so(roots: Roots) -> None:
    asked = environments(roots)
    asked += [
        {**env, name: f"{roots.base}/{kit}/bin/nvcc"} for env in asked for name in COMPILERS for kit in ("old", "new")
    ]
    more: dict[str, object] = {
        "file": GEMM,
        "functions": GATE,
        "expression": "not (nvcc := _deep_gemm_nvcc_path()) or (_nvcc_version(nvcc) or (99, 0)) < (12, 9)",
    }
    answers = store.ask(
        "probe_functions.py", store.part("vllm", "0.34.0", GEMM), [{"env": env, **more} for env in asked]
    )
    for env, answer in zip(asked, answers, strict=True):
        where = toolchains.context(roots, env, server="vllm", vllm="0.34.0")
        assert deep_gemm.left_out(where) is answer.get("value"), (env, answer)


CACHES: tuple[dict[str, str], ...] = (
    {},
    {"XDG_CACHE_HOME": "/var/cache"},
    {"VLLM_CACHE_ROOT": "/srv/vllm"},
    {"VLLM_CACHE_ROOT": "~/v"},
)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_cache_is_where_the_model_says(roots: Roots, version: str) -> None:
    asked = [roots.filled(env) for env in CACHES]
    more: dict[str, object] = {"file": FILE, "functions": [], "expression": "envs.VLLM_CACHE_ROOT", **ENVS}
    answers = store.ask(
        "probe_functions.py", store.part("vllm", version, *PARTS), [{"env": env, **more} for env in asked]
    )
    places = [vllm.cache(toolchains.context(roots, env, server="vllm", vllm=version)) for env in asked]
    assert places == [answer["value"] for answer in answers]
