"""Which of the machine's GPUs the service sees."""

from __future__ import annotations

from remedy.jit.tables import Capability
from remedy.jit.types import Context


def visible(context: Context) -> tuple[Capability, ...]:
    """The distinct capabilities of the visible GPUs, lowest first, as CUDA_VISIBLE_DEVICES leaves them.

    All of them where the variable names UUIDs, or where the GPUs differ and CUDA numbers them by speed
    (CUDA C++ Programming Guide, "CUDA Environment Variables": CUDA_DEVICE_ORDER).
    """
    every = context.snapshot.capabilities
    text = context.env.get("CUDA_VISIBLE_DEVICES")
    if text is None or (len(every) < 2 and text.strip() not in ("", "-1")):
        return every
    wanted: list[int] = []
    for part in text.split(","):
        if part.strip() == "-1" or not part.strip():
            break
        if not part.strip().isdigit():
            return every
        wanted.append(int(part))
    if wanted and context.env.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        return every
    named = {gpu.capability for gpu in context.snapshot.gpus if gpu.index in wanted and gpu.capability}
    return tuple(sorted(named))
