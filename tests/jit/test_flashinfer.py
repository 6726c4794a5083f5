from __future__ import annotations

from typing import Any

import pytest

from remedy.facts.types import CacheEntry, JitCache, Toolkit
from remedy.jit.flashinfer import LIBRARY
from remedy.jit.types import Context
from tests.jit.machines import PATH, VENV, WHOLE, causes, context, interpreter, toolkit

OLD, NEW = toolkit("/usr/local/cuda-12.8", (12, 8)), toolkit("/usr/local/cuda-13.0", (13, 0))
OLD_PATH = {"PATH": f"{OLD.root}/bin:{PATH}"}
V = "0.6.8.post1"


def machine(env: dict[str, str] | None = None, *kits: Toolkit, **more: Any) -> Context:
    return context(env, toolkits=kits, **more)


def python(version: str = V, torch_cuda: str = "13.0", **dists: str) -> Any:
    return interpreter(torch_cuda=torch_cuda, flashinfer_python=version, **dists)


@pytest.mark.parametrize(
    ("env", "kits", "root", "by", "expected"),
    [
        (OLD_PATH, [OLD], OLD.root, "PATH", ["nvcc-too-old"]),
        ({"CUDA_HOME": NEW.root, **OLD_PATH}, [OLD, NEW], NEW.root, "CUDA_HOME", []),
        ({"CUDA_PATH": NEW.root, **OLD_PATH}, [OLD, NEW], NEW.root, "CUDA_PATH", []),
        ({"CUDA_HOME": "/dev/null", **OLD_PATH}, [OLD], "/dev/null", "CUDA_HOME", ["cuda-home-invalid"]),
        ({"CUDA_HOME": f":{OLD.root}", **OLD_PATH}, [OLD], f":{OLD.root}", "CUDA_HOME", ["cuda-home-invalid"]),
        ({"CUDA_HOME": "$HOME/cuda", **OLD_PATH}, [OLD], "$HOME/cuda", "CUDA_HOME", ["cuda-home-invalid"]),
        ({"CUDA_HOME": "", **OLD_PATH}, [OLD], OLD.root, "PATH", ["nvcc-too-old"]),
        ({}, [], None, "nothing", ["nvcc-not-found"]),
        ({"PATH": f"{VENV}/bin"}, [], None, "nothing", ["nvcc-not-found"]),
    ],
)
def test_where_it_looks_and_what_stops_it(
    env: dict[str, str], kits: list[Toolkit], root: str | None, by: str, expected: list[str]
) -> None:
    found = LIBRARY.resolve(V, machine(env, *kits, files=["/dev/null"]))
    assert (found.toolkit, found.found_by) == (root, by)
    fatal = [one for one in causes(found, fatal=True) if one not in ("host-compiler-missing", "ninja-missing")]
    assert fatal == expected


def test_the_story_is_told_in_one_line() -> None:
    found = LIBRARY.resolve(V, machine(OLD_PATH, OLD))
    assert found.problems[0].text == "FlashInfer 0.6.8.post1 takes nvcc 12.8 from PATH; SM 12.x requires CUDA >= 12.9"
    assert found.problems[0].variable == "PATH"
    assert found.requires.nvcc_minimum == (12, 9)
    assert found.requires.targets == {"120f"}


@pytest.mark.parametrize(
    ("version", "gpu", "kit", "torch", "expected"),
    [
        ("0.7.1", (12, 0), OLD, "12.8", []),
        ("0.7.1", (12, 1), OLD, "12.8", ["nvcc-too-old"]),
        ("0.6.6", (12, 0), OLD, "12.8", []),
        ("0.6.8", (9, 0), OLD, "12.8", []),
        ("0.6.8", (9, 0), toolkit("/usr/local/cuda-11.8", (11, 8)), "11.8", ["nvcc-too-old"]),
        ("0.6.8", (10, 3), OLD, "12.8", ["nvcc-too-old"]),
        ("0.6.8", (7, 5), toolkit("/usr/local/cuda-12.2", (12, 2)), "12.4", []),
        ("0.6.8", (7, 0), NEW, "12.8", []),
    ],
)
def test_the_gpu_decides(version: str, gpu: tuple[int, int], kit: Toolkit, torch: str, expected: list[str]) -> None:
    where = machine({"CUDA_HOME": kit.root}, kit, gpu=gpu, python=python(version, torch), gcc=(11, 4, 0))
    assert causes(LIBRARY.resolve(version, where), fatal=True) == expected


@pytest.mark.parametrize(
    ("version", "nvcc", "expected"),
    [
        ("0.6.9", (12, 0), []),
        ("0.6.10", (12, 0), ["nvcc-too-old"]),
        ("0.6.17", (12, 1), []),
        ("0.6.18", (12, 6), ["nvcc-too-old"]),
        ("0.6.18", (12, 8), []),
        ("0.7.4", (12, 4), ["nvcc-too-old"]),
    ],
)
def test_floors_that_hold_for_every_gpu(version: str, nvcc: tuple[int, int], expected: list[str]) -> None:
    kit = toolkit("/opt/cuda", nvcc)
    where = machine({"CUDA_HOME": kit.root}, kit, gpu=(8, 9), python=python(version, "12.8"), gcc=(11, 4))
    assert causes(LIBRARY.resolve(version, where)) == expected


def test_another_major_than_torchs_is_named_but_not_fatal() -> None:
    found = LIBRARY.resolve(V, machine(OLD_PATH, OLD, gpu=(9, 0)))
    assert causes(found) == ["nvcc-torch-mismatch"]
    assert found.satisfied
    assert found.requires.torch_major == 13


@pytest.mark.parametrize(
    ("lacking", "expected"),
    [
        ({"curand"}, ["cuda-headers-missing"]),
        ({"crt"}, ["cuda-headers-missing"]),
        ({"cudart-library"}, ["cuda-library-not-linkable"]),
        ({"stub"}, ["cuda-library-not-linkable"]),
        ({"cicc"}, ["nvcc-not-found"]),
        ({"cublas", "nvrtc", "cuobjdump"}, []),
    ],
)
def test_an_incomplete_toolkit(lacking: set[str], expected: list[str]) -> None:
    kit = toolkit(NEW.root, (13, 0), WHOLE - lacking)
    assert causes(LIBRARY.resolve(V, machine({"CUDA_HOME": NEW.root}, kit))) == expected


def test_the_drivers_own_libcuda_links_as_well_as_a_stub() -> None:
    kit = toolkit(NEW.root, (13, 0), WHOLE - {"stub"})
    where = machine({"CUDA_HOME": NEW.root}, kit, files=["/usr/lib/x86_64-linux-gnu/libcuda.so"])
    assert causes(LIBRARY.resolve(V, where)) == []


@pytest.mark.parametrize(("version", "needed"), [("0.6.9", True), ("0.6.10", False), ("0.4.0", True)])
def test_cccl_comes_with_the_library_from_0_6_10(version: str, needed: bool) -> None:
    assert ("cccl" in LIBRARY.resolve(version, machine({}, NEW)).requires.components) is needed


@pytest.mark.parametrize(("argv", "expected"), [((), []), (("--model", "K2.6-NVFP4"), ["cuda-headers-missing"])])
def test_fp4_modules_need_more_headers(argv: tuple[str, ...], expected: list[str]) -> None:
    kit = toolkit(NEW.root, (13, 0), WHOLE - {"cublas"})
    assert causes(LIBRARY.resolve(V, machine({"CUDA_HOME": NEW.root}, kit, argv=argv))) == expected


def test_headers_of_another_release() -> None:
    kit = toolkit(NEW.root, (13, 3), headers=(13, 0))
    assert causes(LIBRARY.resolve(V, machine({"CUDA_HOME": NEW.root}, kit))) == ["toolkit-mixed"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"without": [f"{VENV}/bin/ninja"]}, ["ninja-missing"]),
        ({"without": ["/usr/bin/gcc"]}, ["host-compiler-missing"]),
        ({"gcc": (16, 1)}, ["host-compiler-unsupported"]),
        ({"glibc": (2, 41)}, []),
        ({"driver": "570.86.10"}, []),
        ({"without": ["/usr/bin/c++"]}, ["host-compiler-missing"]),
        ({"gcc": None}, []),
        ({"glibc": None}, []),
        ({"driver": None}, []),
    ],
)
def test_what_stands_around_the_toolkit(more: dict[str, Any], expected: list[str]) -> None:
    assert causes(LIBRARY.resolve(V, machine({"CUDA_HOME": NEW.root}, NEW, **more))) == expected


def test_a_driver_that_runs_torch_but_not_what_nvcc_builds() -> None:
    where = machine({"CUDA_HOME": NEW.root}, NEW, driver="570.86.10", python=python(torch_cuda="12.8"))
    assert causes(LIBRARY.resolve(V, where), fatal=True) == ["nvcc-too-new"]


@pytest.mark.parametrize(
    ("argv", "fatal"),
    [
        ("--attention-backend triton --sampling-backend pytorch", False),
        ("--attention-backend=triton --sampling-backend=pytorch", False),
        ("--attention-backend triton", True),
        ("--attention-backend flashinfer --sampling-backend pytorch", True),
        ("", True),
    ],
)
def test_sglang_can_be_told_to_do_without(argv: str, fatal: bool) -> None:
    where = machine({"CUDA_HOME": "/nowhere"}, argv=tuple(argv.split()))
    assert LIBRARY.resolve(V, where).satisfied is not fatal


@pytest.mark.parametrize(
    ("env", "gpu", "fatal"),
    [
        ({"VLLM_USE_FLASHINFER_SAMPLER": "0"}, (9, 0), False),
        ({"VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_ATTENTION_BACKEND": "FLASHINFER"}, (9, 0), True),
        ({"VLLM_USE_FLASHINFER_SAMPLER": "0"}, (12, 0), True),
        ({}, (9, 0), True),
    ],
)
def test_vllm_can_be_told_to_do_without(env: dict[str, str], gpu: tuple[int, int], fatal: bool) -> None:
    bare = toolkit(OLD.root, (12, 8), WHOLE - {"curand"})
    where = machine({**OLD_PATH, **env}, bare, gpu=gpu, server="vllm", python=python(vllm="0.24.0", torch_cuda="12.8"))
    assert LIBRARY.resolve(V, where).satisfied is not fatal


def test_locks_inside_the_modules_of_old_releases() -> None:
    lock = "/root/.cache/flashinfer/120/cached_ops/page/lock"
    caches = (JitCache("flashinfer", "/root/.cache/flashinfer", True, 0, (), True, (lock,)),)
    for version, expected in (("0.2.5", ["jit-cache-locked"]), ("0.2.6", [])):
        where = machine({"CUDA_HOME": NEW.root}, NEW, python=python(version), caches=caches)
        assert causes(LIBRARY.resolve(version, where)) == expected


def test_ninja_beside_the_interpreter_is_pointed_at() -> None:
    where = machine({"CUDA_HOME": NEW.root, "PATH": "/usr/bin:/bin"}, NEW)
    (problem,) = LIBRARY.resolve(V, where).problems
    assert problem.cause == "ninja-missing"
    assert f"{VENV}/bin" in problem.text


def test_a_new_glibc_needs_cuda_13() -> None:
    where = machine({"CUDA_HOME": OLD.root}, OLD, glibc=(2, 41), gpu=(9, 0), python=python(torch_cuda="12.8"))
    assert causes(LIBRARY.resolve(V, where)) == ["glibc-too-new"]


def test_cc_is_the_host_compiler_of_nvcc() -> None:
    where = machine({"CUDA_HOME": NEW.root, "CC": "gcc-99"}, NEW)
    assert causes(LIBRARY.resolve(V, where)) == ["host-compiler-missing"]


@pytest.mark.parametrize(
    ("version", "text", "kit", "expected"),
    [
        (V, "12.0f", OLD, ["nvcc-too-old"]),
        (V, "12.0f", NEW, []),
        (V, "12.0,9.0", NEW, ["arch-list-wrong"]),
        (V, "8.9", NEW, ["arch-list-wrong"]),
        (V, "12.0a 7.0", NEW, ["arch-list-wrong"]),
        ("0.6.6", "12.0", NEW, []),
    ],
)
def test_architecture_lists(version: str, text: str, kit: Toolkit, expected: list[str]) -> None:
    env = {"CUDA_HOME": kit.root, "FLASHINFER_CUDA_ARCH_LIST": text}
    found = LIBRARY.resolve(version, machine(env, kit, python=python(version)))
    assert [one for one in causes(found, fatal=True) if one != "cuda-headers-missing"] == expected


def test_a_plain_12_0_is_taken_literally_up_to_0_6_6() -> None:
    env = {"CUDA_HOME": NEW.root, "FLASHINFER_CUDA_ARCH_LIST": "12.0"}
    found = LIBRARY.resolve("0.6.6", machine(env, NEW, python=python("0.6.6")))
    assert causes(found, fatal=False) == ["arch-list-wrong"]


@pytest.mark.parametrize(("argv", "expected"), [((), []), (("--model", "nvidia/Kimi-NVFP4"), ["nvcc-too-old"])])
def test_fp4_follows_torch_and_needs_12_9(argv: tuple[str, ...], expected: list[str]) -> None:
    where = machine(OLD_PATH, OLD, python=python("0.7.2"), argv=argv)
    assert causes(LIBRARY.resolve("0.7.2", where), fatal=True) == expected


@pytest.mark.parametrize(
    ("version", "cubin", "env", "expected", "fatal"),
    [
        ("0.6.10", "0.6.8.post1", {}, ["library-version-mismatch"], True),
        ("0.7.2", "0.6.13", {}, ["library-version-mismatch"], False),
        ("0.6.10", "0.6.10", {}, [], True),
        ("0.6.10", "0.6.8", {"FLASHINFER_DISABLE_VERSION_CHECK": "1"}, [], True),
        ("0.3.1", "0.6.8", {}, [], True),
    ],
)
def test_kernel_packages_of_another_release(
    version: str, cubin: str, env: dict[str, str], expected: list[str], fatal: bool
) -> None:
    where = machine({"CUDA_HOME": NEW.root, **env}, NEW, python=python(version, flashinfer_cubin=cubin))
    assert causes(LIBRARY.resolve(version, where), fatal=fatal) == expected


@pytest.mark.parametrize(
    ("vllm", "env", "more", "fatal"),
    [
        ("0.24.0", {"CUDA_HOME": "/nowhere"}, {}, False),
        ("0.24.0", OLD_PATH, {}, True),
        ("0.24.0", {"CUDA_HOME": "/nowhere"}, {"flashinfer_cubin": V}, True),
        ("0.33.0", {"CUDA_HOME": "/nowhere"}, {}, False),
    ],
)
def test_vllm_may_go_on_without_it(vllm: str, env: dict[str, str], more: dict[str, str], fatal: bool) -> None:
    where = machine(env, OLD, server="vllm", python=python(vllm=vllm, **more))
    assert LIBRARY.resolve(V, where).satisfied is not fatal


def test_nothing_is_guessed_where_facts_are_missing() -> None:
    unknown = Toolkit(
        "/opt/cuda", "/opt/cuda/bin/nvcc", None, None, frozenset({"nvcc"}) | WHOLE, "unknown", "/opt/cuda"
    )
    where = machine({"CUDA_HOME": "/opt/cuda"}, unknown, gpu=None, driver=None, glibc=None, gcc=None)
    assert LIBRARY.resolve(V, where).problems == ()


def test_flashinfer_nvcc_replaces_only_the_compiler() -> None:
    env = {"CUDA_HOME": NEW.root, "FLASHINFER_NVCC": f"{OLD.root}/bin/nvcc"}
    found = LIBRARY.resolve(V, machine(env, OLD, NEW))
    assert (found.toolkit, found.nvcc, found.nvcc_version) == (NEW.root, f"{OLD.root}/bin/nvcc", (12, 8))


def cached(version: str, *entries: CacheEntry, writable: bool | None = True, why: str | None = None) -> tuple[JitCache]:
    path = f"/root/.cache/flashinfer/{version}"
    return (JitCache("flashinfer", path, True, 1, entries, writable, why=why),)


def entry(version: str, nvcc: str, *, built: bool = True, needed: str = "libcudart.so.13") -> CacheEntry:
    path = f"/root/.cache/flashinfer/{version}/120f/cached_ops/sampling"
    return CacheEntry("sampling", path, 1, built, None, nvcc, frozenset({"120f"}), frozenset({needed}))


@pytest.mark.parametrize(
    ("version", "nvcc", "built", "needed", "stale", "fatal"),
    [
        (V, f"{OLD.root}/bin/nvcc", False, "", True, ["jit-cache-stale"]),
        (V, f"{OLD.root}/bin/nvcc", True, "libcudart.so.12", True, []),
        (V, f"{NEW.root}/bin/nvcc", True, "libcudart.so.13", False, []),
        (V, "/usr/local/cuda/bin/nvcc", True, "libcudart.so.13", False, []),
        (V, f"{NEW.root}/bin/nvcc", True, "libcudart.so.12", True, []),
        (V, "/gone/bin/nvcc", False, "", True, ["jit-cache-stale"]),
        ("0.6.11.post1", f"{OLD.root}/bin/nvcc", False, "", False, []),
        ("0.6.11.post1", f"{NEW.root}/bin/nvcc", True, "libcudart.so.12", True, []),
        ("0.6.11.post1", f"{OLD.root}/bin/nvcc", True, "libcudart.so.12", False, []),
    ],
)
def test_stale_entries(version: str, nvcc: str, built: bool, needed: str, stale: bool, fatal: list[str]) -> None:
    where = machine(
        {"CUDA_HOME": NEW.root},
        OLD,
        NEW,
        python=python(version),
        links={"/usr/local/cuda": NEW.root},
        caches=cached(version, entry(version, nvcc, built=built, needed=needed)),
    )
    found = LIBRARY.resolve(version, where)
    assert [one.entry.name for one in found.stale] == (["sampling"] if stale else [])
    assert causes(found, fatal=True) == fatal


def test_another_releases_folder_is_not_in_use() -> None:
    where = machine({"CUDA_HOME": NEW.root}, NEW, caches=cached("0.6.4", entry("0.6.4", "/gone/bin/nvcc")))
    assert LIBRARY.resolve(V, where).stale == ()


@pytest.mark.parametrize(
    ("writable", "why", "expected"),
    [
        (False, None, ["jit-cache-unwritable"]),
        (None, None, []),
        (False, "/root/.cache is not writable by llm (owner 0, mode 0755)", ["jit-cache-unwritable"]),
        (False, "/root/.cache/flashinfer/0.6.4/120f/cached_ops is not writable by llm (owner 0, mode 0755)", []),
    ],
)
def test_a_cache_that_cant_be_written(writable: bool | None, why: str | None, expected: list[str]) -> None:
    caches = (JitCache("flashinfer", "/root/.cache/flashinfer", True, 1, (), writable, why=why),)
    assert causes(LIBRARY.resolve(V, machine({"CUDA_HOME": NEW.root}, NEW, caches=caches))) == expected


@pytest.mark.parametrize(
    ("version", "env", "folder"),
    [
        ("0.2.4", {"FLASHINFER_WORKSPACE_BASE": "/srv"}, "/root/.cache/flashinfer/120"),
        ("0.2.5", {"FLASHINFER_WORKSPACE_BASE": "/srv"}, "/srv/.cache/flashinfer/120"),
        ("0.3.1", {}, "/root/.cache/flashinfer/120"),
        ("0.4.0", {}, "/root/.cache/flashinfer/120a"),
        ("0.4.1", {}, "/root/.cache/flashinfer/0.4.1/120a"),
        (V, {}, f"/root/.cache/flashinfer/{V}/120f"),
        (V, {"HOME": "/home/llm"}, f"/home/llm/.cache/flashinfer/{V}/120f"),
    ],
)
def test_the_cache_lies_where_the_release_puts_it(version: str, env: dict[str, str], folder: str) -> None:
    found = LIBRARY.resolve(version, machine({"CUDA_HOME": NEW.root, **env}, NEW, python=python(version)))
    assert found.cache == f"{folder}/cached_ops"
