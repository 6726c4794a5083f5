"""A unit file's bytes as logical lines that know their physical lines: parse, then write, is the identity.

The rules are systemd.syntax(7) and config_parse() of systemd's src/shared/conf-parser.c: a line ends with any of
LF, CR, NUL (each at most once in a row, NUL last); a line whose first visible character is ``#`` or ``;`` is a
comment, also inside a continuation; a backslash at the end joins the next line and stands for a blank.

Text is UTF-8 with bytes that are none kept as lone surrogates (``surrogateescape``), so nothing is ever lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from remedy.hints import Literal
from remedy.pattern import pattern
from remedy.value import dataclass

EntryKind = Literal["section", "bad-section", "assignment", "no-assignment", "blank"]

BLANKS = " \t\n\r"
BYTE_ORDER_MARK = "\ufeff"
_LINE_END = pattern(r"\r\n\0?|\n\r\0?|\n\0?|\r\0?|\0")


@dataclass(frozen=True)
class Line:
    """One physical line: its text and the bytes that end it (empty at the end of a file)."""

    text: str
    end: str


@dataclass(frozen=True)
class Entry:
    """One logical line, comments inside it left out.

    ``text`` is what systemd's line parser sees, not yet stripped; ``first`` and ``last`` are physical lines,
    from 1. ``section`` is the section in force (for a header: the one it opens). An assignment's value is
    ``text[value_start:value_end]``. ``pieces`` are the parts that ``text`` was joined from:
    (offset in ``text``, physical line, column in that line).
    """

    kind: EntryKind
    text: str
    first: int
    last: int
    section: str | None
    pieces: tuple[tuple[int, int, int], ...]
    name: str = ""
    value_start: int = 0
    value_end: int = 0

    @property
    def value(self) -> str:
        """The assignment's value, blanks around it removed."""
        return self.text[self.value_start : self.value_end]

    def locate(self, offset: int) -> tuple[int, int]:
        """The physical line (from 1) and column (from 0, in characters) of an offset in ``text``."""
        if len(self.pieces) == 1:
            start, line, column = self.pieces[0]
        else:
            start, line, column = self.pieces[bisect_right(self.pieces, offset, key=lambda piece: piece[0]) - 1]
        return line, column + offset - start


@dataclass(frozen=True)
class Document:
    """A file as physical lines, and the logical ones in order; comments belong to none."""

    lines: tuple[Line, ...]
    entries: tuple[Entry, ...]

    def encode(self) -> bytes:
        """The file's bytes."""
        return join(self.lines)


def parse(data: bytes) -> Document:
    """Take a file apart. Never fails: what systemd would refuse is for the reader to judge."""
    lines = split_lines(data.decode("utf-8", "surrogateescape"))
    return Document(lines, tuple(_entries(lines)))


def join(lines: Iterable[Line]) -> bytes:
    """The bytes of physical lines."""
    return "".join([line.text + line.end for line in lines]).encode("utf-8", "surrogateescape")


def split_lines(text: str) -> tuple[Line, ...]:
    """Physical lines as systemd's read_line() counts them."""
    lines: list[Line] = []
    if "\r" not in text and "\0" not in text:
        parts = text.split("\n")
        tail = parts.pop()
        lines = [Line(part, "\n") for part in parts]
        if tail:
            lines.append(Line(tail, ""))
        return tuple(lines)
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append(Line(text[start : match.start()], match.group()))
        start = match.end()
    if start < len(text):
        lines.append(Line(text[start:], ""))
    return tuple(lines)


def is_comment(text: str) -> bool:
    """Whether a physical line is a comment; blank lines are none."""
    return text.lstrip(BLANKS)[:1] in ("#", ";")


def ends_in_backslash(text: str) -> bool:
    """Whether the last backslash is itself unescaped, so that the next line belongs to this one."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _entries(lines: tuple[Line, ...]) -> list[Entry]:
    entries: list[Entry] = []
    section: str | None = None
    mark_seen = False
    parts: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    length = 0
    for number, line in enumerate(lines, 1):
        text = line.text
        if is_comment(text):
            continue
        column = 0
        if not mark_seen and text.startswith(BYTE_ORDER_MARK):
            mark_seen = True
            text = text[1:]
            column = 1
        continued = ends_in_backslash(text)
        if continued:
            text = text[:-1] + " "
        pieces.append((length, number, column))
        parts.append(text)
        length += len(text)
        if continued and number < len(lines):
            continue
        entry = _entry("".join(parts), tuple(pieces), section)
        entries.append(entry)
        section = entry.section
        parts, pieces, length = [], [], 0
    if parts:
        entries.append(_entry("".join(parts), tuple(pieces), section))
    return entries


def _entry(text: str, pieces: tuple[tuple[int, int, int], ...], section: str | None) -> Entry:
    first, last = pieces[0][1], pieces[-1][1]
    stripped = text.strip(BLANKS)
    if not stripped:
        return Entry("blank", text, first, last, section, pieces)
    if stripped[0] == "[":
        if stripped[-1] != "]":
            return Entry("bad-section", text, first, last, section, pieces)
        return Entry("section", text, first, last, stripped[1:-1], pieces)
    sign = text.find("=")
    name = text[:sign].strip(BLANKS) if sign > 0 else ""
    if not name:
        return Entry("no-assignment", text, first, last, section, pieces)
    tail = text[sign + 1 :]
    start = sign + 1 + len(tail) - len(tail.lstrip(BLANKS))
    end = max(start, len(text.rstrip(BLANKS)))
    return Entry("assignment", text, first, last, section, pieces, name, min(start, end), end)
