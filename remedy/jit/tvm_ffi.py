"""TVM-FFI 0.1: ``tvm_ffi.cpp.extension`` (0.1.0: ``load_inline``), the compiler behind SGLang's own kernels."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import caches, devices, judge, lookup, servers, tables
from remedy.jit.tables import Capability
from remedy.jit.types import Context, Problem, Requirement, Resolution
from remedy.jit.versions import at_least, between, cuda, dotted
from remedy.view import which

VARIABLE: Final = "TVM_FFI_CUDA_ARCH_LIST"
COMPONENTS: Final = frozenset({"nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cudart-library"})


def torch_cuda(context: Context) -> Version | None:
    """torch's CUDA release in the service's interpreter."""
    interpreter = context.snapshot.interpreter
    return cuda(interpreter.torch_cuda) if interpreter else None


def requirement(
    context: Context,
    targets: frozenset[str],
    capabilities: tuple[Capability, ...],
    *,
    optional: bool = False,
    gcc_minimum: int = 0,
) -> Requirement:
    """What builds for these targets with nvcc, ninja and libcudart need; ``optional`` for a library that few need."""
    minimums = [
        (minimum, target)
        for target in targets
        if judge.fits(context, target) and (found := tables.parsed(target)) and (minimum := tables.nvcc_minimum(*found))
    ]
    floor, target = max(minimums, default=(None, ""))
    torch = torch_cuda(context)
    return Requirement(
        nvcc_minimum=floor,
        nvcc_below=judge.ceiling(context, capabilities),
        targets=targets,
        components=frozenset() if optional else COMPONENTS,
        torch_major=torch[0] if torch else None,
        ninja=not optional,
        host_compiler=not optional,
        reason=f"compute_{target} needs" if target else "",
        optional=COMPONENTS if optional else frozenset(),
        gcc_minimum=0 if optional else gcc_minimum,
    )


def rocm_home(context: Context) -> str | None:
    """ROCm's root: ROCM_HOME, ROCM_PATH, hipcc on PATH, /opt/rocm."""
    for name in ("ROCM_HOME", "ROCM_PATH"):
        if context.env.get(name):
            return context.env[name]
    hipcc = which(context.view, "hipcc", context.env.get("PATH"), lookup.UNSET_PATH)
    if hipcc:
        root = posixpath.dirname(posixpath.dirname(context.view.realpath(hipcc)))
        return posixpath.dirname(root) if posixpath.basename(root) == "hip" else root
    return "/opt/rocm" if context.view.stat("/opt/rocm") else None


def rocm_problem(version: str, context: Context, *, fatal: bool) -> Iterator[Problem]:
    """0.1.9 to 0.1.12 build with hipcc as soon as any ROCm is found; 0.1.13 asks torch first."""
    backend = context.env.get("TVM_FFI_GPU_BACKEND", "").lower()
    if backend == "hip":
        text = "TVM_FFI_GPU_BACKEND=hip makes TVM-FFI build with hipcc"
        yield Problem("rocm-selected", text, (text,), fatal, "TVM_FFI_GPU_BACKEND")
    elif backend != "cuda" and between(version, "0.1.9", "0.1.13"):
        root = rocm_home(context)
        if root:
            text = f"TVM-FFI {version} finds ROCm in {root} and builds with hipcc; TVM_FFI_GPU_BACKEND=cuda prevents it"
            yield Problem("rocm-selected", text, (f"{root} exists",), fatal)


def listed(context: Context) -> tuple[frozenset[str], str | None]:
    """The targets of TVM_FFI_CUDA_ARCH_LIST and the first entry that is refused: an entry needs exactly one dot."""
    targets: set[str] = set()
    for entry in context.env.get(VARIABLE, "").split():
        if len(entry.split(".")) != 2:
            return frozenset(targets), entry
        targets.add(entry.replace(".", ""))
    return frozenset(targets), None


def list_problems(context: Context, targets: frozenset[str], nvcc: Version | None, *, fatal: bool) -> Iterator[Problem]:
    """A list that is malformed, or fits neither GPU nor compiler."""
    text = context.env.get(VARIABLE)
    if text is None:
        return
    facts = (f"{VARIABLE}={text}",)
    refused = listed(context)[1]
    if refused is not None:
        yield Problem("arch-list-wrong", f"{VARIABLE}={text!r} is malformed at {refused!r}", facts, fatal, VARIABLE)
        return
    lost = [one for one in devices.visible(context) if not any(tables.runs_on(target, one) for target in targets)]
    if lost:
        said = f"{VARIABLE}={text} names nothing that GPU {dotted(lost[0])} can run"
        yield Problem("arch-list-wrong", said, facts, fatal, VARIABLE)
    strange = [target for target in sorted(targets) if nvcc and tables.knows(nvcc, target) is False]
    strange = [target for target in strange if not judge.fits(context, target)]
    if strange and nvcc:
        said = f"{VARIABLE}={text} asks for compute_{strange[0]}, which nvcc {dotted(nvcc)} does not know"
        yield Problem("arch-list-wrong", said, facts, fatal, VARIABLE)


def is_overwritten(context: Context) -> bool:
    """Whether the unit's own list is of no effect: SGLang puts its GPU there for each build (0.5.10 on)."""
    return servers.runs(context, "sglang", "0.5.10")


def _targets(context: Context) -> frozenset[str]:
    """What nvcc is asked for: the list, else the plain capability of the first GPU that nvidia-smi names."""
    if VARIABLE in context.env and not is_overwritten(context):
        return listed(context)[0]
    gpus = [gpu.capability for gpu in context.snapshot.gpus if gpu.capability]
    return frozenset({tables.spelled(gpus[0])}) if gpus else frozenset()


def _undetected(version: str, context: Context, *, fatal: bool) -> Iterator[Problem]:
    """Without nvidia-smi on PATH, 0.1.0 to 0.1.8 build for compute_70, which CUDA 13 has dropped."""
    path = context.env.get("PATH")
    # SGLang 0.5.9 and later say which GPU it is.
    if VARIABLE in context.env or not context.snapshot.gpus or servers.runs(context, "sglang", "0.5.9"):
        return
    if which(context.view, "nvidia-smi", path, lookup.UNSET_PATH):
        return
    if at_least(version, "0.1.9"):
        text = f"TVM-FFI {version} asks nvidia-smi for the GPU: none on the unit's PATH"
    else:
        text = f"TVM-FFI {version} finds no nvidia-smi on the unit's PATH and builds for compute_70"
    yield Problem("arch-list-wrong", text, (f"{VARIABLE} is not set",), fatal)


class TvmFfi:
    """Kernels that a server builds from source at first use."""

    name = "tvm-ffi"
    rank = 30
    frames = ("/tvm_ffi/",)

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here; it stops a service only where SGLang builds through it.

        SGLang does so from 0.5.7 to 0.5.17 (before: no own kernels; after: its own build).
        """
        used = servers.runs(context, "sglang", "0.5.7", "0.5.18")
        found, targets = lookup.usual(context), _targets(context)
        needs = requirement(context, targets, devices.visible(context), optional=not used)
        one = judge.build(f"TVM-FFI {version}", found, needs, context, fatal=used, ccbin=False, link_folders=("lib64",))
        folder = context.env.get("TVM_FFI_CACHE_DIR") or posixpath.join(lookup.home(context), ".cache/tvm-ffi")
        problems = (
            *rocm_problem(version, context, fatal=used),
            *(() if is_overwritten(context) else list_problems(context, targets, one.nvcc_version, fatal=used)),
            *_undetected(version, context, fatal=used),
            *(judge.problems(one) if used else ()),
            *caches.writable(context, one.who, folder, fatal=used),
        )
        return judge.resolution(
            one,
            self.name,
            version,
            problems=problems,
            cache=folder,
            variables=("CUDA_HOME", "CUDA_PATH", "PATH", VARIABLE, "TVM_FFI_GPU_BACKEND", "TVM_FFI_CACHE_DIR", "CXX"),
        )


LIBRARY: Final = TvmFfi()
