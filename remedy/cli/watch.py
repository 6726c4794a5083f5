"""``remedy watch``: follow a start to a verdict, changing nothing."""

from __future__ import annotations

import sys

from remedy.errors import Exit
from remedy.gate.types import Progress, Verdict
from remedy.road import after_failure, last_start, load_service, this_machine

EXITS = {"healthy": Exit.DONE, "failed": Exit.PROBLEM, "undecided": Exit.NOT_MENDABLE}


def watch(unit: str, *, json: bool, timeout: float | None, user: bool) -> int:
    """Follow the start that is under way, or the next one; of a unit that has failed, say why."""
    from remedy.change.types import Event
    from remedy.gate.expect import expectation
    from remedy.gate.watch import Watch
    from remedy.show.live import voice
    from remedy.unit.launch import launch

    machine = this_machine(user=user)
    service = load_service(unit, machine)
    started = launch(service, machine.view)
    took = last_start(service, started, machine)
    expect = expectation(service, started, machine.view, timeout=timeout, last_start=took)
    live = voice(json=json)

    def report(progress: Progress) -> None:
        live.event(Event("progress", progress.line, progress=progress))

    try:
        with Watch(service.name, expect, user=user, adopt=True) as watching:
            verdict = watching.run(report)
    finally:
        live.close()
    _tell(verdict, json)
    if verdict.state == "failed":
        _tell_why(service.name, verdict, json=json, user=user)
    return EXITS[verdict.state]


def _tell(verdict: Verdict, json: bool) -> None:
    from json import dumps

    from remedy.show.events import verdict_json, verdict_text
    from remedy.show.text import width, wrap

    shown = dumps(verdict_json(verdict)) if json else wrap(verdict_text(verdict), columns=width(), hanging=2)
    print(shown, flush=True)


def _tell_why(unit: str, verdict: Verdict, *, json: bool, user: bool) -> None:
    """The causes of a failure, of the lines that were seen and the machine as it is."""
    from json import dumps

    from remedy.show.diagnosis import causes_json, next_text, verdict_text
    from remedy.show.text import width

    diagnosis = after_failure(unit, verdict.log, user=user)
    if json:
        print(dumps({"event": "diagnosis", "causes": causes_json(diagnosis)}))
        return
    print(verdict_text(unit, diagnosis.root, width(sys.stdout)))
    print(next_text(unit, diagnosis, width(sys.stdout)))
