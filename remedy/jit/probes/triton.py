"""Triton's own path: its driver module by the host compiler, and a smallest kernel through its ptxas; in the twin."""

from __future__ import annotations

import importlib.util
import os

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def remedy_probe(out):
    lane = tl.arange(0, 32)
    tl.store(out + lane, lane.to(tl.float32))
"""


def probe(work: str, capability: list[int] | None) -> dict[str, str]:
    """Compile for the GPU and load the driver module; nothing is launched, and no GPU is touched."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia import driver
    from triton.compiler import ASTSource, compile

    if capability is None:
        import torch

        capability = list(torch.cuda.get_device_capability())
    # Compiled with the C compiler against Python.h and libcuda.so.1, and loaded, as at the first launch.
    driver.CudaUtils()
    # Triton reads a kernel's source from its file.
    path = os.path.join(work, "remedy_kernel.py")
    with open(path, "w") as file:
        file.write(KERNEL)
    spec = importlib.util.spec_from_file_location("remedy_kernel", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = ASTSource(module.remedy_probe, {"out": "*fp32"})
    built = compile(source, target=GPUTarget("cuda", capability[0] * 10 + capability[1], 32))
    if not built.asm.get("cubin"):
        raise RuntimeError("Triton compiled the kernel to nothing that a GPU runs")
    return {}
