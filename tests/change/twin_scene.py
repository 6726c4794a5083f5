"""A proof inside a machine of the lab: ``python -m tests.change.twin_scene UNIT [TOOLKIT]`` prints it as JSON."""

from __future__ import annotations

import json
import sys
import time

from remedy.plan.types import Plan
from remedy.proof import prover
from remedy.road import look, this_machine


def main(unit: str, toolkit: str | None = None) -> None:
    """Prove the unit as it stands, as if a plan had just come to it."""
    seen = look(unit, this_machine())
    prove = prover(seen, Plan(unit, "nvcc-too-old", toolkit=toolkit), seen.service, seen.launch)
    told: list[str] = []
    begin = time.monotonic()
    why = prove(told.append) if prove else "there is no proof for this unit"
    print(json.dumps({"why": why, "told": told, "seconds": time.monotonic() - begin}))


if __name__ == "__main__":
    main(*sys.argv[1:])
