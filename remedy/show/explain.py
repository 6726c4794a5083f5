"""The page of ``remedy explain ID``: one cause in full; and the list of all."""

from __future__ import annotations

import re

from remedy.causes import catalogue
from remedy.causes.engine import fill as fill_in
from remedy.causes.entry import Cause
from remedy.hints import Any, Final
from remedy.show.text import advice, beside, fill, rows

SCHEMA: Final = 1
_INDENT: Final = "  "
_PREVIEW: Final = "remedy fix UNIT --dry-run"
_HANDLED: Final = {
    "mend": "`remedy fix` mends it.",
    "advise": "remedy names it and gives the next step; it plans no change for it.",
    "none": "There is nothing to mend.",
}


def page(cause_id: str, columns: int = 80) -> str:
    """The page of one cause, ending in a newline. Raises UsageError for an id that is none."""
    cause = catalogue.by_id(cause_id)
    text = cause.page
    sections = (
        ("What it means", text.meaning),
        ("How it comes about", text.origin),
        ("How remedy recognises it", text.recognised),
        ("What mends it", text.mending),
        ("What not to do", text.avoid),
    )
    parts = [f"{cause.id}\n{_wrapped(cause.title, columns)}", _kind(cause, columns)]
    if cause.handling != "none":
        first = f"{beside(_PREVIEW, 'shows the mend, changes nothing', columns)}\n" if cause.handling == "mend" else ""
        parts.append(f"Next\n{first}{advice(_next(cause), columns)}")
    parts += [f"{heading}\n{_wrapped(body, columns)}" for heading, body in sections if body]
    if text.sources:
        parts.append("Sources\n" + "\n".join(_wrapped(source, columns, "- ") for source in text.sources))
    return "\n\n".join(parts) + "\n"


def page_json(cause_id: str) -> dict[str, Any]:
    """The page as an object. Raises as ``page``."""
    cause = catalogue.by_id(cause_id)
    text = cause.page
    return {
        "schema": SCHEMA,
        **_named(cause),
        "next": _next(cause),
        "meaning": text.meaning,
        "origin": text.origin,
        "recognised": text.recognised,
        "mending": text.mending,
        "avoid": text.avoid,
        "sources": list(text.sources),
    }


def index(columns: int = 80) -> str:
    """All causes with their titles, in causal order."""
    return rows([(cause.id, cause.title) for cause in catalogue.causes()], columns, 0) + "\n"


def index_json() -> dict[str, Any]:
    """All causes as an object, in causal order."""
    return {"schema": SCHEMA, "causes": [_named(cause) for cause in catalogue.causes()]}


def _named(cause: Cause) -> dict[str, Any]:
    return {
        "id": cause.id,
        "title": cause.title,
        "toolchain": cause.toolchain,
        "mendable": cause.handling == "mend",
    }


def _next(cause: Cause) -> str:
    """The one next step, the names that a diagnosis would fill in written as a man page writes them."""
    return fill_in(cause.advice, {word: word.upper() for word in re.findall(r"\{(\w+)\}", cause.advice)})


def _kind(cause: Cause, columns: int) -> str:
    kind = "A fault of the CUDA toolchain." if cause.toolchain else "No fault of the CUDA toolchain."
    return _wrapped(f"{kind} {_HANDLED[cause.handling]}", columns, indent="")


def _wrapped(text: str, columns: int, bullet: str = "", indent: str = _INDENT) -> str:
    return fill(text, columns, indent + bullet, indent + " " * len(bullet))
