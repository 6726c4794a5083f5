"""One thing to mend, and the state that the mend starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from remedy.jit.types import Problem
from remedy.plan.draft import Draft
from remedy.plan.inputs import Inputs
from remedy.plan.outlook import Outlook
from remedy.value import dataclass


@dataclass(frozen=True)
class Task:
    """A cause to mend: ``draft`` is what has been decided before, ``now`` the service as it would be after that."""

    cause: str
    inputs: Inputs
    draft: Draft
    now: Outlook

    @property
    def env(self) -> Mapping[str, str]:
        """The environment as the interpreter gets it: what is wanted of an edit holds there."""
        return self.now.launch.variables()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What the libraries say of this cause."""
        return self.now.problems(self.cause)

    def says(self) -> str:
        """The text of all evidence for the cause: log lines, facts, and the libraries' words."""
        findings = (finding for finding in self.inputs.diagnosis.findings if finding.id == self.cause)
        words = [evidence.text for finding in findings for evidence in finding.evidence]
        return "\n".join([*words, *(problem.text for problem in self.problems)])


Mend = Callable[[Task], Draft]
