"""SGLang's own kernels: ``jit_kernel`` on TVM-FFI (0.5.7 to 0.5.17), its own ninja build from 0.5.18 on."""

from __future__ import annotations

import posixpath

from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import caches, devices, judge, lookup, servers, tables, tvm_ffi
from remedy.jit.lookup import Found
from remedy.jit.tables import Capability
from remedy.jit.types import Context, Requirement, Resolution
from remedy.jit.versions import at_least

_FIRST_KERNELS: Final = "0.5.7"
_FIRST_SUFFIXED: Final = "0.5.17"
_FIRST_OWN_BUILD: Final = "0.5.18"
# Its sources are C++20 (-std=c++20), which gcc has from 10 on.
_LOWEST_GCC: Final = 10


def root(version: str, context: Context) -> Found:
    """TVM-FFI's lookup; from 0.5.18 on the last step is taken whether /usr/local/cuda exists or not."""
    found = lookup.usual(context)
    if found.root is None and at_least(version, _FIRST_OWN_BUILD):
        return lookup.from_default(context, checked=False) or found
    return found


def target(version: str, capability: Capability, nvcc: Version | None) -> str:
    """The architecture that nvcc is asked for; that of 12.0 follows the nvcc that runs (kernels/jit/utils/arch.py)."""
    if not at_least(version, _FIRST_SUFFIXED) or capability[0] < 9:
        return tables.spelled(capability)
    if capability == (12, 0) and (nvcc is None or nvcc >= (12, 9)):
        return tables.spelled(capability, "f")
    return tables.spelled(capability, "a")


def _cache(version: str, context: Context) -> str:
    """Where the modules lie: keyed by compilers and contents from 0.5.18 on, so that none of those is ever stale."""
    home = lookup.home(context)
    if at_least(version, _FIRST_OWN_BUILD):
        return context.env.get("SGLANG_JIT_CACHE_DIR") or posixpath.join(home, ".cache/sglang/jit")
    return context.env.get("TVM_FFI_CACHE_DIR") or posixpath.join(home, ".cache/tvm-ffi")


class SGLang:
    """The kernels that SGLang builds for the first GPU at start."""

    name = "sglang"
    rank = 20
    frames = ("/sglang/jit_kernel/", "/sglang/kernels/jit/")

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here; releases before 0.5.7 build nothing themselves."""
        if not at_least(version, _FIRST_KERNELS):
            return Resolution(self.name, version, found_by="nothing", requires=Requirement())
        found = root(version, context)
        nvcc = lookup.version_of(context, found)
        capabilities = devices.visible(context)
        version_seen = nvcc or (None if found.exists else tvm_ffi.torch_cuda(context))
        targets = frozenset(target(version, one, version_seen) for one in capabilities)
        if not at_least(version, "0.5.10") and tvm_ffi.VARIABLE in context.env:
            targets = tvm_ffi.listed(context)[0]
        fatal = servers.runs(context, "sglang")
        needs = tvm_ffi.requirement(context, targets, capabilities, optional=not fatal, gcc_minimum=_LOWEST_GCC)
        one = judge.build(f"SGLang {version}", found, needs, context, fatal=fatal, ccbin=False, link_folders=("lib64",))
        folder = _cache(version, context)
        problems = (
            *(judge.problems(one) if fatal else ()),
            *caches.writable(context, one.who, folder, fatal=fatal),
        )
        return judge.resolution(
            one,
            self.name,
            version,
            problems=problems,
            cache=folder,
            variables=("CUDA_HOME", "CUDA_PATH", "PATH", "CXX", "MAX_JOBS", "SGLANG_JIT_CACHE_DIR", "SGLANG_CACHE_DIR"),
        )


LIBRARY: Final = SGLang()
