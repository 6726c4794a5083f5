"""The process of a change's own unit: it carries out the plan that was shown, or undoes a change that was kept."""

from __future__ import annotations

import sys

from remedy.change import codec
from remedy.change.detached import Apply, Job, serve
from remedy.change.interrupts import Interrupts
from remedy.change.recover import rollback
from remedy.change.types import Outcome, Report
from remedy.repair import Wishes, carry_out, hooks_for


def act(job: Job, report: Report, interrupts: Interrupts) -> Outcome:
    """Carry out one request; ``wishes`` in it are those of remedy.repair. Raises Refused where nothing was touched."""
    if isinstance(job, Apply):
        return carry_out(job.plan, codec.loads(Wishes, job.wishes), report, interrupts)
    return rollback(report, job.transaction, hooks_for=hooks_for)


if __name__ == "__main__":
    sys.exit(serve(act))
