"""Changes to a unit file's text: only the lines that are meant, in the style that they have.

Each function takes the file's text as a Document and gives the new text; None where it finds nothing to change.
"""

from __future__ import annotations

import re

from remedy.unit.document import BLANKS, Document, Entry, Line, is_comment, join
from remedy.unit.edit_quoting import Style, assignment_word, word_style
from remedy.unit.words import BadSyntax, next_word
from remedy.value import dataclass


@dataclass(frozen=True)
class Spot:
    """A word of a setting: its raw text is ``entry.text[start:end]``."""

    entry: Entry
    word: str
    start: int
    end: int

    @property
    def raw(self) -> str:
        return self.entry.text[self.start : self.end]


def spots(entry: Entry) -> list[Spot]:
    """The words of an assignment's value, up to the first that is broken."""
    found: list[Spot] = []
    value, position = entry.value, 0
    try:
        while True:
            word, start, following = next_word(value, position, escapes=True)
            if word is None:
                return found
            end = start + len(value[start:following].rstrip(BLANKS))
            found.append(Spot(entry, word, entry.value_start + start, entry.value_start + end))
            position = following
    except BadSyntax:
        return found


def settings(document: Document, section: str, name: str) -> list[Entry]:
    """The lines of one setting, those that reset it too."""
    return [e for e in document.entries if e.kind == "assignment" and e.section == section and e.name == name]


def assignment_at(document: Document, setting: str, name: str, line: int) -> Spot | None:
    """The last assignment of a variable that begins on a physical line."""
    found: Spot | None = None
    for entry in settings(document, "Service", setting):
        if entry.first <= line <= entry.last:
            for spot in spots(entry):
                if spot.word.partition("=")[0] == name and entry.locate(spot.start)[0] == line:
                    found = spot
    return found


def with_value(document: Document, spot: Spot, name: str, value: str, *, command: bool = False) -> bytes:
    """The file with another value for a variable, quoted as before where that is possible."""
    style, quote = word_style(spot.raw)
    text = assignment_word(name, value, style, quote, command=command)
    return _replaced(document, spot.entry, spot.start, spot.end, text)


def with_inner_value(document: Document, line: int, name: str, value: str, inherited: str | None) -> bytes | None:
    """The file with another value for a variable that is set in the string of a ``bash -c``; None where that is not
    plain: the assignment stands there once, and old and new value hold only characters that mean themselves both to
    systemd and to a shell in either kind of quotes.

    ``inherited`` is the value from before the command; a reference to it (``…:$PATH``) stays where the new value
    ends in it.
    """
    plain = r"[A-Za-z0-9_@+=:,./-]+"
    reference = rf":\$\$?(?:{name}|\{{{name}\}})"
    pattern = re.compile(rf"(?<![\w$]){name}=[\"']?(?P<value>{plain}?(?P<tail>{reference})?)(?=[\s;&\"']|$)")
    commands = [e for e in settings(document, "Service", "ExecStart") if e.first <= line <= e.last]
    found = [(entry, match) for entry in commands for match in pattern.finditer(entry.text, entry.value_start)]
    if len(found) != 1:
        return None
    (entry, match), tail = found[0], ""
    if match["tail"] and inherited and value.endswith(f":{inherited}"):
        value, tail = value[: -len(inherited) - 1], match["tail"]
    if not re.fullmatch(plain, value):
        return None
    return _replaced(document, entry, *match.span("value"), value + tail)


def without(document: Document, spot: Spot) -> bytes:
    """The file without one word of a list setting; the last word takes its line along."""
    words = spots(spot.entry)
    place = next(i for i, one in enumerate(words) if one.start == spot.start)
    if len(words) == 1:
        return _without_entry(document, spot.entry)
    if place + 1 < len(words):
        return _replaced(document, spot.entry, spot.start, words[place + 1].start, "")
    return _replaced(document, spot.entry, words[place - 1].end, spot.end, "")


def with_setting_value(document: Document, entry: Entry, value: str) -> bytes:
    """The file with another value for a setting; an empty one is given a value at its line's end."""
    return _replaced(document, entry, entry.value_start, entry.value_end, value)


def without_setting(document: Document, entry: Entry) -> bytes:
    """The file without the line of a setting."""
    return _without_entry(document, entry)


def environment_line(document: Document, name: str, value: str, setting: str = "Environment") -> bytes:
    """The file with one more Environment= line, after the last one of [Service], as that one is written."""
    kin = [e for e in settings(document, "Service", setting) if e.value]
    style: Style = "bare"
    quote = '"'
    if kin and (words := spots(kin[-1])):
        style, quote = word_style(words[-1].raw)
    return setting_line(document, "Service", setting, assignment_word(name, value, style, quote))


def setting_line(document: Document, section: str, name: str, value: str) -> bytes:
    """The file with one more line ``name=value``: after the last of its kind, else at the end of its section."""
    kin = settings(document, section, name)
    if kin:
        # Only an ordinary line can be followed by a new one: what is continued to the end of the file can't.
        lead = kin[-1].text[: kin[-1].value_start] if kin[-1].value else kin[-1].text.rstrip(BLANKS)
        return _inserted(document, kin[-1].last, [lead + value])
    inside = [e for e in document.entries if e.section == section and e.kind in ("section", "assignment")]
    if inside:
        indent = inside[-1].text[: len(inside[-1].text) - len(inside[-1].text.lstrip(" \t"))]
        return _inserted(document, inside[-1].last, [f"{indent if inside[-1].name else ''}{name}={value}"])
    gap = [""] if document.lines and document.lines[-1].text.strip(BLANKS) else []
    return _inserted(document, len(document.lines), [*gap, f"[{section}]", f"{name}={value}"])


def _inserted(document: Document, after: int, texts: list[str]) -> bytes:
    """New physical lines after line ``after``; a file that ends without a line end goes on doing so."""
    ends = [line.end for line in document.lines if line.end]
    end = document.lines[after - 1].end if after and document.lines[after - 1].end else (ends[0] if ends else "\n")
    lines = list(document.lines)
    new = [Line(text, end) for text in texts]
    if after and not lines[after - 1].end:
        lines[after - 1] = Line(lines[after - 1].text, end)
        new[-1] = Line(new[-1].text, "")
    return join((*lines[:after], *new, *lines[after:]))


def _replaced(document: Document, entry: Entry, start: int, end: int, text: str) -> bytes:
    """Another text for a span of a logical line. Comments between its physical lines move above them."""
    first, column = entry.locate(start)
    last, end_column = entry.locate(end - 1) if end > start else (first, column - 1)
    lines = list(document.lines)
    joined = lines[first - 1].text[:column] + text + lines[last - 1].text[end_column + 1 :]
    comments = [line for line in lines[first : last - 1] if is_comment(line.text)]
    lines[first - 1 : last] = [*comments, Line(joined, lines[last - 1].end)]
    return join(lines)


def _without_entry(document: Document, entry: Entry) -> bytes:
    gone = {line for _, line, _ in entry.pieces}
    return join(line for number, line in enumerate(document.lines, 1) if number not in gone)
