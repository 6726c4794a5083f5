"""Write the C source of a libcuda whose every function returns one error code.

`python3 driver_stub.py cuda.h 34 > stub.c` gives what NVIDIA puts into lib64/stubs to link against
(34 is CUDA_ERROR_STUB_LIBRARY); with 100 (CUDA_ERROR_NO_DEVICE) it stands in for the driver's own library, so
that what was linked with -lcuda can be loaded on a machine without a GPU.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: CUDA 13.0, as a driver of the 580 branch reports it.
DRIVER_CUDA = 13000


def source(header: str, status: int) -> str:
    """The C source: each function that cuda.h declares, and each versioned name that it maps one to."""
    declared = set(re.findall(r"CUresult\s+CUDAAPI\s+(cu\w+)\s*\(", header))
    declared |= set(re.findall(r"^#define\s+cu\w+\s+(?:__CUDA_API_PT\w+\()?(cu\w+?)\)?$", header, re.MULTILINE))
    declared.discard("cuDriverGetVersion")
    lines = [f"int {name}(void) {{ return {status}; }}" for name in sorted(declared)]
    lines.append(f"int cuDriverGetVersion(int *version) {{ *version = {DRIVER_CUDA}; return 0; }}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(source(Path(sys.argv[1]).read_text(errors="replace"), int(sys.argv[2])))
