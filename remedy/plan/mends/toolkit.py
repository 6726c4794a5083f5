"""The toolchain itself: one toolkit that satisfies every library, and the environment that leads to it."""

from __future__ import annotations

import re
from typing import Final

from remedy.causes.entry import MendKind
from remedy.facts.types import Snapshot, Toolkit
from remedy.jit import arch_list
from remedy.jit.requirements import joined
from remedy.jit.types import Requirement
from remedy.plan.alternatives import keep_links
from remedy.plan.draft import Draft
from remedy.plan.environment import Move, move_to, toolkit_values
from remedy.plan.task import Mend, Task
from remedy.plan.toolkit import Choice, choose
from remedy.plan.types import InstallPackages
from remedy.value import replace

# Programs of a toolkit that libraries look for by themselves.
_PROGRAMS: Final = {"nvcc": "bin/nvcc", "ptxas": "bin/ptxas", "cuobjdump": "bin/cuobjdump", "cicc": "nvvm/bin/cicc"}

# What a compiler ("cublas_v2.h: No such file") or a linker ("cannot find -lnvrtc") names, and the component it is of.
_HEADER: Final = r"\b(cublas|cusparse|cusolver|curand|nvrtc)\w*\.h\b"
_LIBRARY: Final = r"-l(cublas|cusparse|cusolver|curand|nvrtc)"

# What these causes ask for can't be told without the GPU.
_ABOUT_GPUS: Final = ("nvcc-too-old", "nvcc-too-new")


def use_one_toolkit(task: Task) -> Draft:
    """Choose the toolkit, install what it lacks, and point the unit's environment to it.

    Where every library finds it already the environment stays: a new spelling costs FlashInfer's whole cache.
    """
    draft, inputs = task.draft, task.inputs
    if not task.now.resolutions:
        return draft.give_up(_nobody_asks(inputs.snapshot))
    if task.cause in _ABOUT_GPUS and not inputs.snapshot.capabilities:
        return draft.give_up(
            "which GPU is here is not known, so neither is the CUDA it needs: --gpu-arch 12.0 tells it"
        )
    choice = choose(inputs, _with_named(joined(task.now.resolutions), task.says()))
    draft = replace(draft, rejected=(*draft.rejected, *choice.rejected)).warn(*choice.warnings)
    if choice.kit is None:
        return draft.give_up(_nothing_fits(choice))
    draft = with_toolkit(draft, choice.kit)
    if isinstance(choice.step, InstallPackages):
        kept = keep_links(task.now.view, choice.step, inputs.service.name)
        draft = draft.install(kept.step).warn(*kept.warnings)
    elif choice.step:
        draft = draft.install(choice.step)
    used = [resolution.toolkit for resolution in task.now.resolutions if resolution.toolkit]
    move = move_to(choice.kit, task.now.view, inputs.snapshot.toolkits, used)
    if used and all(move.is_chosen(root) for root in used):
        return draft
    return draft.want(toolkit_values(task.env, move)).want(_arch_list(task, move))


def _with_named(requirement: Requirement, said: str) -> Requirement:
    """The requirement with what a failed build named: only some modules of a library need it, and this one did."""
    named = frozenset(found for pattern in (_HEADER, _LIBRARY) for found in re.findall(pattern, said))
    return replace(requirement, components=requirement.components | named, optional=requirement.optional - named)


def _nobody_asks(snapshot: Snapshot) -> str:
    """Without a library that builds there is no toolkit to choose: mostly for want of the right to look."""
    known = {fact.fact: fact.why for fact in snapshot.missing}
    why = f" ({known['interpreter']})" if "interpreter" in known else ""
    return f"which JIT libraries the service has is not known, so neither is the toolkit that they need{why}"


def _nothing_fits(choice: Choice) -> str:
    """The reason that tells what to do: a package that could be had, before what is here or on PyPI."""
    ranked = sorted(choice.rejected, key=lambda one: not one.candidate.startswith("apt"))
    return f"no CUDA toolkit fits: {ranked[0].why}" if ranked else "no CUDA toolkit fits"


def with_toolkit(draft: Draft, kit: Toolkit) -> Draft:
    """The draft with a toolkit decided on; the planned machine has it, with its programs."""
    programs = frozenset(f"{kit.root}/{below}" for name, below in _PROGRAMS.items() if name in kit.components)
    others = tuple(one for one in draft.snapshot.toolkits if one.root != kit.root)
    snapshot: Snapshot = replace(draft.snapshot, toolkits=(kit, *others))
    return replace(draft, toolkit=kit, snapshot=snapshot, programs=draft.programs | programs)


def _arch_list(task: Task, move: Move) -> dict[str, str | None]:
    """FLASHINFER_CUDA_ARCH_LIST as this FlashInfer spells it with the chosen toolkit; nothing where it has none."""
    snapshot = task.inputs.snapshot
    version = snapshot.interpreter.dist_version("flashinfer-python") if snapshot.interpreter else None
    if version is None or move.kit.version is None:
        return {}
    value = arch_list(version, snapshot.capabilities, move.kit.version[:2])
    return (
        {}
        if value is None or task.env.get("FLASHINFER_CUDA_ARCH_LIST") == value
        else {"FLASHINFER_CUDA_ARCH_LIST": value}
    )


MENDS: Final[dict[MendKind, Mend]] = {"toolkit": use_one_toolkit}
