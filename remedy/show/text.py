"""Words, widths and sizes: what every text on the terminal is made with."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from remedy.hints import TextIO
from remedy.pattern import pattern

# Everything that could move a cursor, set a colour or a title: C0 (but tab), DEL, C1 and the bidirectional marks.
_CONTROL = pattern("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ESCAPE = pattern("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])")

# Marks that begin no line, and those that end none, as JIS X 4051 has it.
_CLOSING = ",.:;!?)]}、。，．：；！？）］｝」』】〉》〕ー々"
_OPENING = "([{（［｛「『【〈《〔"

# What textwrap takes for white space.
_BLANKS = {ord(blank): " " for blank in "\t\n\x0b\x0c\r"}


def plain(text: str) -> str:
    """Text of foreign origin without anything a terminal would obey: escape sequences gone, the rest as \\xNN."""
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", _ESCAPE.sub("", text))


def width(stream: TextIO | None = None) -> int:
    """Columns to write in: $COLUMNS, else the terminal's, else 80; at most 100 so that lines stay readable."""
    stream = stream or sys.stdout
    # As shutil.get_terminal_size does it; that module imports every compression that there is.
    wished = os.environ.get("COLUMNS", "")
    columns = int(wished) if wished.isdecimal() else 0
    if not columns and stream.isatty():
        columns = os.get_terminal_size(stream.fileno()).columns
    return max(40, min(100, columns or 80))


def colours(stream: TextIO = sys.stdout) -> bool:
    """Whether colour is welcome: NO_COLOR, TERM=dumb and pipes say no, FORCE_COLOR (force-color.org) says yes."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def moves(stream: TextIO) -> bool:
    """Whether lines can be rewritten in their place: a terminal, and none that calls itself dumb."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def bold(text: str, stream: TextIO = sys.stdout) -> str:
    """Text that stands out where colour is welcome."""
    return f"\x1b[1m{text}\x1b[0m" if colours(stream) else text


def cells(text: str) -> int:
    """Columns that a text takes in a terminal: two for a wide character (UAX #11), none for one that only changes the
    one before it."""
    if text.isascii():
        return len(text)
    # A library of its own, which plain text can do without.
    from unicodedata import category, east_asian_width

    return sum(
        2 if east_asian_width(one) in "WF" else 0 if category(one) in ("Mn", "Me", "Cf") and one != "\xad" else 1
        for one in text
    )


def shorten(text: str, columns: int) -> str:
    """The text cut to so many columns, with an ellipsis where something is missing."""
    if cells(text) <= columns:
        return text
    kept, left = [], columns - 1
    for one in text:
        left -= cells(one)
        if left < 0:
            break
        kept.append(one)
    return "".join(kept) + ("…" if columns > 0 else "")


def padded(text: str, columns: int) -> str:
    """The text with blanks behind it up to so many columns."""
    return text + " " * (columns - cells(text))


def fill(text: str, columns: int, first: str = "", rest: str = "") -> str:
    """A paragraph in lines of at most ``columns``, the first one behind ``first``, the others behind ``rest``.

    As textwrap.fill where neither long words nor hyphens are broken; that module compiles five patterns to get there,
    and counts characters. Writing without blanks between its words (Chinese, Japanese) is broken where a line ends.
    """
    room = columns - max(cells(first), cells(rest))
    pieces = [piece for word in _words(text) for piece in ([word] if cells(word) <= room else _parts(word))]
    pieces.reverse()
    lines: list[str] = []
    while pieces:
        indent = rest if lines else first
        if lines and not pieces[-1].strip():
            pieces.pop()
        line: list[str] = []
        room = columns - cells(indent)
        while pieces and ((taken := cells(pieces[-1])) <= room or (not line and taken > columns - cells(indent))):
            room -= taken
            line.append(pieces.pop())
        if line and not line[-1].strip():
            line.pop()
        if line:
            lines.append(indent + "".join(line))
    return "\n".join(lines)


def _words(text: str) -> list[str]:
    """Words and the blanks between them."""
    return [piece for piece in re.split("( +)", text.expandtabs().translate(_BLANKS)) if piece]


def _parts(word: str) -> list[str]:
    """A word where it may be broken: before and behind a wide character (UAX #14), but for brackets and marks. A path
    stays whole, so that it can be copied."""
    if word.isascii() or "/" in word:
        return [word]
    parts = [""]
    for one in word:
        last = parts[-1][-1:]
        if last and 2 in (cells(one), cells(last)) and one not in _CLOSING and last not in _OPENING:
            parts.append("")
        parts[-1] += one
    return parts


def wrap(text: str, indent: int = 0, columns: int = 80, hanging: int | None = None) -> str:
    """A paragraph in ``columns`` columns; long words (paths) are never cut."""
    return fill(text, columns, " " * indent, " " * (indent if hanging is None else hanging))


def advice(text: str, columns: int = 80, indent: int = 2) -> str:
    """A paragraph as ``wrap``, in which a command between backticks stays in one line where one holds it: it is there
    to be copied."""

    def whole(found: re.Match[str]) -> str:
        return found[0].replace(" ", "\xa0") if cells(found[0]) <= columns - indent else found[0]

    return wrap(re.sub("`[^`]+`", whole, text), indent, columns).replace("\xa0", " ")


def beside(first: str, second: str, columns: int) -> str:
    """Two texts in a line, or the second below the first where they don't fit: a command is copied in one piece."""
    line = f"  {first}    {second}"
    return line if len(line) <= columns else f"  {first}\n    {second}"


def rows(pairs: Sequence[tuple[str, str]], columns: int = 80, indent: int = 2) -> str:
    """Label and text in two columns, the text wrapped below itself."""
    label_width = max((cells(label) for label, _ in pairs), default=0) + 2
    rest = " " * (indent + label_width)
    return "\n".join(fill(text, columns, " " * indent + padded(label, label_width), rest) for label, text in pairs)


def size(count: int) -> str:
    """Bytes for people: 873 B, 12.4 MB (powers of ten, as apt counts)."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{count} B"


def duration(seconds: float) -> str:
    """Seconds for people: 0.4 s, 42 s, 10 min 30 s, 5 h 12 min, 3 d 4 h."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    parts = (
        ("min", 60, "s", 1) if whole < 7200 else ("h", 3600, "min", 60) if whole < 172800 else ("d", 86400, "h", 3600)
    )
    large, length, small, unit = parts
    count, rest = divmod(whole, length)
    return f"{count} {large} {rest // unit} {small}" if rest // unit else f"{count} {large}"


def dotted(version: tuple[int, ...] | None) -> str:
    """A version tuple as people write it."""
    return ".".join(map(str, version)) if version else "unknown"
