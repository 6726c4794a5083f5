"""``remedy explain``: a cause in full, or the causes in a log."""

from __future__ import annotations

import sys

from remedy.causes.types import PartialFacts
from remedy.cli.diagnose import exit_code
from remedy.errors import Exit, UsageError


def explain(cause: str, *, facts: str | None, json: bool) -> int:
    """Print a page on a cause, or what a log on standard input shows."""
    if cause != "-":
        from remedy.show.explain import page
        from remedy.show.text import width

        if facts:
            raise UsageError("--facts goes with `remedy explain -`")
        sys.stdout.write(page(cause, width()))
        return Exit.DONE
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


def _known(path: str | None) -> PartialFacts:
    from remedy.causes.facts_file import load

    if path is None:
        return PartialFacts()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return load(file.read(), path)
    except OSError as error:
        raise UsageError(f"--facts {path}: {error.strerror}") from None
