"""The service's own interpreter: torch, FlashInfer, TVM-FFI and SGLang's kernels, all real.

Replaced is one line of text: torch's CPU build says that it was built for no CUDA, and here says 13.0, as the
build does that a server has.  (The device queries are replaced by finish.py's hook.)
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tests.lab import host

#: Installed with their dependencies; torch's CPU build where the machine's index has one.
TORCH = ("torch==2.13.0", "numpy==2.3.5", "packaging==25.0", "setuptools==80.9.0")
#: What `import sglang` wants beside them.
FRONTEND = ("ipython==9.18.1", "pydantic==2.14.4", "aiohttp==3.14.5", "pybase64==1.4.2", "requests==2.32.5")
#: Installed without dependencies: theirs reach for the GPU stack that the lab has no use for.
LIBRARIES = (
    *("flashinfer-python==0.6.8.post1", "apache-tvm-ffi==0.1.11", "ninja==1.13.0", "tqdm==4.67.1"),
    *("nvidia-ml-py==13.580.82", "einops==0.8.1", "tabulate==0.9.0", "click==8.3.1"),
    *("sglang==0.5.10.post1", "nvidia-cuda-runtime==13.0.96"),
)
#: torch.version.cuda of the story's torch (2.11.0+cu130); the CPU build's own text is None.
TORCH_CUDA = "13.0"
SERVICE_VENV = Path("root/venv_sglang211")
USER_VENV = Path("opt/venv")


def build(root: Path) -> None:
    """The service's interpreter, and the same packages (hard links) for a service whose user isn't root."""
    with host.installer(root) as pip:
        for venv in (SERVICE_VENV, USER_VENV):
            host.run_in(root, "python3", "-m", "venv", "--without-pip", f"/{venv}")
        target = host.site_packages(root, SERVICE_VENV)
        into = ("install", "-q", "--no-compile", "--target", "/" + str(target.relative_to(root)))
        # This one first: pip installs the programs of the first --target only, and ninja is one.
        host.run_in(root, *pip, *into, "--no-deps", *LIBRARIES)
        host.run_in(root, *pip, *into, *TORCH, *FRONTEND)
    _set_torch_cuda(target / "torch/version.py")
    for venv in (SERVICE_VENV, USER_VENV):
        shutil.copy(target / "bin/ninja", root / venv / "bin/ninja")
    shutil.rmtree(target / "bin")
    # Byte code of what a start imports, as pip leaves it: without, each new machine's first start takes twice as long.
    imports = "import flashinfer.jit.sampling, sglang.jit_kernel.add_constant, torch.utils.cpp_extension"
    host.run_in(root, f"/{SERVICE_VENV}/bin/python3", "-c", imports, HOME="/tmp/home")
    shutil.rmtree(root / "tmp/home", ignore_errors=True)
    other = host.site_packages(root, USER_VENV)
    shutil.rmtree(other)
    shutil.copytree(target, other, copy_function=os.link, symlinks=True)


def _set_torch_cuda(version: Path) -> None:
    """Let the CPU build's version.py say what a cu130 build's says: it is read as text by diagnosis."""
    text = version.read_text()
    changed, count = re.subn(r"^(cuda\b[^=\n]*=\s*).*$", rf"\g<1>'{TORCH_CUDA}'", text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{version}: expected one line that sets `cuda`, found {count}")
    version.write_text(changed)
