"""``remedy history``: what was done to this machine."""

from __future__ import annotations

from remedy.errors import Exit


def history(transaction: str | None, *, json: bool) -> int:
    """Print all transactions, a line each, or one in full."""
    from json import dumps

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
