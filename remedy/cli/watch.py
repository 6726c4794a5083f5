"""``remedy watch``: follow a start to a verdict, changing nothing."""

from __future__ import annotations

import sys

from remedy.errors import Exit
from remedy.gate.types import Progress, Verdict
from remedy.road import load_service, this_machine

EXITS = {"healthy": Exit.DONE, "failed": Exit.PROBLEM, "undecided": Exit.NOT_MENDABLE}


def watch(unit: str, *, json: bool, timeout: float | None, user: bool) -> int:
    """Follow the start that is under way, or the next one."""
    from json import dumps

    from remedy.gate.expect import expectation
    from remedy.gate.watch import Watch
    from remedy.show.events import event_json, event_text
    from remedy.unit.launch import launch

    machine = this_machine(user=user)
    service = load_service(unit, machine)
    expect = expectation(service, launch(service, machine.view), timeout=timeout)

    def report(progress: Progress) -> None:
        from remedy.change.types import Event

        event = Event("progress", progress.line, progress=progress)
        if json:
            print(dumps(event_json(event)), flush=True)
        else:
            event_text(event, sys.stderr)

    with Watch(service.name, expect, user=user, adopt=True) as watching:
        verdict = watching.run(report)
    return _end(verdict, json)


def _end(verdict: Verdict, json: bool) -> int:
    from json import dumps

    from remedy.show.events import verdict_json, verdict_text

    if json:
        print(dumps(verdict_json(verdict)))
    else:
        print(verdict_text(verdict))
    return EXITS[verdict.state]
