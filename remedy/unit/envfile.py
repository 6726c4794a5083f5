"""The grammar of an EnvironmentFile=, which is not that of Environment=: systemd.exec(5), "EnvironmentFile=";
parse_env_file_internal() of systemd's src/basic/env-file.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remedy.pattern import pattern
from remedy.value import dataclass

_BLANKS = " \t\n\r"
_INNER_BLANKS = " \t"
_ENDS = "\n\r"
#: What a backslash escapes within double quotes; before anything else it stays.
_SHELL_ESCAPES = '"\\`$'
_KEY = pattern(r"[^=\n\r]*")
_PLAIN = pattern(r"[^\\\n\r]*")
_SINGLE = pattern(r"[^']*")
_DOUBLE = pattern(r'[^"\\]*')


@dataclass(frozen=True)
class Assignment:
    """One assignment of the file. ``start`` and ``end`` are offsets in its text, from the first character of the
    name to after the last of the value (quotes included, the line's end not); ``line`` is where it starts, from 1.
    """

    name: str
    value: str
    line: int
    start: int
    end: int


def parse(text: str, version: int) -> Iterator[Assignment]:
    """The assignments in order. Anything is taken somehow: names are not judged here."""
    return _Scanner(text, version).assignments()


class _Scanner:
    """The state of one reading: where we are, and the line that this is."""

    def __init__(self, text: str, version: int) -> None:
        self.text = text
        # From 254 on a backslash at the end of a comment no longer makes the next line a comment.
        self.comments_continue = version < 254
        self.position = 0
        self._counted = 0
        self._line = 1

    def assignments(self) -> Iterator[Assignment]:
        size = len(self.text)
        while True:
            self._skip(_BLANKS)
            if self.position >= size:
                return
            if self.text[self.position] in "#;":
                self._skip_comment()
                continue
            start = self.position
            # The first character belongs to the name, even where it is the "=".
            self.position += 1
            key = self.text[start] + self._run(_KEY)
            if self.position >= size or self.text[self.position] != "=":
                continue
            line = self._line_of(start)
            self.position += 1
            value = self._value()
            yield Assignment(key.rstrip(_BLANKS), value, line, start, self.position)

    def _value(self) -> str:
        """From after the ``=`` to the end of the value: quoted parts and blanks between them, then a plain part."""
        parts: list[str] = []
        while self.position < len(self.text):
            self._skip(_INNER_BLANKS)
            char = self.text[self.position : self.position + 1]
            if not char or char in _ENDS:
                break
            if char == "'":
                self.position += 1
                parts.append(self._run(_SINGLE))
                self.position = min(self.position + 1, len(self.text))
            elif char == '"':
                self.position += 1
                parts.append(self._double())
            else:
                parts.append(self._plain())
                break
        return "".join(parts)

    def _plain(self) -> str:
        """To the end of the line; a backslash takes the next character, and joins the next line."""
        text = self.text
        done = ""
        # Blanks before an escape are part of the value, those at its end are not.
        kept = 0
        while True:
            done += self._run(_PLAIN)
            if self.position >= len(text) or text[self.position] != "\\":
                return done[:kept] + done[kept:].rstrip(_BLANKS)
            char = text[self.position + 1 : self.position + 2]
            self.position = min(self.position + 2, len(text))
            if not char:
                return done
            if char not in _ENDS:
                done += char
            kept = len(done)

    def _double(self) -> str:
        text = self.text
        parts: list[str] = []
        while True:
            parts.append(self._run(_DOUBLE))
            if self.position >= len(text):
                return "".join(parts)
            if text[self.position] == '"':
                self.position += 1
                return "".join(parts)
            char = text[self.position + 1 : self.position + 2]
            self.position = min(self.position + 2, len(text))
            if char and char in _SHELL_ESCAPES:
                parts.append(char)
            elif char and char != "\n":
                parts.append("\\" + char)

    def _skip_comment(self) -> None:
        while True:
            self._run(_PLAIN)
            if self.text[self.position : self.position + 1] != "\\":
                return
            following = self.text[self.position + 1 : self.position + 2]
            self.position += 1 if following and following in _ENDS and not self.comments_continue else 2
            if self.position >= len(self.text):
                self.position = len(self.text)
                return

    def _skip(self, characters: str) -> None:
        while self.position < len(self.text) and self.text[self.position] in characters:
            self.position += 1

    def _run(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match.group()

    def _line_of(self, offset: int) -> int:
        self._line += self.text.count("\n", self._counted, offset)
        self._counted = offset
        return self._line
