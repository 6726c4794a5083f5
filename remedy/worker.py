"""The process of a change's own unit: it looks at the machine again, and carries out the plan that was shown."""

from __future__ import annotations

import sys

from remedy.change import codec
from remedy.change.detached import Request, serve
from remedy.change.types import Outcome, Report
from remedy.repair import Wishes, hooks
from remedy.road import look, this_machine


def act(wanted: Request, report: Report) -> Outcome:
    """Carry out one request; ``wishes`` in it are those of remedy.repair. Raises Refused where nothing was touched."""
    from remedy.change.transaction import apply

    wishes = codec.loads(Wishes, wanted.wishes)
    machine = this_machine()
    seen = look(wanted.plan.unit, machine)
    return apply(wanted.plan, hooks(seen, machine, wanted.plan, wishes), report, keep_packages=wishes.keep_packages)


if __name__ == "__main__":
    sys.exit(serve(act))
