"""The process of a change's own unit: it looks at the machine again, and carries out the plan that was shown."""

from __future__ import annotations

import sys

from remedy.change import codec
from remedy.change.detached import Request, serve
from remedy.change.types import Outcome, Report
from remedy.repair import Wishes, apply_plan
from remedy.road import look, this_machine


def act(wanted: Request, report: Report) -> Outcome:
    """Carry out one request; ``wishes`` in it are those of remedy.repair. Raises Refused where nothing was touched."""
    seen = look(wanted.plan.unit, this_machine())
    return apply_plan(seen, wanted.plan, codec.loads(Wishes, wanted.wishes), report)


if __name__ == "__main__":
    sys.exit(serve(act))
