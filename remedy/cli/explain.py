"""``remedy explain``: all causes, one in full, or those in a log."""

from __future__ import annotations

import sys

from remedy.causes.types import PartialFacts
from remedy.cli.diagnose import exit_code
from remedy.errors import Exit, UsageError


def explain(cause: str | None, *, facts: str | None, json: bool) -> int:
    """Print the list of causes, a page on one, or what a log on standard input shows."""
    if cause != "-":
        if facts:
            raise UsageError("--facts goes with `remedy explain -`")
        return _from_catalogue(cause, json=json)
    from remedy.causes.engine import explain_blocks
    from remedy.facts.log_ends import ends_of
    from remedy.show.secrets import redact

    known = _known(facts)
    diagnosis = explain_blocks(ends_of(sys.stdin.buffer), known).rewritten(redact)
    if diagnosis.unread:
        print(f"remedy: {diagnosis.unread}", file=sys.stderr)
    if json:
        from json import dumps

        from remedy.show.diagnosis import explained_json

        print(dumps(explained_json(diagnosis, known)))
    else:
        from remedy.show.diagnosis import explained_text
        from remedy.show.text import width

        print(explained_text(diagnosis, width()))
    return exit_code(diagnosis)


def _from_catalogue(cause: str | None, *, json: bool) -> int:
    from remedy.show.explain import index, index_json, page, page_json
    from remedy.show.text import width

    if json:
        from json import dumps

        print(dumps(index_json() if cause is None else page_json(cause)))
    else:
        sys.stdout.write(index(width()) if cause is None else page(cause, width()))
    return Exit.DONE


def _known(path: str | None) -> PartialFacts:
    from remedy.causes.facts_file import load

    if path is None:
        return PartialFacts()
    try:
        with open(path, "rb") as file:
            return load(file.read(), path)
    except OSError as error:
        raise UsageError(f"--facts {path}: {error.strerror}") from None
