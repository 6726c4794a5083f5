"""The page of ``remedy explain ID``: one cause in full, set for 80 columns."""

from __future__ import annotations

from remedy.causes import catalogue
from remedy.causes.entry import Cause
from remedy.hints import Final
from remedy.show.text import fill

WIDTH: Final = 80
_INDENT: Final = "  "
_HANDLED: Final = {
    "mend": "`remedy fix` mends it.",
    "advise": "remedy names it and gives the next step; it plans no change for it.",
    "none": "There is nothing to mend.",
}


def page(cause_id: str) -> str:
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
    parts = [f"{cause.id}\n{_INDENT}{cause.title}", _kind(cause)]
    parts += [f"{heading}\n{_wrapped(body)}" for heading, body in sections if body]
    if text.sources:
        parts.append("Sources\n" + "\n".join(_wrapped(source, "- ") for source in text.sources))
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """All causes with their titles, in causal order, one a line."""
    causes = catalogue.causes()
    width = max(len(cause.id) for cause in causes)
    return "".join(f"{cause.id:<{width}}  {cause.title}\n" for cause in causes)


def _kind(cause: Cause) -> str:
    kind = "A fault of the CUDA toolchain." if cause.toolchain else "No fault of the CUDA toolchain."
    return _wrapped(f"{kind} {_HANDLED[cause.handling]}", indent="")


def _wrapped(text: str, bullet: str = "", indent: str = _INDENT) -> str:
    return fill(text, WIDTH, indent + bullet, indent + " " * len(bullet))
