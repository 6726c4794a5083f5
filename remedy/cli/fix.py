"""``remedy fix``: look, show the plan, ask, and hand the change to the transaction."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import TracebackType

from remedy.change.detached import Choice
from remedy.change.transaction import need_root
from remedy.change.types import Event, Outcome
from remedy.errors import Exit, Refused, RemedyError, UsageError
from remedy.plan.types import Plan
from remedy.proof import proven
from remedy.repair import Wishes, apply_plan, left_alone, plan_for
from remedy.road import Look, look, this_machine
from remedy.show.live import voice
from remedy.show.text import width


class Talk:
    """How a change speaks: JSON events on stdout, or text on stdout and progress on stderr. While it is entered,
    events can be shown."""

    def __init__(self, json: bool) -> None:
        self.json = json
        self._voice = voice(json=json)

    def __enter__(self) -> Talk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._voice.close()

    def event(self, event: Event) -> None:
        """Something happened on the way."""
        self._voice.event(event)

    def asking(self, ask: Callable[[], Choice]) -> Choice:
        """Ask something at the terminal, undisturbed by what goes on."""
        with self._voice.paused():
            return ask()

    def line(self, value: dict[str, object]) -> None:
        """One JSON object a line, at once."""
        from json import dumps

        print(dumps(value), flush=True)

    def plan(self, seen: Look, plan: Plan, proven: Sequence[str]) -> None:
        """What is wrong, and what would be done, once kernels of the ``proven`` libraries have been built."""
        from remedy.show.plan import plan_json, plan_text
        from remedy.show.secrets import redact

        if self.json:
            self.line({"event": "plan", **plan_json(plan, redact), "proof": list(proven)})
            return
        from remedy.show.diagnosis import diagnosis_text

        print(diagnosis_text(seen, width(), next_step=False))
        if plan.steps:
            print("\n" + plan_text(plan, redact, width(), proven))
        # Into one pipe with the progress on stderr, the plan comes before what is done about it.
        sys.stdout.flush()

    def result(self, outcome: Outcome) -> int:
        """The end: one value for the text, the JSON and the exit code."""
        from remedy.show.events import outcome_json, outcome_text

        try:
            if self.json:
                self.line(outcome_json(outcome))
            else:
                print(outcome_text(outcome, width()), flush=True)
        except OSError:
            # Nobody listens any more; the exit code tells all the same, and nothing is left to be written at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return outcome.exit

    def refused(self, error: RemedyError, cause: str | None = None) -> None:
        """The last line in JSON, where what is raised ends the command before anything was touched."""
        if self.json:
            self.result(Outcome("refused", error.exit_code, cause=cause, reason=error.words))


def fix(unit: str, wishes: Wishes, *, dry_run: bool, yes: bool, json: bool) -> int:
    """Carry one unit through the whole road."""
    talk, cause = Talk(json), None
    try:
        machine = this_machine(user=wishes.user)
        seen = look(unit, machine, gpu_arch=wishes.gpu_arch)
        plan = plan_for(seen, machine, wishes)
        cause = plan.cause
        talk.plan(seen, plan, proven(seen) if wishes.prove else ())
        if not plan.steps and plan.impossible is None:
            return talk.result(Outcome("nothing-to-do", Exit.DONE, cause=cause))
        waits = left_alone(plan, wishes)
        if waits and (yes or dry_run or not can_ask(json)):
            return talk.result(Outcome("nothing-to-do", Exit.DONE, cause=cause, reason=waits))
        if plan.steps and dry_run:
            return talk.result(Outcome("planned", Exit.PROBLEM, cause=cause))
        if not dry_run:
            # Before any advice as well: root may see what this user may not.
            need_root()
        if plan.impossible is not None:
            return talk.result(Outcome("refused", Exit.NOT_MENDABLE, cause=cause, reason=plan.impossible))
        confirm(
            f"{f'{plan.interrupts}. ' if waits else ''}Apply this plan and restart the service?", yes=yes, json=json
        )
        with talk:
            outcome = apply_plan(plan, wishes, talk.event, lambda: talk.asking(choose))
        return talk.result(outcome)
    except (UsageError, Refused) as error:
        talk.refused(error, cause)
        raise


def confirm(question: str, *, yes: bool, json: bool, ask: Callable[[str], str] = input) -> None:
    """Raise Refused unless the operator said yes, on the command line or at a terminal."""
    if yes:
        return
    if not can_ask(json):
        raise Refused("without a terminal nothing is asked, and nothing is changed", hint="--yes goes ahead unasked")
    sys.stderr.write(f"\n{question} [y/N] ")
    sys.stderr.flush()
    try:
        answer = ask("")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise Refused("not confirmed; nothing was touched")


def choose(*, back: bool = True, ask: Callable[[str], str] = input) -> Choice:
    """What a Ctrl-C in the middle of a change means: asked at a terminal, else the way back.

    Without ``back`` a change is being undone, and can only be left alone.
    """
    if not _terminal():
        return "back" if back else "watch"
    offers = "keep watching [w], roll back now [r]" if back else "keep watching [w]"
    sys.stderr.write(f"\nThe change runs in a unit of its own: {offers}, or leave it running [l]? [w] ")
    sys.stderr.flush()
    try:
        answer = ask("").strip().lower()
    except (EOFError, OSError):
        return "leave"
    if answer.startswith("l"):
        return "leave"
    return "back" if back and answer.startswith("r") else "watch"


def can_ask(json: bool) -> bool:
    """Whether a question would be seen and answered."""
    return not json and _terminal()


def _terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())
