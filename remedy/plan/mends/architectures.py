"""Which GPU the kernels are built for: wrong lists of architectures, the wrong vendor's compiler."""

from __future__ import annotations

from typing import Final

from remedy.causes.entry import MendKind
from remedy.facts.types import Version
from remedy.jit import arch_list
from remedy.plan.draft import Draft
from remedy.plan.task import Mend, Task

_LISTS: Final = ("FLASHINFER_CUDA_ARCH_LIST", "TORCH_CUDA_ARCH_LIST", "TVM_FFI_CUDA_ARCH_LIST")


def right_arch_lists(task: Task) -> Draft:
    """Each list that is wrong gets this machine's GPUs in its own grammar, or goes where the library knows better.

    FlashInfer's and TVM-FFI's are spelled out. torch's goes: torch asks the GPUs itself, and limits the answer to
    what it knows (torch.utils.cpp_extension._get_cuda_arch_flags).
    """
    named = {problem.variable for problem in task.problems if problem.variable in _LISTS}
    wrong = named or {name for name in _LISTS if name in task.env}
    if not named and any("TVM_FFI_CUDA_ARCH_LIST" in problem.text for problem in task.problems):
        wrong = {"TVM_FFI_CUDA_ARCH_LIST"}
    capabilities = task.inputs.snapshot.capabilities
    values: dict[str, str | None] = {}
    for name in sorted(wrong):
        if name == "FLASHINFER_CUDA_ARCH_LIST":
            values[name] = _flashinfer(task)
        elif name == "TVM_FFI_CUDA_ARCH_LIST" and capabilities:
            values[name] = " ".join(f"{major}.{minor}" for major, minor in capabilities)
        else:
            values[name] = None
    changed = {name: value for name, value in values.items() if task.env.get(name) != value}
    if not changed:
        return task.draft.give_up("no list of architectures in the unit's environment is to blame")
    return task.draft.want(changed)


def _flashinfer(task: Task) -> str | None:
    python = task.inputs.snapshot.interpreter
    version = python.dist_version("flashinfer-python") if python else None
    cuda = _nvcc(task)
    return arch_list(version, task.inputs.snapshot.capabilities, cuda) if version and cuda else None


def _nvcc(task: Task) -> Version | None:
    """The release of the nvcc that FlashInfer will use."""
    if task.draft.toolkit and task.draft.toolkit.version:
        return task.draft.toolkit.version[:2]
    found = (one.nvcc_version for one in task.now.resolutions if one.nvcc_version)
    release = next(found, None)
    return release[:2] if release else None


def choose_cuda(task: Task) -> Draft:
    """TVM-FFI takes ROCm's compiler wherever ROCm is installed, unless it is told (tvm_ffi.cpp.extension)."""
    return task.draft.want({"TVM_FFI_GPU_BACKEND": "cuda"})


MENDS: Final[dict[MendKind, Mend]] = {"architectures": right_arch_lists, "cuda-backend": choose_cuda}
