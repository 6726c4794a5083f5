"""The page of ``remedy explain ID``: one cause in full."""

from __future__ import annotations

from remedy.causes import catalogue
from remedy.causes.entry import Cause
from remedy.hints import Final
from remedy.show.text import fill

_INDENT: Final = "  "
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
    parts += [f"{heading}\n{_wrapped(body, columns)}" for heading, body in sections if body]
    if text.sources:
        parts.append("Sources\n" + "\n".join(_wrapped(source, columns, "- ") for source in text.sources))
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """All causes with their titles, in causal order, one a line."""
    causes = catalogue.causes()
    width = max(len(cause.id) for cause in causes)
    return "".join(f"{cause.id:<{width}}  {cause.title}\n" for cause in causes)


def _kind(cause: Cause, columns: int) -> str:
    kind = "A fault of the CUDA toolchain." if cause.toolchain else "No fault of the CUDA toolchain."
    return _wrapped(f"{kind} {_HANDLED[cause.handling]}", columns, indent="")


def _wrapped(text: str, columns: int, bullet: str = "", indent: str = _INDENT) -> str:
    return fill(text, columns, indent + bullet, indent + " " * len(bullet))
