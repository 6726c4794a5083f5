"""``remedy rollback`` and ``recover``: the undoing of what was done to this machine."""

from __future__ import annotations

from remedy.change.transaction import need_root
from remedy.cli.fix import Talk, choose, confirm
from remedy.errors import Exit, Refused, UsageError


def rollback(transaction: str | None, *, yes: bool, json: bool) -> int:
    """Undo a kept change."""
    from remedy.repair import undo

    talk = Talk(json)
    try:
        need_root()
        confirm(f"Undo {transaction or 'the latest change'}, and restart its service?", yes=yes, json=json)
        with talk:
            outcome = undo(transaction, talk.event, lambda: talk.asking(lambda: choose(back=False)))
        return talk.result(outcome)
    except (UsageError, Refused) as error:
        talk.refused(error)
        raise


def recover(*, json: bool) -> int:
    """Finish or undo what a crash left; nothing to do where it left nothing."""
    from remedy.change.recover import recover as finish
    from remedy.change.types import Outcome
    from remedy.repair import hooks_for

    with Talk(json) as talk:
        outcomes = finish(talk.event, hooks_for=hooks_for)
    codes = [talk.result(outcome) for outcome in outcomes or (Outcome("nothing-to-do", Exit.DONE),)]
    return max(codes)
