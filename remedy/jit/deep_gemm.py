"""DeepGEMM 2 and sgl-deep-gemm: FP8 and FP4 matrix products (``deep_gemm/__init__.py``, ``csrc/jit/compiler.hpp``)."""

from __future__ import annotations

import posixpath

from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import caches, devices, judge, lookup, servers, tables, tvm_ffi
from remedy.jit.lookup import Found
from remedy.jit.tables import Capability
from remedy.jit.types import Context, Requirement, Resolution
from remedy.jit.versions import at_least
from remedy.view import is_executable, which

_COMPONENTS: Final = frozenset({"nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cccl"})


def rebuilt(name: str, version: str) -> bool:
    """Whether the release is of the second make (DeepGEMM 2.8, sgl-deep-gemm 0.2), which wants nvcc 12.9."""
    return at_least(version, "0.2.0" if name == "sgl-deep-gemm" else "2.8")


def served(name: str, version: str, capabilities: tuple[Capability, ...]) -> tuple[Capability, ...]:
    """The GPUs that it has kernels for: 9.0 and 10.x, from the second make on 12.x as well."""
    majors = (9, 10, 12) if rebuilt(name, version) else (9, 10)
    return tuple(one for one in capabilities if one[0] in majors)


def minimum(name: str, version: str) -> Version:
    """Its own floor: ``NVCC version should be >= 12.3``, then ``NVCC version must be at least 12.9``."""
    return (12, 9) if rebuilt(name, version) else (12, 3)


def _target(capability: Capability, nvcc: Version | None) -> str:
    """``90a``; 10.x is built as a family from nvcc 12.9 on."""
    family = capability[0] == 10 and (nvcc is None or nvcc >= (12, 9))
    return tables.spelled((10, 0) if capability[0] == 10 else capability, "f" if family else "a")


def _requires(name: str, version: str, context: Context, nvcc: Version | None) -> Requirement:
    """What the GPUs that it serves need; nothing where it serves none."""
    fitting = served(name, version, devices.visible(context))
    if not fitting or context.env.get("DG_JIT_USE_NVRTC", "0") not in ("", "0"):
        return Requirement()
    targets = frozenset(_target(one, nvcc) for one in fitting)
    base = tvm_ffi.requirement(context, targets, fitting, optional=True)
    own = minimum(name, version)
    higher = base.nvcc_minimum if base.nvcc_minimum and base.nvcc_minimum > own else None
    dumps = frozenset({"cuobjdump"}) if not rebuilt(name, version) else frozenset[str]()
    return Requirement(
        nvcc_minimum=higher or own,
        nvcc_below=base.nvcc_below,
        targets=targets,
        host_compiler=False,
        reason=base.reason if higher else f"{name} {version} requires NVCC",
        optional=_COMPONENTS | dumps,
    )


def root(name: str, version: str, context: Context) -> Found:
    """torch's order of lookup, at import; the first make asks the program ``which``, and goes on without it."""
    path = context.env.get("PATH")
    if not rebuilt(name, version) and which(context.view, "which", path, lookup.UNSET_PATH) is None:
        named = lookup.from_variables(context, "CUDA_HOME", "CUDA_PATH")
        return named or lookup.from_default(context) or lookup.NOTHING
    return lookup.usual(context)


def left_out(context: Context) -> bool:
    """Whether the server goes on without DeepGEMM here, with a warning: vLLM from 0.34 on, where it finds no nvcc as
    DeepGEMM would, or one under 12.9 (``vllm/utils/deep_gemm.py``, ``is_deep_gemm_supported``).
    """
    if not servers.surely_runs(context, "vllm", "0.34.0"):
        return False
    env = context.env
    named = env.get("CUDA_HOME") or env.get("CUDA_PATH")
    found = (
        lookup.at(context, named, "variable") if named else lookup.from_path(context) or lookup.from_default(context)
    )
    if found is None or found.root is None or context.view.stat(found.root) is None:
        return True
    chosen = next((name for name in ("DG_JIT_NVCC_COMPILER", "DJ_JIT_NVCC_COMPILER") if name in env), "")
    found = lookup.with_nvcc(context, found, chosen)
    if not found.nvcc or not is_executable(context.view, found.nvcc):
        return True
    release = lookup.version_of(context, found)
    return release is not None and release < minimum("deep-gemm", "2.8")


class DeepGemm:
    """Kernels that only quantised models on data-centre GPUs use."""

    name = "deep-gemm"
    rank = 50
    frames = ("/deep_gemm/",)

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here.

        It is certain to run only where the command line speaks of FP8 or FP4; SGLang imports it in any case on 9.0
        and newer GPUs, and the import itself fails where no toolkit is found at all.
        """
        name = "sgl-deep-gemm" if servers.version(context, "sgl-deep-gemm") else "deep-gemm"
        found = lookup.with_nvcc(context, root(name, version, context), "DG_JIT_NVCC_COMPILER")
        nvcc = lookup.version_of(context, found)
        needs = _requires(name, version, context, nvcc)
        quantised = servers.asks_for(context, "fp8") or servers.asks_for(context, "fp4")
        newest = max(devices.visible(context), default=(0, 0))
        imported = context.server == "sglang" and newest >= (9, 0) and found.root is None
        used = quantised and needs.targets != frozenset() and not left_out(context)
        one = judge.build(f"{name} {version}", found, needs, context, fatal=imported or used)
        folder = context.env.get("DG_JIT_CACHE_DIR") or posixpath.join(lookup.home(context), ".deep_gemm")
        problems = (
            (*judge.problems(one), *caches.writable(context, one.who, folder, fatal=one.fatal)) if needs.targets else ()
        )
        return judge.resolution(
            one,
            self.name,
            version,
            problems=problems,
            cache=folder,
            variables=(
                "CUDA_HOME",
                "CUDA_PATH",
                "PATH",
                "DG_JIT_NVCC_COMPILER",
                "DG_JIT_CACHE_DIR",
                "DG_JIT_USE_NVRTC",
            ),
        )


LIBRARY: Final = DeepGemm()
