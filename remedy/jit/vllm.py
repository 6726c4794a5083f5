"""vLLM's own rules: when it leaves FlashInfer out (``vllm/utils/flashinfer.py``, has_flashinfer)."""

from __future__ import annotations

from remedy.jit import lookup, servers
from remedy.jit.types import Context
from remedy.view import is_file, which


def flashinfer_is_on(context: Context) -> bool:
    """Whether vLLM would use FlashInfer here.

    Up to 0.31 flashinfer-cubin, else an nvcc on PATH (CUDA_HOME is not looked at); from 0.32 on flashinfer-cubin,
    else CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda with an nvcc, and ninja on PATH.
    """
    if context.env.get("VLLM_HAS_FLASHINFER_CUBIN", "0") not in ("", "0") or servers.version(
        context, "flashinfer-cubin"
    ):
        return True
    path = context.env.get("PATH")
    if servers.runs(context, "vllm", "0", "0.32.0"):
        return which(context.view, "nvcc", path, lookup.UNSET_PATH) is not None
    found = lookup.usual(context)
    ninja = which(context.view, "ninja", path, lookup.UNSET_PATH)
    return bool(found.nvcc and is_file(context.view, found.nvcc) and ninja)
