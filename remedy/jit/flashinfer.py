"""FlashInfer 0.2 to 0.7: jit/cpp_ext.py, jit/env.py, jit/core.py and compilation_context.py of its wheels."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.facts.types import Version
from remedy.hints import Final
from remedy.jit import caches, devices, flashinfer_cache, judge, lookup, servers, tables, torch_archs
from remedy.jit.flashinfer_archs import VARIABLE, Archs, NotBuildable, detected, listed, normalised, requirement
from remedy.jit.lookup import Found
from remedy.jit.tables import Capability
from remedy.jit.types import Context, Problem, Requirement, Resolution
from remedy.jit.versions import at_least, between, cuda, dotted
from remedy.value import dataclass
from remedy.view import is_directory, is_executable, which

_BASE: Final = frozenset({"nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cudart-library", "curand"})
_TORCH_HEADERS: Final = frozenset({"cublas", "cusparse", "cusolver"})
_LOWEST: Final = (7, 5)

# Floors that hold for every GPU, newest first. nvcc 12.8 brought --compress-mode, which every build passes from 0.6.18
# on (gen_jit_spec; flashinfer#5479). Its own CCCL 3, from 0.6.10 on, has lost what sampling.cuh uses below 12.1
# (flashinfer#4763).
_FLOORS: Final[tuple[tuple[str, Version, str], ...]] = (
    ("0.6.18", (12, 8), "its builds pass --compress-mode, which needs nvcc"),
    ("0.6.10", (12, 1), "the CCCL that it brings needs nvcc"),
)
_VARIABLES: Final = ("CUDA_HOME", "CUDA_PATH", "PATH", "CC", "CXX", "MAX_JOBS", "FLASHINFER_WORKSPACE_BASE")


def root(version: str, context: Context) -> Found:
    """The toolkit root of this release, and the compiler that it would run from it."""
    if not at_least(version, "0.4.0"):
        found = lookup.usual(context)
        if not found.root and at_least(version, "0.2.6"):
            found = lookup.at(context, lookup.DEFAULT_ROOT, lookup.DEFAULT_ROOT)
        return lookup.with_nvcc(context, found, "PYTORCH_NVCC")
    found = _root_by_which(version, context)
    return lookup.with_nvcc(context, found, "FLASHINFER_NVCC")


def _root_by_which(version: str, context: Context) -> Found:
    """``get_cuda_path`` from 0.4.0 on; it runs the program ``which``, and 0.5.0 added the last step."""
    named = lookup.from_variables(context, "CUDA_HOME", "CUDA_PATH")
    if named:
        return named
    if which(context.view, "which", context.env.get("PATH"), lookup.UNSET_PATH) is None:
        why = "CUDA_HOME is not set, and the program which, that it would ask, is not on PATH"
        return Found(None, "nothing", "PATH", why=why)
    if not at_least(version, "0.5.0"):
        return lookup.from_path(context) or lookup.NOTHING_ON_PATH
    return lookup.from_path(context) or lookup.from_default(context) or lookup.NOTHING


@dataclass(frozen=True)
class Case:
    """Everything about one release in one context that its rules share.

    ``seen`` is the CUDA release that it takes for the toolkit's: nvcc's, else torch's.
    """

    version: str
    context: Context
    found: Found
    capabilities: tuple[Capability, ...]
    torch: Version | None
    seen: Version | None
    archs: Archs

    @property
    def who(self) -> str:
        return f"FlashInfer {self.version}"

    @property
    def list_text(self) -> str | None:
        """The architecture list that this release reads."""
        name = VARIABLE if at_least(self.version, "0.3.1") else torch_archs.VARIABLE
        return self.context.env.get(name)


def case_of(version: str, context: Context) -> Case:
    """The lookups of one release here."""
    found = root(version, context)
    interpreter = context.snapshot.interpreter
    torch = cuda(interpreter.torch_cuda) if interpreter else None
    asked = lookup.at(context, found.root, found.by, found.variable) if found.root is not None else found
    seen = lookup.version_of(context, asked)
    if seen is None and not asked.exists and at_least(version, "0.4.0"):
        seen = torch
    capabilities = devices.visible(context)
    return Case(version, context, found, capabilities, torch, seen, _archs(version, context, asked, capabilities, seen))


def _archs(
    version: str, context: Context, asked: Found, capabilities: tuple[Capability, ...], seen: Version | None
) -> Archs:
    """The architecture set at import."""
    if not at_least(version, "0.3.1"):
        return torch_archs.for_context(context)
    broken = _uncaught(asked, context)
    text = context.env.get(VARIABLE)
    if text is not None:
        archs = listed(version, text, seen)
        asked_for = archs.error is None or archs.error.startswith("RuntimeError")
        return Archs(error=broken) if broken and asked_for and _asks_version(version, text) else archs
    if broken and any(requirement(version, capability) for capability in capabilities):
        return Archs(warning=broken)
    return detected(version, devices.in_order(context), seen)


def _asks_version(version: str, text: str) -> bool:
    """Whether reading a list asks for the toolkit's version: an entry 12.x without a suffix, from 0.6.7 on."""
    return any(entry.startswith("12.") and entry[-1].isdecimal() for entry in text.split(" ")) and (
        requirement(version, (12, 0)) is not None
    )


def _uncaught(asked: Found, context: Context) -> str | None:
    """What running ``<root>/bin/nvcc`` raises beside the errors that make FlashInfer fall back to torch's version."""
    if asked.root is None or asked.nvcc is None:
        return None
    if asked.exists:
        return None if is_executable(context.view, asked.nvcc) else f"PermissionError: {asked.nvcc}"
    stat = context.view.stat(asked.root)
    if stat is not None and not is_directory(context.view, asked.root):
        return f"NotADirectoryError: {asked.nvcc}"
    return None


def _requires(case: Case) -> Requirement:
    """What this release needs of a toolkit for the visible GPUs; nothing where it serves none of them."""
    if case.capabilities and max(case.capabilities) < _LOWEST:
        return Requirement()
    version = case.version
    floor, reason = next(((low, why) for first, low, why in _FLOORS if at_least(version, first)), (None, ""))
    for capability in case.capabilities:
        minimum, why = _minimum(case, capability)
        if minimum and (floor is None or minimum >= floor):
            floor, reason = minimum, why
    components = set(_BASE)
    if at_least(version, "0.4.0"):
        components.add("stub")
    else:
        components |= _TORCH_HEADERS
    if not at_least(version, "0.6.10"):
        components.add("cccl")
    if servers.asks_for(case.context, "fp4"):
        # tensorrt_llm/common/cudaUtils.h, which the FP4 and MoE modules include, and the latter's -lnvrtc.
        components |= {"cublas", "nvrtc"}
    return Requirement(
        nvcc_minimum=floor,
        nvcc_below=judge.ceiling(case.context, case.capabilities),
        targets=_targets(case),
        components=frozenset(components),
        torch_major=case.torch[0] if case.torch else None,
        ninja=True,
        host_compiler=True,
        python_headers=not at_least(version, "0.4.0"),
        reason=reason,
        optional=_for_quantised(case.context) - components,
    )


def _for_quantised(context: Context) -> frozenset[str]:
    """What modules may need that few models use: fp8_blockscale.py and fused_moe.py link NVRTC, which is small, and
    gemm/core.py cuBLAS, by far the largest package of a toolkit: it comes where the service speaks for it.
    """
    words = ("fp8", "moe")
    named = any(servers.asks_for(context, word) or servers.model_says(context, word) for word in words)
    return frozenset({"cublas", "nvrtc"} if named else {"nvrtc"})


def _minimum(case: Case, capability: Capability) -> tuple[Version | None, str]:
    """The lowest nvcc for one GPU, and who says so."""
    if _fp4_needs_family(case, capability):
        return (12, 9), "its FP4 modules are built for compute_120f, which needs"
    own = requirement(case.version, capability)
    if own:
        return own
    suffix = "a" if capability[0] >= 9 and at_least(case.version, "0.3.1") else ""
    minimum = tables.nvcc_minimum(capability, suffix)
    return minimum, f"GPU {dotted(capability)} (compute_{tables.spelled(capability, suffix)}) needs"


def _fp4_needs_family(case: Case, capability: Capability) -> bool:
    """From 0.6.6 on the FP4 modules follow torch's CUDA, whatever nvcc is (get_fp4_quantization_module)."""
    newer = case.torch is not None and case.torch >= (12, 9)
    return capability[0] == 12 and at_least(case.version, "0.6.6") and newer and servers.asks_for(case.context, "fp4")


def _targets(case: Case) -> frozenset[str]:
    """What nvcc is asked for: the set itself, or what it would be with a toolkit that suits, and SGLang's own."""
    found = set(case.archs.targets)
    if not found:
        for capability in case.capabilities:
            try:
                major, minor = normalised(case.version, capability, None)
            except NotBuildable:
                continue
            found.add(f"{major}{minor}")
    if servers.surely_runs(case.context, "sglang", "0.5.5"):
        # ModelRunner.load_model overwrites the variable: modules made after that ask for `a` (set_cuda_arch).
        found |= {tables.spelled(one, "a") for one in case.capabilities if one[0] >= 9}
    return frozenset(found)


def _imported(case: Case) -> bool:
    """Whether the service imports FlashInfer, so that what fails there stops it.

    vLLM leaves it out where it sees no nvcc (see vllm.flashinfer_is_on). GPUs below 7.5 are not served at all.
    """
    if case.capabilities and max(case.capabilities) < _LOWEST:
        return False
    if not servers.runs(case.context, "vllm"):
        return True
    from remedy.jit import vllm

    return vllm.flashinfer_is_on(case.context)


def _fatal(case: Case) -> bool:
    """Whether the service stops when FlashInfer can't build: not where its command line chose everything else."""
    return _imported(case) and not _unused(case)


def _unused(case: Case) -> bool:
    """Whether another attention and another sampling are chosen. On Blackwell vLLM takes FlashInfer by itself."""
    context = case.context
    if servers.asks_for(context, "flashinfer"):
        return False
    if context.server == "sglang":
        attention = servers.option(context, "--attention-backend")
        return attention in ("triton", "torch_native") and servers.option(context, "--sampling-backend") == "pytorch"
    older = bool(case.capabilities) and max(case.capabilities) < (10, 0)
    chosen = "FLASHINFER" in context.env.get("VLLM_ATTENTION_BACKEND", "")
    off = context.env.get("VLLM_USE_FLASHINFER_SAMPLER") == "0"
    return context.server == "vllm" and older and off and not chosen


def _import_problems(case: Case) -> Iterator[Problem]:
    """What already stops ``import flashinfer``, or empties the set that every later check reads."""
    yield from _version_problems(case)
    names = VARIABLE if at_least(case.version, "0.3.1") else torch_archs.VARIABLE
    text, archs = case.list_text, case.archs
    if archs.error and text is not None and not archs.error.startswith("RuntimeError"):
        said = f"{names}={text!r} is not what {case.who} can read: {archs.error}"
        yield Problem("arch-list-wrong", said, (f"{names}={text}",), _imported(case), names)
        return
    if text is None or not case.context.snapshot.capabilities or not archs.targets:
        return
    yield from _list_problems(case, names, text)


def _list_problems(case: Case, name: str, text: str) -> Iterator[Problem]:
    """A list that can be read, but names what no GPU here runs, or what this nvcc does not know."""
    targets, fatal = case.archs.targets, _fatal(case)
    lost = [one for one in case.capabilities if not any(tables.runs_on(target, one) for target in targets)]
    facts = (f"{name}={text}",)
    if lost:
        said = f"{name}={text} names nothing that GPU {dotted(lost[0])} can run"
        yield Problem("arch-list-wrong", said, facts, fatal, name)
    nvcc = lookup.version_of(case.context, case.found)
    strange = [target for target in targets if nvcc and tables.knows(nvcc, target) is False]
    strange = [target for target in strange if not judge.fits(case.context, target)]
    if strange and nvcc:
        said = f"{name}={text} asks for compute_{strange[0]}, which nvcc {dotted(nvcc)} does not know"
        yield Problem("arch-list-wrong", said, facts, fatal, name)
    plain = [
        target for target in targets if target.isdecimal() and (tables.parsed(target) or ((0, 0), ""))[0] >= (9, 0)
    ]
    if plain and between(case.version, "0.4.0", "0.6.7") and len(plain) == len(targets):
        said = f"{name}={text} has no suffix at {plain[0]}: modules that use its own instructions can't be built"
        yield Problem("arch-list-wrong", said, facts, False, name)


def _version_problems(case: Case) -> Iterator[Problem]:
    """Kernel packages of another release: an error at import from 0.4.0, a warning from 0.7.2 on (jit/env.py)."""
    if case.context.env.get("FLASHINFER_DISABLE_VERSION_CHECK") or not at_least(case.version, "0.4.0"):
        return
    for name in ("flashinfer-cubin", "flashinfer-jit-cache"):
        other = servers.version(case.context, name)
        if other and other.partition("+")[0] != case.version.partition("+")[0]:
            fatal = _imported(case) and not at_least(case.version, "0.7.2")
            yield Problem("library-version-mismatch", f"{name} is {other}, flashinfer-python {case.version}", (), fatal)


def _swallowed(case: Case, one: judge.Build, already: tuple[Problem, ...]) -> Iterator[Problem]:
    """The set that stays empty because detection failed: the later "requires GPUs with sm75" says nothing of it."""
    if not (case.archs.warning or (case.archs.error or "").startswith("RuntimeError")) or any(
        found.fatal for found in already
    ):
        return
    reason = case.archs.warning or case.archs.error or ""
    if lookup.version_of(case.context, case.found) is None and case.torch:
        text = f"{case.who} finds no nvcc and takes torch's CUDA {dotted(case.torch)} instead: {reason}"
        yield one.problem("nvcc-not-found", text)
    else:
        yield one.problem("nvcc-too-old", f"{case.who}: {reason}")


def _lock_problems(case: Case, folder: str) -> Iterator[Problem]:
    """Up to 0.2.5 torch's own lock stands in each module's folder (torch.utils.cpp_extension.load)."""
    if not at_least(case.version, "0.2.6"):
        yield from caches.locked(case.context, case.who, folder, fatal=caches.idle(case.context))


class FlashInfer:
    """Attention and sampling kernels, compiled at the first use of each module."""

    name = "flashinfer"
    rank = 10
    frames = ("/flashinfer/",)

    def resolve(self, version: str, context: Context) -> Resolution:
        """What this release would do here."""
        case = case_of(version, context)
        one = judge.build(case.who, case.found, _requires(case), context, fatal=_fatal(case))
        folder = flashinfer_cache.folder(version, context, case.archs)
        problems = (*_import_problems(case), *judge.problems(one))
        problems += tuple(_swallowed(case, one, problems))
        problems += tuple(caches.writable(context, case.who, folder, fatal=one.fatal))
        stale = tuple(flashinfer_cache.stale(version, context, folder, case.found, one.requires))
        problems += tuple(flashinfer_cache.problems(version, context, case.found, stale))
        problems += tuple(_lock_problems(case, folder))
        return judge.resolution(
            one,
            self.name,
            version,
            problems=problems,
            cache=posixpath.join(folder, "cached_ops"),
            stale=stale,
            variables=(*_VARIABLES, VARIABLE) if at_least(version, "0.3.1") else _VARIABLES,
        )


LIBRARY: Final = FlashInfer()
