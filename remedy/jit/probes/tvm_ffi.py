"""TVM-FFI's own path from CUDA source to loaded module, as SGLang's jit_kernel takes it; run in the twin."""

from __future__ import annotations

import os

KERNEL = """
#include <cuda_runtime.h>
__global__ void remedy_probe_kernel(float* out) { out[threadIdx.x] = 1.0f; }
void remedy_probe(int64_t out) { remedy_probe_kernel<<<1, 32>>>(reinterpret_cast<float*>(out)); }
"""


def probe(work: str, capability: list[int] | None) -> dict[str, str]:
    """Build and load it; returns the toolkit that TVM-FFI takes."""
    import tvm_ffi.cpp

    if "TVM_FFI_CUDA_ARCH_LIST" not in os.environ:
        # SGLang sets it from torch (jit_kernel/utils.py, 0.5.7 to 0.5.16); TVM-FFI alone asks nvidia-smi.
        if capability is None:
            import torch

            capability = list(torch.cuda.get_device_capability())
        os.environ["TVM_FFI_CUDA_ARCH_LIST"] = f"{capability[0]}.{capability[1]}"
    try:
        from tvm_ffi.cpp import extension
    except ImportError:
        seen = {}
    else:
        seen = {"toolkit": extension._find_cuda_home()}
    tvm_ffi.cpp.load_inline("remedy_probe", cuda_sources=KERNEL, functions=["remedy_probe"], build_directory=work)
    return seen
