from __future__ import annotations

import os
from pathlib import Path

import pytest

from remedy.facts.accounts import Account
from remedy.facts.cache_places import cache_places
from remedy.facts.caches import MAX_FILES, read_caches
from remedy.facts.files import Files
from remedy.facts.types import Dist, Interpreter, JitCache
from tests.facts.test_build_record import FLASHINFER, TORCH
from tests.memory import MemoryView

ROOT = Account("root", 0, 0, "/root", (0,))
LLM = Account("llm", 1001, 1001, "/var/lib/llm", (1001, 44))


def interpreter(*names: str) -> Interpreter:
    return Interpreter("/v/bin/python", "/v", (3, 12), (), {name: Dist(name, "1", "") for name in names})


def caches(view: MemoryView | Files, env: dict[str, str], account: Account = ROOT, *names: str) -> dict[str, JitCache]:
    return {cache.path: cache for cache in read_caches(view, env, interpreter(*names), account)}


@pytest.mark.parametrize(
    ("env", "library", "path"),
    [
        ({}, "flashinfer", "/root/.cache/flashinfer"),
        ({"HOME": "/h"}, "flashinfer", "/h/.cache/flashinfer"),
        ({"HOME": ""}, "flashinfer", "/root/.cache/flashinfer"),
        ({"FLASHINFER_WORKSPACE_BASE": "/w"}, "flashinfer", "/w/.cache/flashinfer"),
        ({}, "flashinfer", "/root/.cache/sglang/.cache/flashinfer"),
        ({"SGLANG_CACHE_DIR": "/s"}, "flashinfer", "/s/.cache/flashinfer"),
        ({}, "torch", "/root/.cache/torch_extensions"),
        ({"XDG_CACHE_HOME": "/x"}, "torch", "/x/torch_extensions"),
        ({"TORCH_EXTENSIONS_DIR": "/t"}, "torch", "/t"),
        # FlashInfer does not read XDG_CACHE_HOME.
        ({"XDG_CACHE_HOME": "/x"}, "flashinfer", "/root/.cache/flashinfer"),
        ({}, "tvm-ffi", "/root/.cache/tvm-ffi"),
        ({}, "triton", "/root/.triton/cache"),
        ({"TRITON_HOME": "/tr"}, "triton", "/tr/.triton/cache"),
        ({"TRITON_CACHE_DIR": "/tc"}, "triton", "/tc"),
        ({}, "inductor", "/tmp/torchinductor_root"),
        ({"TMPDIR": "/scratch"}, "inductor", "/scratch/torchinductor_root"),
        ({"XDG_CACHE_HOME": "/x"}, "vllm", "/x/vllm"),
        ({}, "deep-gemm", "/root/.deep_gemm"),
        ({}, "deep-gemm", "/root/.cache/deep_gemm"),
        ({}, "tilelang", "/root/.tilelang/cache"),
    ],
)
def test_places(env: dict[str, str], library: str, path: str) -> None:
    assert (library, path) in {(place.library, place.path) for place in cache_places(env, "/root", "root")}


def test_every_layout_of_flashinfer_is_read() -> None:
    base = "/root/.cache/flashinfer"
    view = MemoryView(
        {
            f"{base}/0.6.8.post1/120f/cached_ops/page/build.ninja": FLASHINFER,
            f"{base}/0.6.8.post1/120f/cached_ops/page/page.so": b"x" * 1000,
            f"{base}/0.6.8.post1/120f/cached_ops/tmp/page.lock": "",
            f"{base}/0.6.8.post1/cached_ops/no_archs/build.ninja": "",
            f"{base}/90a/cached_ops/old_layout/build.ninja": FLASHINFER,
            f"{base}/0.6.8.post1/120f/flashinfer_jit.log": "",
            f"{base}/cubins/x": "",
        }
    )
    cache = caches(view, {})[base]
    assert {entry.name: entry.built for entry in cache.entries} == {
        "page": True,
        "no_archs": False,
        "old_layout": False,
    }
    page = next(entry for entry in cache.entries if entry.name == "page")
    assert page.cuda_home == "/usr/local/cuda-13.0" and page.targets == {"120f", "90a"}
    assert page.size == 1000 + len(FLASHINFER) and cache.size == page.size + len(FLASHINFER)
    assert cache.exists and cache.writable and cache.locks == ()


def test_torch_s_batons() -> None:
    base = "/root/.cache/torch_extensions/py312_cu130"
    view = MemoryView({f"{base}/fused/build.ninja": TORCH, f"{base}/fused/lock": "", f"{base}/begun/lock": ""})
    cache = caches(view, {})["/root/.cache/torch_extensions"]
    assert [entry.name for entry in cache.entries] == ["fused"]
    assert cache.locks == (f"{base}/begun/lock", f"{base}/fused/lock")


def test_only_caches_that_exist_or_will_be_made_are_named() -> None:
    assert caches(MemoryView(), {}) == {}
    made = caches(MemoryView(), {}, ROOT, "triton")
    assert set(made) == {"/root/.triton/cache"} and not made["/root/.triton/cache"].exists


def test_sizes_of_caches_that_are_keyed_by_content() -> None:
    few: dict[str, bytes | str] = {
        "/root/.triton/cache/AB12/k.cubin": b"x" * 700,
        "/root/.triton/cache/AB12/k.json": "{}",
    }
    assert caches(MemoryView(few), {})["/root/.triton/cache"].size == 702
    # the folder AB12 counts too
    many: dict[str, bytes | str] = {f"/root/.triton/cache/AB12/{number}": "x" for number in range(MAX_FILES - 1)}
    assert caches(MemoryView(many), {})["/root/.triton/cache"].size == MAX_FILES - 1
    many["/root/.triton/cache/AB12/more"] = "x"
    assert caches(MemoryView(many), {})["/root/.triton/cache"].size is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_owners_are_named_where_they_have_a_name(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("llm:x:1001:1001::/var/lib/llm:/bin/sh\n")
    folder = tmp_path / "root/.triton/cache"
    folder.mkdir(parents=True)
    owners = []
    for uid in (0, 1001, 1002):
        os.chown(folder, uid, uid)
        owners.append(caches(Files(str(tmp_path)), {})["/root/.triton/cache"].owner)
    assert owners == ["root", "llm", "1002"]
    assert caches(Files(str(tmp_path)), {}, ROOT, "cupy")["/root/.cupy/kernel_cache"].owner is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
class TestWritable:
    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        (tmp_path / "var/lib/llm/.cache").mkdir(parents=True)
        for path in [tmp_path, *tmp_path.rglob("*")]:
            path.chmod(0o755)
        os.chown(tmp_path / "var/lib/llm", 1001, 1001)
        os.chown(tmp_path / "var/lib/llm/.cache", 1001, 1001)
        return tmp_path

    def look(self, tree: Path, env: dict[str, str] | None = None) -> JitCache:
        path = (env or {}).get("FLASHINFER_WORKSPACE_BASE", "/var/lib/llm") + "/.cache/flashinfer"
        return caches(Files(str(tree)), env or {}, LLM, "flashinfer-python")[path]

    def test_its_own_home(self, tree: Path) -> None:
        assert self.look(tree).writable is True

    def test_a_module_that_root_built_once(self, tree: Path) -> None:
        module = tree / "var/lib/llm/.cache/flashinfer/0.6.8/120f/cached_ops/page"
        module.mkdir(parents=True)
        (module / "build.ninja").write_text("")
        os.chown(tree / "var/lib/llm/.cache/flashinfer", 1001, 1001)
        cache = self.look(tree)
        assert cache.writable is False and cache.why is not None
        assert "/cached_ops is not writable by llm (owner 0, mode 0755)" in cache.why

    def test_a_folder_above_that_can_not_be_entered(self, tree: Path) -> None:
        (tree / "var/lib").chmod(0o700)
        cache = self.look(tree)
        assert cache.writable is False and cache.why == "/var/lib can't be entered by llm (owner 0, mode 0700)"

    def test_a_file_in_the_way(self, tree: Path) -> None:
        (tree / "var/lib/llm/.cache/flashinfer").write_text("")
        cache = self.look(tree)
        assert cache.writable is False and cache.why == "/var/lib/llm/.cache/flashinfer is no directory"

    def test_a_workspace_that_root_owns(self, tree: Path) -> None:
        cache = self.look(tree, {"FLASHINFER_WORKSPACE_BASE": "/srv"})
        assert cache.writable is False and cache.why == "/ is not writable by llm (owner 0, mode 0755)"
