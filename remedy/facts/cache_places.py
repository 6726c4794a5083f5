"""Where each JIT library keeps what it built, given the environment: one row a library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from remedy.hints import Literal
from remedy.value import dataclass

#: How modules lie below the folder: ``flashinfer`` [version/][archs/]cached_ops/MODULE, ``modules`` MODULE,
#: ``tagged`` TAG/MODULE (torch's py312_cu130); ``opaque`` caches are keyed by content and never read.
Layout = Literal["flashinfer", "modules", "tagged", "opaque"]


@dataclass(frozen=True)
class CachePlace:
    """The cache folder of one library, which has the name that ``jit/`` gives it; ``distributions`` are those whose
    presence makes it matter."""

    library: str
    path: str
    layout: Layout
    distributions: tuple[str, ...]


def cache_places(env: Mapping[str, str], home: str, user: str) -> Iterator[CachePlace]:
    """Every place that some version of a library would use in this environment.

    ``home`` is the passwd entry's folder, which counts where HOME is unset, as in Python's Path.home().
    Sources: the libraries' own files; for which versions a place holds, ``jit/`` knows.
    """
    home = env.get("HOME") or home
    cache = env.get("XDG_CACHE_HOME") or f"{home}/.cache"
    temporary = env.get("TMPDIR") or "/tmp"
    sglang = env.get("SGLANG_CACHE_DIR") or f"{home}/.cache/sglang"
    vllm = env.get("VLLM_CACHE_ROOT") or f"{cache}/vllm"

    # flashinfer/jit/env.py; sglang 0.5.18 and later set the variable to their own folder unless the unit does.
    workspace = env.get("FLASHINFER_WORKSPACE_BASE")
    flashinfer = ("flashinfer", "flashinfer-python")
    yield CachePlace("flashinfer", f"{workspace or home}/.cache/flashinfer", "flashinfer", flashinfer)
    if not workspace:
        yield CachePlace("flashinfer", f"{sglang}/.cache/flashinfer", "flashinfer", ("sglang",))

    # torch/utils/cpp_extension.py _get_build_directory
    extensions = env.get("TORCH_EXTENSIONS_DIR")
    if extensions:
        yield CachePlace("torch", extensions, "modules", ("torch",))
    else:
        yield CachePlace("torch", f"{cache}/torch_extensions", "tagged", ("torch",))

    # tvm_ffi/cpp/extension.py
    tvm = env.get("TVM_FFI_CACHE_DIR") or f"{home}/.cache/tvm-ffi"
    yield CachePlace("tvm-ffi", tvm, "modules", ("apache-tvm-ffi",))
    yield CachePlace("sglang", env.get("SGLANG_JIT_CACHE_DIR") or f"{sglang}/jit", "opaque", ("sglang",))

    # triton/runtime/cache.py, knobs.py
    triton = env.get("TRITON_CACHE_DIR") or f"{env.get('TRITON_HOME') or home}/.triton/cache"
    yield CachePlace("triton", triton, "opaque", ("triton",))
    # torch/_inductor/runtime/cache_dir_utils.py
    inductor = env.get("TORCHINDUCTOR_CACHE_DIR") or f"{temporary}/torchinductor_{user}"
    yield CachePlace("inductor", inductor, "opaque", ("torch",))
    yield CachePlace("vllm", vllm, "opaque", ("vllm",))

    # DeepGEMM csrc/jit; sglang overwrites DG_JIT_CACHE_DIR, vLLM gives its own default.
    deep_gemm = env.get("SGLANG_DG_CACHE_DIR") or f"{home}/.cache/deep_gemm"
    yield CachePlace("deep-gemm", env.get("DG_JIT_CACHE_DIR") or f"{home}/.deep_gemm", "opaque", ("deep-gemm",))
    yield CachePlace("deep-gemm", deep_gemm, "opaque", ("sglang", "sgl-deep-gemm"))
    yield CachePlace("tilelang", env.get("TILELANG_CACHE_DIR") or f"{home}/.tilelang/cache", "opaque", ("tilelang",))
    cupy = ("cupy", "cupy-cuda12x", "cupy-cuda13x")
    yield CachePlace("cupy", env.get("CUPY_CACHE_DIR") or f"{home}/.cupy/kernel_cache", "opaque", cupy)
