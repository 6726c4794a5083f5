"""What the facts alone say: each rule gives the facts that show a fault, or nothing.

The tables are jit/'s (``remedy.jit.tables``, with their sources); these rules only ask them.
"""

from __future__ import annotations

import re

from remedy.causes.types import PartialFacts
from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import tables, versions

Capability = tuple[int, int]

#: PTX ISA version of a CUDA release (PTX ISA document, "Release History").
PTX_ISA: Final[dict[Version, Version]] = {
    (11, 5): (7, 5), (11, 6): (7, 6), (11, 7): (7, 7), (11, 8): (7, 8), (12, 0): (8, 0), (12, 1): (8, 1),
    (12, 2): (8, 2), (12, 3): (8, 3), (12, 4): (8, 4), (12, 5): (8, 5), (12, 6): (8, 5), (12, 8): (8, 7),
    (12, 9): (8, 8), (13, 0): (9, 0), (13, 1): (9, 1), (13, 2): (9, 2),
}  # fmt: skip

#: Lists of target architectures; each is read by another library.
ARCH_LISTS: Final = ("FLASHINFER_CUDA_ARCH_LIST", "TORCH_CUDA_ARCH_LIST", "TVM_FFI_CUDA_ARCH_LIST")


def dotted(version: Version) -> str:
    """(12, 8) as ``12.8``."""
    return ".".join(str(part) for part in version)


def nvcc_needed(facts: PartialFacts, flashinfer: bool) -> tuple[Version, str] | None:
    """The first nvcc that serves this GPU, and why. FlashInfer's own floor counts where it takes part:
    ``compilation_context.py`` of 0.6.7 to 0.7.0 wants 12.9 for any 12.x, 0.7.1 and later 12.8 for 12.0."""
    if facts.sm is None:
        return None
    suffix = "a" if facts.sm >= (9, 0) else ""
    least = tables.nvcc_minimum(facts.sm, suffix)
    if least is None:
        return None
    version = facts.flashinfer
    family = version is None or versions.between(version, "0.6.7", "0.7.1")
    if flashinfer and facts.sm[0] == 12 and family and least < (12, 9):
        return (12, 9), "FlashInfer takes GPUs of compute capability 12.x only from CUDA 12.9"
    return least, f"GPUs of compute capability {dotted(facts.sm)} are known from CUDA {dotted(least)}"


def nvcc_too_old(facts: PartialFacts, flashinfer: bool = False) -> str | None:
    """Why this nvcc is too old for this GPU; None where it is not, or the facts don't say."""
    needed = nvcc_needed(facts, flashinfer)
    if needed is None or facts.nvcc is None or facts.nvcc[:2] >= needed[0]:
        return None
    return f"nvcc {dotted(facts.nvcc)}; {needed[1]}"


def nvcc_serves(facts: PartialFacts, flashinfer: bool = False) -> bool:
    """Whether the facts say that this nvcc is new enough for this GPU."""
    needed = nvcc_needed(facts, flashinfer)
    return needed is not None and facts.nvcc is not None and facts.nvcc[:2] >= needed[0]


def nvcc_serves_not(facts: PartialFacts) -> str | None:
    """Why this nvcc is too old, with FlashInfer's floor where FlashInfer is there."""
    return nvcc_too_old(facts, flashinfer=facts.flashinfer is not None)


def nvcc_fails_on_glibc(facts: PartialFacts) -> str | None:
    """``glibc_conflicts`` where the toolkit is known, too."""
    return glibc_conflicts(facts) if facts.nvcc else None


def arch_lists_fault(facts: PartialFacts) -> str | None:
    """What is wrong with the first faulty architecture list of the environment."""
    faults = (arch_list_fault(name, facts.env[name], facts) for name in ARCH_LISTS if facts.env.get(name))
    return next((fault for fault in faults if fault), None)


def roots_fault(facts: PartialFacts) -> str | None:
    """What is wrong with the spelling of CUDA_HOME or CUDA_PATH."""
    for name, value in (
        ("CUDA_HOME", facts.env.get("CUDA_HOME", facts.cuda_home)),
        ("CUDA_PATH", facts.env.get("CUDA_PATH")),
    ):
        fault = root_fault(value)
        if fault:
            return f"{name}={value}: {fault}"
    return None


def nvcc_dropped_gpu(facts: PartialFacts) -> str | None:
    """Why this nvcc no longer knows this GPU."""
    below = tables.nvcc_below(facts.sm) if facts.sm else None
    if below is None or facts.nvcc is None or facts.sm is None or facts.nvcc[:2] < below:
        return None
    return (
        f"nvcc {dotted(facts.nvcc)} no longer knows compute capability {dotted(facts.sm)}, dropped in {dotted(below)}"
    )


def majors_differ(facts: PartialFacts) -> str | None:
    """Whether nvcc and torch are of different CUDA majors."""
    if facts.nvcc is None or facts.torch_cuda is None or facts.nvcc[0] == facts.torch_cuda[0]:
        return None
    return f"nvcc is {dotted(facts.nvcc)}, torch is built for CUDA {dotted(facts.torch_cuda)}"


def headers_differ(facts: PartialFacts) -> str | None:
    """Whether compiler and headers are of different CUDA releases."""
    if facts.nvcc is None or facts.cuda_headers is None or facts.nvcc[:2] == facts.cuda_headers[:2]:
        return None
    return f"nvcc is {dotted(facts.nvcc)}, the headers are {dotted(facts.cuda_headers)}"


def gcc_too_new(facts: PartialFacts) -> str | None:
    """Whether gcc is newer than this nvcc accepts."""
    if facts.gcc is None or facts.nvcc is None:
        return None
    highest = tables.highest_gcc(facts.nvcc)
    if highest is None or facts.gcc[0] <= highest:
        return None
    return f"gcc {dotted(facts.gcc)}; nvcc {dotted(facts.nvcc)} accepts up to {highest}"


def driver_lacks(facts: PartialFacts) -> str | None:
    """Whether the driver can't run torch's CUDA major."""
    if facts.driver is None or facts.torch_cuda is None:
        return None
    least = tables.DRIVER_MINIMUM.get(facts.torch_cuda[0])
    if least is None or facts.driver >= least[: len(facts.driver)]:
        return None
    return f"driver {dotted(facts.driver)}; CUDA {dotted(facts.torch_cuda)} wants at least {dotted(least)}"


def driver_parts_differ(facts: PartialFacts) -> str | None:
    """Whether the loaded kernel module and the installed driver packages differ."""
    module, packages = facts.kernel_module, facts.driver_packages
    if module is None or packages is None or module == packages:
        return None
    return f"the loaded kernel module is {dotted(module)}, the installed driver {dotted(packages)}"


def glibc_conflicts(facts: PartialFacts) -> str | None:
    """Whether the system is known to have glibc 2.41 or later beside a toolkit up to 12.9."""
    if facts.os is None or (facts.nvcc is not None and facts.nvcc[:2] >= tables.CUDA_THAT_ACCEPTS_IT):
        return None
    found = re.search(r"glibc[ -]?(\d+)\.(\d+)", facts.os)
    if found and (int(found[1]), int(found[2])) < tables.GLIBC_THAT_CONFLICTS:
        return None
    # Distribution releases that came with glibc 2.41 or later.
    late = r"Debian(?: GNU/Linux)? 1[3-9]|trixie|Ubuntu 2(?:5\.|6\.)|Fedora(?: Linux)? 4[2-9]|Arch|Tumbleweed"
    if found or re.search(late, facts.os):
        nvcc = f", nvcc {dotted(facts.nvcc)}" if facts.nvcc else ""
        return f"{facts.os}{nvcc}; CUDA up to 12.9 does not compile on glibc 2.41 and later"
    return None


def root_fault(root: str | None) -> str | None:
    """What is wrong with the *spelling* of a toolkit root: CUDA_HOME must be one absolute directory."""
    if root is None or root == "":
        return None
    if ":" in root:
        return "it holds a colon: one directory is wanted, no list"
    if "$" in root or root.startswith("~"):
        return "a variable or ~ was taken literally"
    if root.startswith("/dev/"):
        return "a device is no toolkit"
    if root.strip() != root or root[0] in "\"'":
        return "blanks or quotes belong to the value"
    if root.rstrip("/").endswith(("/bin", "/bin/nvcc", "/lib64")):
        return "it names a part of the toolkit, not its root"
    if not root.startswith("/"):
        return "it is no absolute path"
    return None


def arch_list_fault(name: str, value: str, facts: PartialFacts) -> str | None:
    """What is wrong with an architecture list: its form, or that none of its entries serves the GPU.

    FlashInfer splits FLASHINFER_CUDA_ARCH_LIST at single blanks (0.3.1 to 0.7.4, ``compilation_context.py``); torch
    takes blanks or semicolons and knows no ``f`` (2.6 to 2.15, ``cpp_extension.py``).
    """
    if name == "FLASHINFER_CUDA_ARCH_LIST" and re.search(r"[,;\t]|  |^ | $", value):
        return f"{name}={value!r}: entries are parted by exactly one blank"
    if name == "TORCH_CUDA_ARCH_LIST" and re.search(r"\d\.\df", value):
        return f"{name}={value!r}: torch knows no suffix f"
    listed = {(int(major), int(minor)) for major, minor in re.findall(r"(?<![\d.])(\d{1,2})\.(\d)", value)}
    sm = facts.sm
    if sm is None or not listed:
        return None
    ptx = "+PTX" in value and any(entry <= sm for entry in listed)
    if ptx or any(entry[0] == sm[0] and entry <= sm for entry in listed):
        return None
    return f"{name}={value!r} names nothing that runs on compute capability {dotted(sm)}"


# Where JIT libraries keep what they compile; ~/.cache itself is made by the first of them. A home of "/" (no HOME in a
# unit without User=) shows as a dot directory in the root. Checkouts, models and servers bear the libraries' names as
# well: those count below a folder of caches only.
_JIT_CACHE: Final = (
    r"/\.triton(?![\w-])|triton[_-]?cache|/triton/(?:\d+/)?[0-9A-Za-z]{26}"
    r"|(?:cache|/tmp)[^ ]{0,200}/(?:triton|flashinfer)(?![\w-])"
    r"|-packages/flashinfer/|flashinfer_(?:cache|cubin|jit|workspace)|/\.flashinfer|flashinfer/\d"
    r"|torchinductor|torch_extensions|torch_compile|torch_aot_compile|inductor_(?:cache|compiled)"
    r"|tvm-ffi|tvm_ffi|deep_gemm|tilelang|tvm-debug|cutlass_python_cache|quack_cache|/\.nv\b|\.cupy|cubins?\b"
    r"|numba_?cache|/\.?numba/|\.nb[ic]\b|__pycache__/?$"
    r"|cached_ops|kernel_cache|/\.cache/?$|/\.cache/(?:vllm|sglang|torch|triton|quack|warp)|aiter\w*/jit/|/\.aiter\b"
    r"|compiledir_"
    r"|^/\.(?:cache|triton|tilelang|tvm|nv|cupy|deep_gemm|numba|vllm|sgl)|/\.config/vllm|_jit"
)
# a program that a package brings is none, wherever the package is
_NO_JIT_CACHE: Final = r"huggingface|modelscope|/hub\b|\.ollama|-packages/\S*/bin/[\w+-]+$"
_KERNEL_WORDS: Final = r"(?i)kernel|\bjit\b|cutlass|compil|inductor|triton|cubin|nvcc|ninja"
# What a shell may not run or write is a file like any other, whatever its name; so is one that Python quotes.
_SHELL_REFUSED: Final = r"(?:^|/|\s)(?:[bd]a|z|k)?sh: .*[Pp]ermission denied"
_REFUSED_NAME: Final = r"[Dd]enied: ['\"](?P<name>[^'\"]*)"


def is_jit_cache(path: str) -> bool:
    """Whether a path lies in a cache of compiled kernels (or is what such a cache is made in)."""
    path = re.sub(r"\\+", "/", path)
    return bool(re.search(_JIT_CACHE, path)) and not re.search(_NO_JIT_CACHE, path)


def speaks_of_kernels(text: str) -> bool:
    """Whether a line without a path from the root is about compiling kernels."""
    if re.search(_SHELL_REFUSED, text):
        return False
    refused = re.search(_REFUSED_NAME, text)
    if refused and is_jit_cache(refused["name"]):
        return True
    return bool(re.search(_KERNEL_WORDS, re.sub(_REFUSED_NAME, "", text)))


def driver_cuda(driver: Version) -> Version | None:
    """The newest CUDA release that a driver came with or after."""
    fitting = [release for release, least in tables.DRIVER_OF_RELEASE.items() if driver >= least[: len(driver)]]
    return max(fitting) if fitting else None


def nvcc_newer_than_driver(facts: PartialFacts) -> str | None:
    """Whether nvcc is of a newer release than the driver knows."""
    known = driver_cuda(facts.driver) if facts.driver else None
    if known is None or facts.nvcc is None or facts.driver is None or facts.nvcc[:2] <= known:
        return None
    return f"nvcc is {dotted(facts.nvcc)}, driver {dotted(facts.driver)} knows up to CUDA {dotted(known)}"


def torch_newer_than_driver(facts: PartialFacts) -> bool:
    """Whether torch's CUDA release is newer than the driver knows."""
    known = driver_cuda(facts.driver) if facts.driver else None
    return known is not None and facts.torch_cuda is not None and facts.torch_cuda[:2] > known


def in_jit_cache(text: str) -> bool:
    """Whether a line names a shared object in a cache of compiled kernels."""
    caches = r"(?:cached_ops|torch_extensions|tvm-ffi|\.cache/flashinfer|torchinductor|\.triton/cache)"
    return bool(re.search(caches + r"/\S*\.so", text))


def linked_elsewhere(facts: PartialFacts) -> str | None:
    """Whether a cached module is linked with another CUDA major's runtime than torch's."""
    major = library_major(facts.linked_cudart) if facts.linked_cudart else None
    if major is None or facts.torch_cuda is None or major == facts.torch_cuda[0]:
        return None
    return f"a cached module is linked with CUDA {major}'s runtime, torch is built for CUDA {dotted(facts.torch_cuda)}"


def linked_past_driver(facts: PartialFacts) -> bool:
    """Whether a cached module is linked with the runtime of the nvcc that built it, and the driver is too old for that
    release: the linker took what it should."""
    major = library_major(facts.linked_cudart) if facts.linked_cudart else None
    return facts.nvcc is not None and facts.nvcc[0] == major and nvcc_newer_than_driver(facts) is not None


def library_major(name: str) -> int | None:
    """The major of a library's file name: libcudart.so.12 is 12."""
    found = re.search(r"\.so\.(\d+)", name) or re.search(r"(\d{2})", name)
    return int(found[1]) if found else None


def driver_serves(facts: PartialFacts) -> bool:
    """Whether driver and torch are known, and the driver runs torch's CUDA."""
    return facts.driver is not None and facts.torch_cuda is not None and driver_lacks(facts) is None
