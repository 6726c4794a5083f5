"""vLLM's own rules: when it leaves FlashInfer out (``vllm/utils/flashinfer.py``), and where its cache is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.hints import Final
from remedy.jit import caches, deep_gemm, devices, judge, lookup, servers
from remedy.jit.types import Context, Problem, Requirement, Resolution
from remedy.jit.versions import at_least, dotted
from remedy.view import is_executable, which


def flashinfer_is_on(context: Context) -> bool:
    """Whether vLLM would use FlashInfer here.

    From 0.11.1 to 0.31 flashinfer-cubin, else an nvcc on PATH (CUDA_HOME is not looked at; vllm#26443); from 0.32 on
    flashinfer-cubin, else CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda with an nvcc, and ninja on PATH. Earlier
    releases only look whether it is installed. A vLLM without a version (run from a source tree) counts as using it.
    """
    if servers.version(context, "vllm") is None or servers.surely_runs(context, "vllm", "0", "0.11.1"):
        return True
    forced = context.env.get("VLLM_HAS_FLASHINFER_CUBIN", "0") not in ("", "0")
    if forced or servers.version(context, "flashinfer-cubin"):
        return True
    path = context.env.get("PATH")
    if servers.runs(context, "vllm", "0", "0.32.0"):
        return which(context.view, "nvcc", path, lookup.UNSET_PATH) is not None
    root = context.env.get("CUDA_HOME") or context.env.get("CUDA_PATH")
    found = lookup.at(context, root, "variable") if root else lookup.from_path(context) or lookup.from_default(context)
    ninja = which(context.view, "ninja", path, lookup.UNSET_PATH)
    return bool(ninja and found and found.exists and found.nvcc and is_executable(context.view, found.nvcc))


def cache(context: Context) -> str:
    """VLLM_CACHE_ROOT, ``~`` expanded, else ``vllm`` below the user's cache (``vllm/envs.py``)."""
    root = context.env.get("VLLM_CACHE_ROOT") or posixpath.join(lookup.cache_home(context), "vllm")
    return lookup.home(context) + root[1:] if root.startswith("~/") else root


def _gate(version: str, context: Context) -> Iterator[Problem]:
    """FlashInfer is switched off without a word that anyone reads: slower, never fatal."""
    if servers.version(context, "flashinfer-python") is None or flashinfer_is_on(context):
        return
    if at_least(version, "0.32.0"):
        text = f"vLLM {version} leaves FlashInfer out: no nvcc where it looks, or no ninja on PATH"
    else:
        text = f"vLLM {version} leaves FlashInfer out: no nvcc on PATH (it does not look at CUDA_HOME)"
    yield Problem("nvcc-not-found", text, (), False, "PATH")


def _gemm(version: str, context: Context) -> Iterator[Problem]:
    """The DeepGEMM inside vLLM; from 0.32 on it is the second make, which wants nvcc 12.9. FP8 models only."""
    release = "2.8" if at_least(version, "0.32.0") else "2.5"
    capabilities = deep_gemm.served("deep-gemm", release, devices.visible(context))
    nvcc = lookup.version_of(context, lookup.usual(context))
    if not capabilities or nvcc is None or context.env.get("VLLM_USE_DEEP_GEMM") == "0":
        return
    floor = deep_gemm.minimum("deep-gemm", release)
    if nvcc < floor:
        text = f"the DeepGEMM in vLLM {version} takes nvcc {dotted(nvcc)}; it requires NVCC >= {dotted(floor)}"
        used = servers.asks_for(context, "fp8") and not deep_gemm.left_out(context)
        yield Problem("nvcc-too-old", text, (), used)


class VLLM:
    """The server's own choices; its kernels come from the other libraries."""

    name = "vllm"
    rank = 25
    frames = ("/vllm/utils/flashinfer.py", "/vllm/utils/deep_gemm.py", "/vllm/third_party/", "/vllm/compilation/")

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here; where it is not the server nothing of it runs."""
        folder = cache(context)
        problems = (
            *_gate(version, context),
            *_gemm(version, context),
            *caches.writable(context, f"vLLM {version}", folder, fatal=True),
        )
        return judge.resolution(
            judge.build(f"vLLM {version}", lookup.usual(context), Requirement(), context),
            self.name,
            version,
            problems=problems if servers.runs(context, "vllm") else (),
            cache=folder,
            variables=("PATH", "CUDA_HOME", "VLLM_CACHE_ROOT", "XDG_CACHE_HOME", "VLLM_USE_FLASHINFER_SAMPLER"),
        )


LIBRARY: Final = VLLM()
