"""FlashInfer's own path from source to loaded module, with a kernel that takes seconds; run in the twin."""

from __future__ import annotations

import pathlib

# The headers that FlashInfer's sampling, page and MoE sources pull in first, each from another package: the runtime,
# the half types, curand, and libcu++, which compares the compiler's release with the headers'.
KERNEL = """
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <curand_kernel.h>
#include <cuda/std/cstdint>
__global__ void remedy_probe(float* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(1, threadIdx.x, 0, &state);
  out[threadIdx.x] = curand_uniform(&state);
}
extern "C" void remedy_probe_launch(float* out) { remedy_probe<<<1, 32>>>(out); }
"""


def probe(work: str, capability: list[int] | None) -> dict[str, str]:  # noqa: ARG001
    """Build and load it; returns the toolkit and the compiler's version as FlashInfer sees them."""
    from flashinfer.jit import core, cpp_ext

    source = pathlib.Path(work, "remedy_probe.cu")
    source.write_text(KERNEL)
    seen: dict[str, str] = {}
    # get_cuda_path gives the root from 0.4.0 on (0.3.1: the file of nvcc), gen_jit_spec is there from 0.2.6 on.
    if hasattr(cpp_ext, "get_cuda_version"):
        seen["nvcc_version"] = str(cpp_ext.get_cuda_version())
    if hasattr(core, "gen_jit_spec"):
        if hasattr(cpp_ext, "get_cuda_path") and not cpp_ext.get_cuda_path().endswith("nvcc"):
            seen["toolkit"] = cpp_ext.get_cuda_path()
        core.gen_jit_spec("remedy_probe", [source]).build_and_load()
    else:
        core.load_cuda_ops("remedy_probe", [source])
    return seen
