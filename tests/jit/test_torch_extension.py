from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from remedy.facts.types import JitCache, UnitState
from remedy.jit import torch_archs
from remedy.jit.torch_extension import LIBRARY
from tests.jit.machines import causes, context, interpreter, toolkit

OLD, NEW = toolkit("/usr/local/cuda-12.8", (12, 8)), toolkit("/usr/local/cuda-13.0", (13, 0))
FOLDER = "/root/.cache/torch_extensions/py311_cu130"
LOCK = f"{FOLDER}/ngram_cache/lock"


def resolve(torch: str = "2.11.0", env: dict[str, str] | None = None, **more: Any) -> Any:
    more = {"toolkits": [OLD, NEW], "python": interpreter(torch), **more}
    return LIBRARY.resolve(torch, context(env or {"CUDA_HOME": NEW.root}, **more))


def test_nothing_of_it_stops_a_service_by_itself() -> None:
    for env in ({"CUDA_HOME": "/nowhere"}, {"CUDA_HOME": OLD.root}, {"PATH": "/usr/bin"}):
        assert resolve(env=env).satisfied


def test_another_major_is_named() -> None:
    assert causes(resolve(env={"CUDA_HOME": OLD.root})) == ["nvcc-torch-mismatch"]


@pytest.mark.parametrize(
    ("driver", "expected"),
    [("570.86.10", ["driver-too-old"]), ("580.65.06", []), (None, []), ("610.12", [])],
)
def test_the_driver_must_run_torchs_cuda(driver: str | None, expected: list[str]) -> None:
    assert causes(resolve(driver=driver), fatal=True) == expected


def test_forward_compatibility_libraries_lift_the_driver() -> None:
    env = {"CUDA_HOME": NEW.root, "LD_LIBRARY_PATH": "/usr/local/cuda-13.0/compat"}
    assert causes(resolve(env=env, driver="570.86.10")) == []


@pytest.mark.parametrize(
    ("torch", "state", "fatal"),
    [("2.13.0", "failed", True), ("2.13.0", "active", False), ("2.14.0", "failed", None), ("2.13.0", None, False)],
)
def test_locks_that_a_killed_build_left(torch: str, state: str | None, fatal: bool | None) -> None:
    caches = (JitCache("torch", FOLDER, True, 1, (), True, (LOCK,)),)
    where = context({"CUDA_HOME": NEW.root}, toolkits=[NEW], python=interpreter(torch), caches=caches)
    if state:
        where = replace(where, snapshot=replace(where.snapshot, state=UnitState(active_state=state)))
    found = LIBRARY.resolve(torch, where)
    assert causes(found) == ([] if fatal is None else ["jit-cache-locked"])
    assert found.satisfied is not bool(fatal)


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, FOLDER),
        ({"XDG_CACHE_HOME": "/srv"}, "/srv/torch_extensions/py311_cu130"),
        ({"TORCH_EXTENSIONS_DIR": "/srv/ext"}, "/srv/ext"),
    ],
)
def test_the_build_root(env: dict[str, str], folder: str) -> None:
    assert resolve(env={"CUDA_HOME": NEW.root, **env}).cache == folder


@pytest.mark.parametrize(
    ("torch", "text", "targets", "refused"),
    [
        ("2.11.0", "12.0", ("120",), False),
        ("2.11.0", "9.0a;12.0+PTX", ("120", "90a"), False),
        ("2.11.0", "9.0 12.0", ("120", "90"), False),
        ("2.11.0", "12.0f", (), True),
        ("2.6.0", "12.0", (), True),
        ("2.7.0", "12.0", ("120",), False),
        ("2.8.0", "10.1", ("101",), False),
        ("2.9.0", "10.1", (), True),
        ("2.9.0", "11.0", ("110",), False),
        ("2.11.0", "Hopper", ("90",), False),
        ("2.11.0", "8.9;", ("89",), True),
        ("2.11.0", "12.0,9.0", (), True),
    ],
)
def test_lists(torch: str, text: str, targets: tuple[str, ...], refused: bool) -> None:
    archs = torch_archs.from_list(torch, text)
    assert (archs.targets, archs.error is not None) == (targets, refused)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12.0", []), ("12.0f", ["arch-list-wrong"]), ("8.9", ["arch-list-wrong"]), ("8.9+PTX", []), ("native", [])],
)
def test_a_list_that_fits_no_gpu_is_named(text: str, expected: list[str]) -> None:
    found = resolve(env={"CUDA_HOME": NEW.root, "TORCH_CUDA_ARCH_LIST": text})
    assert causes(found) == expected
    assert found.satisfied


@pytest.mark.parametrize(
    ("torch_cuda", "gpu", "targets"),
    [((13, 0), (12, 1), ("120",)), ((12, 6), (12, 0), ("90",)), ((13, 0), (8, 9), ("89",)), (None, (9, 0), ("90",))],
)
def test_detection_is_clamped_to_torchs_own_build(
    torch_cuda: tuple[int, int] | None, gpu: tuple[int, int], targets: tuple[str, ...]
) -> None:
    assert torch_archs.detected(torch_cuda, (gpu,)).targets == targets
