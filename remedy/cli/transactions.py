"""``remedy history``, ``rollback`` and ``recover``: what was done to this machine, and its undoing."""

from __future__ import annotations

from json import dumps

from remedy.change.transaction import need_root
from remedy.cli.fix import Talk, choose, confirm
from remedy.errors import Exit, Refused, UsageError


def history(transaction: str | None, *, json: bool) -> int:
    """Print all transactions, a line each, or one in full."""
    from remedy.change.history import history as every
    from remedy.change.history import record
    from remedy.facts.reports import reports
    from remedy.facts.run import Programs
    from remedy.show.history import history_text, record_json, record_text, report_json
    from remedy.show.secrets import redact
    from remedy.show.text import width

    if transaction is not None:
        one = record(transaction)
        print(dumps(record_json(one, redact)) if json else record_text(one, redact, width()))
        return Exit.DONE
    records, failures = every(), reports(Programs())
    if json:
        for one in records:
            print(dumps(record_json(one, redact)))
        for failure in failures:
            print(dumps(report_json(failure, redact)))
    else:
        print(history_text(records, width(), failures))
    return Exit.DONE


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
