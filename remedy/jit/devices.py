"""Which of the machine's GPUs the service sees."""

from __future__ import annotations

from remedy.jit.tables import Capability
from remedy.jit.types import Context


def in_order(context: Context) -> tuple[Capability, ...]:
    """The capability of each visible GPU, in the order that CUDA counts them, as CUDA_VISIBLE_DEVICES leaves them.

    All of them where the variable names UUIDs, or where the GPUs differ and CUDA numbers them by speed
    (CUDA C++ Programming Guide, "CUDA Environment Variables": CUDA_DEVICE_ORDER).
    """
    every = tuple(gpu.capability for gpu in context.snapshot.gpus if gpu.capability)
    text = context.env.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return every
    wanted: list[int] = []
    for part in text.split(","):
        if part.strip() == "-1" or not part.strip():
            break
        if not part.strip().isdecimal():
            return every
        wanted.append(int(part))
    if wanted and len(set(every)) > 1 and context.env.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        return every
    by_index = {gpu.index: gpu.capability for gpu in context.snapshot.gpus}
    named = tuple(found for index in wanted if (found := by_index.get(index)))
    return named if named or not wanted else every


def visible(context: Context) -> tuple[Capability, ...]:
    """The distinct capabilities of the visible GPUs, lowest first."""
    return tuple(sorted(set(in_order(context))))
