"""Which kernel modules are built ahead of the restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from remedy.facts.types import CacheEntry, JitCache, LogLine
from remedy.jit import resolve_all
from remedy.plan.ahead import builds, named
from remedy.plan.make import make
from remedy.plan.types import EditFile, MoveCache, Plan
from tests.plan.cases import NEW, OLD, Scene, interpreter, machine, unit_text

BASE = "/root/.cache/flashinfer/0.6.8.post1"
PLANNED = f"{BASE}/120f/cached_ops"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("INFO: Loading JIT ops: sampling", ["sampling"]),
        ("[1/3] nvcc -c /x/page.cu -o /root/.cache/flashinfer/0.6/120f/cached_ops/page/page.cuda.o", ["page"]),
        ('  File "/x/flashinfer/jit/page.py", line 22, in gen_page_module', ["page"]),
        ("/cached_ops/batch_prefill_with_kv_cache_dtype_q_bf16/a.o", ["batch_prefill_with_kv_cache_dtype_q_bf16"]),
        ("lock: /root/.cache/flashinfer/cached_ops/tmp/page.lock", []),
        ("RuntimeError: FlashInfer requires GPUs with sm75 or higher", []),
        ('File "x.py", line 1, in begin_page_module', []),
    ],
)
def test_the_modules_that_a_log_names(line: str, names: list[str]) -> None:
    assert list(named([line, line])) == names


def entry(
    name: str, folder: str = PLANNED, root: str = NEW.root, *, built: bool = True, target: str = "120f"
) -> CacheEntry:
    return CacheEntry(name, f"{folder}/{name}", 1000, built, root, f"{root}/bin/nvcc", frozenset({target}))


def plan(lines: Sequence[str] = (), entries: Sequence[CacheEntry] = (), *, prewarm: bool = True) -> Plan:
    cache = JitCache("flashinfer", "/root/.cache/flashinfer", True, 1000, tuple(entries), True)
    journal = tuple(LogLine(line, number) for number, line in enumerate(lines))
    scene = Scene(snapshot=replace(machine(OLD, NEW), caches=(cache,), journal=journal))
    return make(replace(scene.inputs(), prewarm=prewarm))


GENERATOR = "in gen_sampling_module"


@pytest.mark.parametrize(
    ("lines", "entries", "moves"),
    [
        ((), (), []),
        ((GENERATOR,), (), [("sampling", True)]),
        # What is there and good stays.
        ((GENERATOR,), (entry("sampling"),), []),
        # What is there and was left half built makes room for a whole one, whether or not the log knows it.
        ((GENERATOR,), (entry("sampling", built=False),), [("sampling", False)]),
        ((), (entry("page", built=False),), [("page", False)]),
        # What another toolkit built is stale: once in the plan.
        ((GENERATOR,), (entry("sampling", root=OLD.root),), [("sampling", False)]),
        ((GENERATOR,), (entry("page", root=OLD.root),), [("page", False), ("sampling", True)]),
        # The cache of before lies elsewhere: FlashInfer names its folder after the targets.
        ((), (entry("page", f"{BASE}/120a/cached_ops", OLD.root),), [("page", True)]),
        ((), (entry("page", f"{BASE}/120a/cached_ops", OLD.root), entry("page")), []),
        ((), (entry("page", f"{BASE}/90a/cached_ops", OLD.root, target="90a"),), []),
        ((), (entry("page", "/root/.cache/flashinfer/0.6.7/120f/cached_ops"),), []),
    ],
)
def test_room_is_made_before_anything_is_edited(
    lines: Sequence[str], entries: Sequence[CacheEntry], moves: list[tuple[str, bool]]
) -> None:
    scene = plan(lines, entries)
    found = [step for step in scene.steps if isinstance(step, MoveCache)]
    assert [(step.path, step.new) for step in found] == [(f"{PLANNED}/{name}", new) for name, new in moves]
    if found:
        first_edit = next(number for number, step in enumerate(scene.steps) if isinstance(step, EditFile))
        assert max(scene.steps.index(step) for step in found) < first_edit


def test_without_prewarm_only_what_is_stale_is_moved() -> None:
    made = plan((GENERATOR,), (entry("page", root=OLD.root), entry("norm", built=False)), prewarm=False)
    assert [step.path for step in made.steps if isinstance(step, MoveCache)] == [f"{PLANNED}/page"]
    assert any("built anew at the next start" in warning for warning in made.warnings)
    early = plan((), (entry("page", root=OLD.root),))
    assert any("built anew ahead of the restart" in warning for warning in early.warnings)


@pytest.mark.parametrize("prewarm", [True, False], ids=["prewarm", "no-prewarm"])
@pytest.mark.parametrize(
    ("flashinfer", "root", "costs"),
    [
        # An existing record is run as it stands, and the link leads to the same compiler.
        ("0.6.8.post1", "/usr/local/cuda", False),
        ("0.7.2", "/usr/local/cuda", True),
        ("0.7.2", NEW.root, False),
    ],
)
def test_a_toolkit_by_another_name_costs_what_it_built(flashinfer: str, root: str, costs: bool, prewarm: bool) -> None:
    """CUDA_HOME is wrong, so that the versioned path is written where the link to it stood in the records."""
    folder = f"/root/.cache/flashinfer/{flashinfer}/120f/cached_ops"
    cache = JitCache("flashinfer", "/root/.cache/flashinfer", True, 1000, (entry("page", folder, root),), True)
    python = interpreter("13.0", flashinfer_python=flashinfer)
    scene = Scene(
        unit_text("Environment=CUDA_HOME=/dev/null"),
        replace(machine(NEW, python=python), caches=(cache,)),
        "cuda-home-invalid",
        links={"/usr/local/cuda": NEW.root},
    )
    made = make(replace(scene.inputs(), prewarm=prewarm))
    assert any(isinstance(step, EditFile) for step in made.steps)
    assert any(isinstance(step, MoveCache) for step in made.steps) is (costs and prewarm)
    assert any("1 cache entry" in warning and "built anew" in warning for warning in made.warnings) is costs


TVM = "/root/.cache/tvm-ffi"


@pytest.mark.parametrize(
    ("name", "root", "target", "moved"),
    [
        ("sgl_kernel_jit_add_constant_1_ab", "/opt/kit", "120", True),
        ("sgl_kernel_jit_add_constant_1_ab", NEW.root, "120", False),
        ("sgl_kernel_jit_add_constant_1_ab", "/opt/kit", "90a", False),
    ],
)
def test_what_its_library_would_build_again_is_built_ahead(name: str, root: str, target: str, moved: bool) -> None:
    cache = JitCache("tvm_ffi", TVM, True, 1000, (entry(name, TVM, root, target=target),), True)
    python = interpreter(flashinfer_python="0.6.8.post1", apache_tvm_ffi="0.1.11", sglang="0.5.10.post1")
    scene = Scene(snapshot=replace(machine(OLD, NEW, python=python), caches=(cache,)))
    inputs = scene.inputs()
    made = make(inputs)
    assert [step.path for step in made.steps if isinstance(step, MoveCache)] == [f"{TVM}/{name}"] * moved
    planned = resolve_all(replace(inputs.context, env={**inputs.context.env, "CUDA_HOME": NEW.root}))
    found = [(one.name, one.probe, dict(one.arguments)) for one in builds(made.steps, planned, inputs.snapshot)]
    arguments = {"path": f"{TVM}/{name}", "old": root, "new": NEW.root}
    assert found == [(name, "recorded_module", arguments)] * moved
    late = make(replace(inputs, prewarm=False))
    assert not any(isinstance(step, MoveCache) for step in late.steps)
