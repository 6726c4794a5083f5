"""A file edit as people review one: a unified diff, secrets hidden."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from remedy.unit.types import FileEdit

_CONTEXT = 3
_NO_END = "\\ No newline at end of file"


def unified(edit: FileEdit, redact: Callable[[str], str]) -> str:
    """The diff of an edit, ending in a newline; empty where nothing changes.

    Secrets are hidden by ``redact`` line by line, after comparing, so that a changed secret is still a change.
    """
    before, after = _lines(edit.before or b""), _lines(edit.after)
    old_name = "/dev/null" if edit.before is None else f"a{edit.path}"
    shown: list[str] = []
    for line in difflib.unified_diff(before, after, old_name, f"b{edit.path}", n=_CONTEXT, lineterm=""):
        if len(shown) < 2 or line.startswith("@@ "):
            shown.append(line)
            continue
        body, _, ending = line[1:].partition("\0")
        shown.append(line[0] + redact(body))
        if not ending:
            shown.append(_NO_END)
    return "".join(line + "\n" for line in shown)


def _lines(data: bytes) -> list[str]:
    """Physical lines, each with a mark for a line end (NUL) that a line of text can't hold itself.

    A carriage return before the newline stays visible, because a change of line ends is a change.
    """
    text = data.decode("utf-8", "backslashreplace").replace("\0", "\\x00").replace("\r", "\\r")
    lines = [line + "\0\n" for line in text.split("\n")]
    last = lines.pop()
    return [*lines, last.removesuffix("\0\n")] if last != "\0\n" else lines
