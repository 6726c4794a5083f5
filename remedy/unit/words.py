"""Words, quotes and C escapes of unit files: systemd.syntax(7), "Quoting"; extract_first_word() and
cunescape_one() of systemd's src/basic/extract-word.c and escape.c (the same from 247 to 257).

Text is UTF-8 with bytes that are none kept as lone surrogates (``surrogateescape``).
"""

from __future__ import annotations

import re

from remedy.pattern import pattern

BLANKS = " \t\n\r"
_PLAIN = pattern(r"[^\\\"' \t\n\r]+")
_IN_QUOTES = {'"': pattern(r'[^\\"]+'), "'": pattern(r"[^\\']+")}
_GAP = pattern(r"[ \t\n\r]*")
_CODES = pattern(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})")
_LETTERS = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", '"': '"', "'": "'", "s": " ",
}  # fmt: skip
_NOT_UNICODE = pattern("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class BadSyntax(ValueError):
    """A quote that never ends, or an escape that is none."""


def next_word(text: str, position: int, *, escapes: bool, relaxed: bool = False) -> tuple[str | None, int, int]:
    """The word at or after ``position``: (word, where it starts, where the next may start); word None at the end.

    ``escapes`` undoes C escapes; without it a backslash takes the next character as it is. ``relaxed`` keeps an
    unknown escape as it stands. Raises BadSyntax.
    """
    size = len(text)
    start = position = _end(_GAP, text, position)
    if position >= size:
        return None, start, size
    parts: list[str] = []
    quote = ""
    while position < size:
        char = text[position]
        if char == "\\":
            piece, position = _backslash(text, position + 1, escapes, relaxed and not quote, relaxed)
            parts.append(piece)
        elif quote:
            if char == quote:
                quote = ""
                position += 1
            else:
                end = _end(_IN_QUOTES[quote], text, position)
                parts.append(text[position:end])
                position = end
        elif char in "\"'":
            quote = char
            position += 1
        elif char in BLANKS:
            return _joined(parts), start, _end(_GAP, text, position)
        else:
            end = _end(_PLAIN, text, position)
            parts.append(text[position:end])
            position = end
    if quote:
        raise BadSyntax(f"the quote {quote} that is opened never closes")
    return _joined(parts), start, size


def split(text: str, *, escapes: bool) -> list[tuple[str, int]]:
    """All words, each with the offset where it starts. Raises BadSyntax."""
    words: list[tuple[str, int]] = []
    position = 0
    while True:
        word, start, position = next_word(text, position, escapes=escapes)
        if word is None:
            return words
        words.append((word, start))


def split_colons(text: str) -> list[str]:
    """The parts of a colon list (ExecSearchPath=), empty ones kept; a backslash takes the next character as it is.

    Raises BadSyntax for a backslash at the end.
    """
    if "\\" not in text:
        return text.split(":")
    parts = [""]
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char == ":":
            parts.append("")
            continue
        if char == "\\":
            char, position = _backslash(text, position, escapes=False, keep_last=False, relaxed=False)
        parts[-1] += char
    return parts


def is_utf8(text: str) -> bool:
    """Whether systemd takes the text for valid UTF-8: no stray bytes, no noncharacters such as U+FFFE."""
    if text.isascii():
        return True
    if _NOT_UNICODE.search(text):
        return False
    return not any(ord(char) > 0xFFFF and ord(char) & 0xFFFE == 0xFFFE for char in text)


def _backslash(text: str, position: int, escapes: bool, keep_last: bool, relaxed: bool) -> tuple[str, int]:
    """What a backslash before ``position`` makes of what follows, and the position after it."""
    if position >= len(text):
        if keep_last:
            return "\\", position
        raise BadSyntax("a backslash at the end escapes nothing")
    if not escapes:
        return text[position], position + 1
    found = _unescape(text, position)
    if found is not None:
        return found
    if relaxed:
        return "\\" + text[position], position + 1
    raise BadSyntax(f"the escape \\{text[position]} does not exist")


def _unescape(text: str, position: int) -> tuple[str, int] | None:
    letter = _LETTERS.get(text[position])
    if letter is not None:
        return letter, position + 1
    match = _CODES.match(text, position)
    if match is None:
        return None
    byte, short, long, octal = match.groups()
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    if code == 0:
        return None
    if byte or octal:
        if code > 255:
            return None
        return chr(code) if code < 0x80 else chr(0xDC00 + code), match.end()
    if long and (code > 0x10FFFF or not is_utf8(chr(code))):
        return None
    # systemd encodes a \ud800 blindly; its three bytes are no UTF-8 then.
    char = chr(code)
    return char.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape"), match.end()


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _joined(parts: list[str]) -> str:
    """Escaped bytes that together are UTF-8 become characters."""
    word = "".join(parts)
    if word.isascii():
        return word
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
