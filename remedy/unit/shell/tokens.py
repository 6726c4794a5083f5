"""Shell text as words and operators; where quotes and expansions close."""

from __future__ import annotations

import re

from remedy.pattern import pattern
from remedy.value import dataclass, field

OPERATORS = (";;&", ";;", ";&", "&&", "||", "|&", "&>>", "&>", "<<-", "<<<", "<<", ">>", ">&", "<&", "<>", ">|", "((",
             ";", "&", "|", "<", ">", "(", ")")  # fmt: skip
REDIRECTIONS = frozenset({"&>>", "&>", "<<-", "<<<", "<<", ">>", ">&", "<&", "<>", ">|", "<", ">"})
ASSIGNMENT = pattern(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?(\+?=)")
NESTING_LIMIT = 60


class ShellSyntaxError(Exception):
    """Text that this reader does not understand; ``line`` counts from 1 in the text."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line
        self.why = why


@dataclass(frozen=True)
class Token:
    """A raw word (quotes and all), an operator, or a newline."""

    text: str
    line: int
    operator: bool = False
    glued: bool = False


def tokens_of(text: str) -> tuple[list[Token], ShellSyntaxError | None]:
    """Words, operators and newlines, comments and here-documents left out.

    Where a quote never closes: the tokens of the lines before it, and the error.
    """
    lexer = _Lexer(text)
    try:
        return lexer.tokens(), None
    except ShellSyntaxError as error:
        found = lexer.found
        while found and found[-1].text != "\n":
            found.pop()
        return found, error


def closing(text: str, start: int) -> int:
    """The offset just after the construct that opens at ``start``: quotes, ``$(…)``, ``${…}``, backquotes.

    Raises ShellSyntaxError (with line 0) where it never closes.
    """
    return _close(text, start, 0)


def _close(text: str, start: int, depth: int) -> int:
    if depth > NESTING_LIMIT:
        raise ShellSyntaxError(0, "nested too deeply")
    opener = text[start]
    if opener == "\\":
        return min(start + 2, len(text))
    if opener == "'":
        return _after(text, "'", start + 1)
    if opener == '"':
        return _until(text, start + 1, '"', depth, in_double=True)
    if opener == "`":
        return _until(text, start + 1, "`", depth, in_double=True)
    if text.startswith("$((", start) or text.startswith("((", start):
        end = text.find("))", start)
        if end >= 0:
            return end + 2
        raise ShellSyntaxError(0, "(( is never closed")
    if text.startswith(("$(", "<(", ">("), start):
        return _until(text, start + 2, ")", depth)
    if text.startswith("${", start):
        return _until(text, start + 2, "}", depth, in_double=True)
    if text.startswith("$'", start):
        return _until(text, start + 2, "'", depth, in_double=True, plain=True)
    if text.startswith('$"', start):
        return _until(text, start + 2, '"', depth, in_double=True)
    return start + 1


def _after(text: str, mark: str, start: int) -> int:
    end = text.find(mark, start)
    if end < 0:
        raise ShellSyntaxError(0, f"{mark} is never closed")
    return end + 1


def _until(text: str, start: int, mark: str, depth: int, *, in_double: bool = False, plain: bool = False) -> int:
    i = start
    while i < len(text):
        c = text[i]
        if c == mark:
            return i + 1
        if c == "\\":
            i += 2
        elif plain or (c == "$" and in_double and text[i + 1 : i + 2] in ("'", '"')):
            i += 1
        elif c == "(" and not in_double:
            i = _until(text, i + 1, ")", depth + 1)
        elif c in '"`$' or (c == "'" and not in_double):
            i = _close(text, i, depth + 1)
        else:
            i += 1
    raise ShellSyntaxError(0, f"{mark} is missing")


@dataclass
class _Lexer:
    text: str
    i: int = 0
    line: int = 1
    heredocs: list[tuple[str, bool]] = field(default_factory=list)
    found: list[Token] = field(default_factory=list)

    def tokens(self) -> list[Token]:
        text = self.text
        while self.i < len(text):
            c = text[self.i]
            if c in " \t\r":
                self.i += 1
            elif text.startswith("\\\n", self.i):
                self.i += 2
                self.line += 1
            elif c == "#":
                end = text.find("\n", self.i)
                self.i = len(text) if end < 0 else end
            elif c == "\n":
                self._newline()
            else:
                self._word_or_operator()
        return self.found

    def _newline(self) -> None:
        self.found.append(Token("\n", self.line, operator=True))
        self.i += 1
        self.line += 1
        for mark, strip in self.heredocs:
            while self.i < len(self.text):
                end = self.text.find("\n", self.i)
                end = len(self.text) if end < 0 else end
                row = self.text[self.i : end]
                self.i = min(end + 1, len(self.text))
                self.line += 1
                if (row.lstrip("\t") if strip else row) == mark:
                    break
        self.heredocs.clear()

    def _word_or_operator(self) -> None:
        text = self.text
        if not text.startswith(("<(", ">("), self.i):
            for operator in OPERATORS:
                if text.startswith(operator, self.i):
                    self.found.append(Token(operator, self.line, operator=True))
                    self.i += len(operator)
                    return
        start, line = self.i, self.line
        while self.i < len(text):
            c = text[self.i]
            if text.startswith(("<(", ">("), self.i) and self.i == start:
                self._advance()
            elif c in " \t\r\n;&|<>()":
                if c == "(" and ASSIGNMENT.fullmatch(text, start, self.i):
                    break
                if not (c == "(" and text[self.i - 1] in "?*+@!" and self.i > start):
                    break
                self.i = _until(text, self.i + 1, ")", 0)
            elif c in "\\'\"`$":
                self._advance()
            else:
                self.i += 1
        word = text[start : self.i]
        glued = self.i < len(text) and text[self.i] in "(<>"
        self.found.append(Token(word, line, glued=glued))
        if len(self.found) > 1 and self.found[-2].operator and self.found[-2].text in ("<<", "<<-"):
            self.heredocs.append((re.sub(r"[\\'\"]", "", word), self.found[-2].text == "<<-"))

    def _advance(self) -> None:
        try:
            end = closing(self.text, self.i)
        except ShellSyntaxError as error:
            raise ShellSyntaxError(self.line, error.why) from None
        self.line += self.text.count("\n", self.i, end)
        self.i = end
