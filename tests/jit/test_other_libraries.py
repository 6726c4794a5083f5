"""DeepGEMM, TileLang, vLLM, Inductor, CuPy and numba-cuda: they rarely stop a service, and say so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from remedy.facts.types import JitCache
from remedy.jit import cupy, deep_gemm, inductor, numba_cuda, pathfinder, tilelang, vllm
from tests.jit.machines import PATH, VENV, causes, context, interpreter, toolkit

OLD, NEW = toolkit("/usr/local/cuda-12.8", (12, 8)), toolkit("/usr/local/cuda-13.0", (13, 0))
ANCIENT = toolkit("/usr/local/cuda-12.1", (12, 1))
SITE = f"{VENV}/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("name", "version", "gpu", "kit", "argv", "expected"),
    [
        ("sgl_deep_gemm", "0.1.0", (9, 0), OLD, (), []),
        ("sgl_deep_gemm", "0.1.0", (9, 0), ANCIENT, ("--quantization", "fp8"), ["nvcc-too-old"]),
        ("sgl_deep_gemm", "0.1.0", (9, 0), ANCIENT, (), []),
        ("sgl_deep_gemm", "0.2.0", (9, 0), OLD, ("--model", "Kimi-FP8"), ["nvcc-too-old"]),
        ("sgl_deep_gemm", "0.1.0", (12, 0), ANCIENT, ("--quantization", "fp8"), []),
        ("sgl_deep_gemm", "0.2.0", (12, 0), OLD, ("--quantization", "fp8"), ["nvcc-too-old"]),
        ("deep_gemm", "2.5.0", (10, 0), OLD, ("fp8",), []),
        ("deep_gemm", "2.8.0", (10, 0), OLD, ("fp8",), ["nvcc-too-old"]),
    ],
)
def test_deep_gemm(
    name: str, version: str, gpu: tuple[int, int], kit: Any, argv: tuple[str, ...], expected: list[str]
) -> None:
    python = interpreter(torch_cuda="12.8", **{name: version})
    where = context({"CUDA_HOME": kit.root}, toolkits=[kit], gpu=gpu, python=python, argv=argv, gcc=(12, 2))
    assert causes(deep_gemm.LIBRARY.resolve(version, where), fatal=True) == expected


def test_deep_gemm_fails_at_import_without_any_toolkit() -> None:
    where = context({}, gpu=(9, 0), python=interpreter(sgl_deep_gemm="0.1.0"))
    assert causes(deep_gemm.LIBRARY.resolve("0.1.0", where), fatal=True) == ["nvcc-not-found"]


def test_nvrtc_needs_no_nvcc() -> None:
    where = context({"DG_JIT_USE_NVRTC": "1"}, gpu=(9, 0), python=interpreter(sgl_deep_gemm="0.1.0"), argv=("fp8",))
    assert deep_gemm.LIBRARY.resolve("0.1.0", where).problems == ()


@pytest.mark.parametrize(
    ("version", "env", "more", "root", "by"),
    [
        ("0.1.8", {"CUDA_HOME": NEW.root}, {}, NEW.root, "CUDA_HOME"),
        ("0.1.8", {"PATH": f"{OLD.root}/bin:{PATH}"}, {}, OLD.root, "PATH"),
        ("0.1.8", {}, {"wheel": True}, f"{SITE}/nvidia/cu13", "wheel"),
        ("0.1.6", {}, {"wheel": True}, None, "nothing"),
        ("0.1.8", {}, {"files": ["/opt/nvidia/hpc_sdk/Linux_x86_64/x"]}, "/opt/nvidia/hpc_sdk/Linux_x86_64", None),
    ],
)
def test_tilelang(version: str, env: dict[str, str], more: dict[str, Any], root: str | None, by: str | None) -> None:
    wheel = more.pop("wheel", False)
    python = interpreter(tilelang=version, **({"nvidia_cuda_nvcc": "13.0.88"} if wheel else {}))
    programs = [f"{SITE}/nvidia/cu13/bin/nvcc"] if wheel else []
    found = tilelang.LIBRARY.resolve(
        version, context(env, toolkits=[OLD, NEW], python=python, programs=programs, **more)
    )
    assert found.toolkit == root
    assert by is None or found.found_by == by
    assert found.problems == ()


@pytest.mark.parametrize(
    ("version", "env", "cubin", "on"),
    [
        ("0.31.0", {"PATH": f"{NEW.root}/bin:{PATH}"}, None, True),
        ("0.10.2", {"CUDA_HOME": NEW.root}, None, True),
        ("0.31.0", {"CUDA_HOME": NEW.root}, None, False),
        ("0.31.0", {"CUDA_HOME": NEW.root}, "0.6.12", True),
        ("0.32.0", {"CUDA_HOME": NEW.root}, None, True),
        ("0.32.0", {"CUDA_HOME": NEW.root, "PATH": "/usr/bin"}, None, False),
        ("0.31.0", {"VLLM_HAS_FLASHINFER_CUBIN": "1"}, None, True),
    ],
)
def test_vllm_leaves_flashinfer_out(version: str, env: dict[str, str], cubin: str | None, on: bool) -> None:
    dists = {"vllm": version, "flashinfer_python": "0.6.12", **({"flashinfer_cubin": cubin} if cubin else {})}
    where = context(env, toolkits=[NEW], python=interpreter(**dists), server="vllm")
    found = vllm.LIBRARY.resolve(version, where)
    assert vllm.flashinfer_is_on(where) is on
    assert causes(found) == ([] if on else ["nvcc-not-found"])
    assert found.satisfied


@pytest.mark.parametrize(("argv", "fatal"), [((), []), (("serve", "m", "--quantization", "fp8"), ["nvcc-too-old"])])
def test_vllms_own_deep_gemm(argv: tuple[str, ...], fatal: list[str]) -> None:
    where = context(
        {"CUDA_HOME": OLD.root}, toolkits=[OLD], gpu=(9, 0), python=interpreter(vllm="0.32.0"), server="vllm", argv=argv
    )
    assert causes(vllm.LIBRARY.resolve("0.32.0", where), fatal=True) == fatal


@pytest.mark.parametrize(
    ("version", "env", "fatal"),
    [
        ("0.33.0", {"CUDA_HOME": OLD.root}, ["nvcc-too-old"]),
        # It looks itself, and goes on without.
        ("0.34.0", {"CUDA_HOME": OLD.root}, []),
        ("0.34.0", {"CUDA_HOME": "/nowhere"}, []),
        ("0.34.0", {"CUDA_HOME": NEW.root, "DG_JIT_NVCC_COMPILER": f"{OLD.root}/bin/nvcc"}, []),
    ],
)
def test_from_0_34_on_vllm_leaves_a_deep_gemm_out_that_could_not_build(
    version: str, env: dict[str, str], fatal: list[str]
) -> None:
    python = interpreter(vllm=version, deep_gemm="2.8.0")
    where = context(env, toolkits=[OLD, NEW], gpu=(9, 0), python=python, server="vllm", argv=("serve", "x/Qwen3-FP8"))
    found = causes(vllm.LIBRARY.resolve(version, where), fatal=True)
    assert found == fatal
    assert causes(deep_gemm.LIBRARY.resolve("2.8.0", where), fatal=True) == fatal


def test_vllm_says_nothing_where_it_is_only_installed() -> None:
    python = interpreter(vllm="0.24.0", flashinfer_python="0.6.12")
    assert vllm.LIBRARY.resolve("0.24.0", context({}, python=python)).problems == ()


@pytest.mark.parametrize(
    ("env", "folder"),
    [({}, "/tmp/torchinductor_root"), ({"TMPDIR": "/var/tmp"}, "/var/tmp/torchinductor_root"), ({"X": ""}, None)],
)
def test_inductors_cache(env: dict[str, str], folder: str | None) -> None:
    found = inductor.LIBRARY.resolve("2.11.0", context(env))
    assert found.cache == (folder or "/tmp/torchinductor_root")


def test_inductor_without_a_compiler_is_not_fatal() -> None:
    found = inductor.LIBRARY.resolve("2.11.0", context({}, without=["/usr/bin/g++"]))
    assert causes(found) == ["host-compiler-missing"]
    assert found.satisfied


def test_vllm_stops_where_its_cache_cant_be_written() -> None:
    caches = (JitCache("vllm", "/root/.cache/vllm", True, 0, (), False),)
    where = context({}, python=interpreter(vllm="0.24.0"), server="vllm", caches=caches)
    assert causes(vllm.LIBRARY.resolve("0.24.0", where), fatal=True) == ["jit-cache-unwritable"]


NVRTC_OLD, NVRTC_NEW = f"{OLD.root}/lib64/libnvrtc.so.12", f"{NEW.root}/lib64/libnvrtc.so.13"
NVVM_NEW = f"{NEW.root}/nvvm/lib64/libnvvm.so.4"
LOADER = {
    NVVM_NEW: "",
    f"{NEW.root}/lib64/libcudart.so.13": "",
    "/etc/ld.so.conf.d/cuda.conf": f"# CUDA\n{NEW.root}/lib64\n",
}
BOTH = {"CUDA_HOME": OLD.root, "CUDA_PATH": NEW.root}


@pytest.mark.parametrize(
    ("version", "env", "files", "root", "by"),
    [
        ("13.6.0", BOTH, (), NEW.root, "CUDA_PATH"),
        ("13.6.0", {"CUDA_HOME": NEW.root}, (), None, "nothing"),
        ("13.6.0", {"CUDA_PATH": "/nowhere", "PATH": f"{OLD.root}/bin:{PATH}"}, (), OLD.root, "PATH"),
        ("14.0.1", BOTH, (NVRTC_OLD, NVRTC_NEW), NEW.root, "CUDA_PATH"),
        ("14.2.0", BOTH, (NVRTC_OLD, NVRTC_NEW), NEW.root, "CUDA_PATH"),
        ("14.2.0", BOTH, (NVRTC_OLD,), None, "nothing"),
        ("14.2.0", {"CUDA_HOME": OLD.root}, (NVRTC_OLD,), OLD.root, "CUDA_HOME"),
        (
            "14.2.0",
            {**BOTH, "LD_LIBRARY_PATH": f":{OLD.root}/lib64"},
            (NVRTC_OLD, NVRTC_NEW),
            OLD.root,
            "LD_LIBRARY_PATH",
        ),
        ("14.2.0", BOTH, (NVRTC_NEW, f"{SITE}/nvidia/cu13/lib/libnvrtc.so.13"), f"{SITE}/nvidia/cu13", "wheel"),
        ("14.2.0", BOTH, (NVRTC_NEW, f"{SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), None, "wheel"),
        (
            "14.2.0",
            {"CONDA_PREFIX": "/conda"},
            ("/conda/lib/libnvrtc.so.12",),
            "/conda/targets/x86_64-linux",
            "CONDA_PREFIX",
        ),
    ],
)
def test_cupy(version: str, env: dict[str, str], files: tuple[str, ...], root: str | None, by: str) -> None:
    where = context(env, toolkits=[OLD, NEW], python=interpreter(cuda_pathfinder="1.9.0"), files=files)
    found = cupy.LIBRARY.resolve(version, where)
    assert (found.toolkit, found.found_by, found.problems) == (root, by, ())


@pytest.mark.parametrize(
    ("version", "env", "nvcc"),
    [
        ("13.6.0", {"CUDA_PATH": NEW.root}, f"{NEW.root}/bin/nvcc"),
        ("13.6.0", {"CUDA_PATH": "/"}, None),
        ("14.0.1", {"CUDA_HOME": NEW.root}, None),
        ("14.2.0", {"CUDA_HOME": NEW.root}, f"{NEW.root}/bin/nvcc"),
        ("14.2.0", {"CUDA_HOME": NEW.root, "NVCC": "ccache nvcc"}, "ccache nvcc"),
    ],
)
def test_cupys_nvcc(version: str, env: dict[str, str], nvcc: str | None) -> None:
    where = context(env, toolkits=[OLD, NEW], python=interpreter(cuda_pathfinder="1.9.0"))
    assert cupy.LIBRARY.resolve(version, where).nvcc == nvcc


@pytest.mark.parametrize(
    ("version", "env", "dists", "files", "root"),
    [
        ("0.24.0", BOTH, {}, (), OLD.root),
        ("0.24.0", {"CUDA_HOME": ""}, {}, (), ""),
        ("0.24.0", {}, {}, (), None),
        ("0.24.0", BOTH, {"nvidia_nvvm": "13.0.88"}, (f"{SITE}/nvidia/cu13/lib/libnvvm.so.4",), f"{SITE}/nvidia/cu13"),
        ("0.24.0", BOTH, {"nvidia_nvvm": "13.0.88"}, (), OLD.root),
        ("0.30.4", BOTH, {}, (NVVM_NEW,), NEW.root),
        ("0.30.4", {"CUDA_HOME": OLD.root}, {}, (NVVM_NEW,), None),
        ("0.30.4", {}, {}, LOADER, NEW.root),
    ],
)
def test_numba_cuda(
    version: str, env: dict[str, str], dists: dict[str, str], files: Iterable[str], root: str | None
) -> None:
    where = context(env, toolkits=[OLD, NEW], python=interpreter(**dists), files=files)
    found = numba_cuda.LIBRARY.resolve(version, where)
    assert (found.toolkit, found.problems) == (root, ())


@pytest.mark.parametrize(("release", "first"), [("1.4.4", OLD.root), ("1.5.0", NEW.root), (None, NEW.root)])
def test_pathfinders_variable(release: str | None, first: str) -> None:
    python = interpreter(**({"cuda_pathfinder": release} if release else {}))
    assert pathfinder.variable(context(BOTH, python=python))[1] == first
