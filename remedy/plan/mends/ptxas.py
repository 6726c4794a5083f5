"""Triton's assembler: its wheel brings one, and a variable names another."""

from __future__ import annotations

from typing import Final

from remedy.causes.entry import MendKind
from remedy.jit import tables
from remedy.jit.requirements import joined
from remedy.jit.triton import variable
from remedy.plan.draft import Draft
from remedy.plan.mends.toolkit import with_toolkit
from remedy.plan.task import Mend, Task
from remedy.plan.toolkit import choose
from remedy.plan.touched import edited
from remedy.value import replace


def name_a_ptxas(task: Task) -> Draft:
    """A ptxas that knows the GPU: the wheel's own where an override hides it, else that of a fitting toolkit."""
    python, capabilities = task.inputs.snapshot.interpreter, task.inputs.snapshot.capabilities
    version = python.dist_version("triton") if python else None
    if version is None or not capabilities:
        return task.draft.give_up("which Triton or which GPU is here is not known, so neither is the ptxas it needs")
    newest = capabilities[-1]
    bundled = tables.triton_ptxas(version, newest)
    name = variable(version, newest)
    if name is None:
        return task.draft.give_up(
            f"Triton {version} reads no variable that replaces its ptxas for this GPU: upgrade Triton to 3.6 or later"
        )
    if bundled and name in task.env and tables.knows(bundled[0], _target(newest)):
        return task.draft.want({name: None})
    if bundled and name not in task.env and tables.knows(bundled[0], _target(newest)) and edited(task.inputs):
        return task.draft
    choice = choose(task.inputs, joined(task.now.resolutions))
    if choice.kit is None:
        return task.draft.give_up("no toolkit fits whose ptxas could be named to Triton")
    draft = with_toolkit(replace(task.draft, rejected=(*task.draft.rejected, *choice.rejected)), choice.kit)
    if choice.step:
        draft = draft.install(choice.step)
    return draft.want({name: f"{choice.kit.root}/bin/ptxas"})


def _target(capability: tuple[int, int]) -> str:
    """What Triton asks ptxas for: ``sm_90`` and above with ``a``."""
    return tables.spelled(capability, "a" if capability[0] >= 9 else "")


MENDS: Final[dict[MendKind, Mend]] = {"ptxas": name_a_ptxas}
