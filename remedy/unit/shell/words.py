"""Shell words expanded as a shell would, from what is known; what is not known stays visible as UNKNOWN.

POSIX, Shell Command Language, 2.6 Word Expansions, and bash's arrays and ``${name/pattern/text}``. Pathname
expansion is left to the caller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

from remedy.hints import Protocol
from remedy.pattern import pattern
from remedy.unit.shell.tokens import closing
from remedy.value import dataclass, field

# Stands in a value for text that only running the script would tell; no shell word can hold a NUL of its own.
UNKNOWN = "\0"
# The kernel's limit for one argument (MAX_ARG_STRLEN); also what keeps a value that doubles itself in bounds.
VALUE_LIMIT = 128 * 1024
_PATTERN_LIMIT = 16 * 1024
_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = pattern(r"([#!]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:\[([^]]*)\])?")
_SLICE = pattern(r": ?(-?\d+)(?::(\d+))?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b",
            "\\": "\\", "'": "'", '"': '"', "?": "?"}  # fmt: skip


class Scope(Protocol):
    """What a word can refer to."""

    def items(self, name: str) -> tuple[str, ...] | None:
        """A variable or parameter's values: one for a plain variable, several for an array or ``@``."""
        ...

    def assign(self, name: str, value: str) -> None:
        """``${name:=value}`` took effect."""
        ...

    def substitute(self, command: str) -> str:
        """The output of ``$(command)``, or UNKNOWN."""
        ...

    def home(self, user: str) -> str | None:
        """What ``~user`` stands for; ``user`` is empty for one's own."""
        ...


@dataclass
class _Fields:
    split: bool
    done: list[str] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    open: bool = False

    def literal(self, text: str) -> None:
        self.current.append(text)
        self.open = True

    def close(self) -> None:
        if self.open:
            self.done.append("".join(self.current)[:VALUE_LIMIT])
        self.current.clear()
        self.open = False

    def expanded(self, items: Iterable[str], quoted: bool, several: bool) -> None:
        """The result of an expansion: ``several`` for ``$@``, whose items stay fields of their own."""
        if quoted or not self.split:
            values = list(items)
            if not several or not self.split:
                values = [" ".join(values)]
            if values:
                self.open = True
            for number, value in enumerate(values):
                if number:
                    self.close()
                self.literal(value)
            return
        for number, value in enumerate(items):
            if number:
                self.close()
            parts = re.split(r"[ \t\n]+", value)
            for index, part in enumerate(parts):
                if index:
                    self.close()
                if part:
                    self.literal(part)


def fields(word: str, scope: Scope) -> list[str]:
    """The fields that a word becomes as an argument: none, one or several."""
    found = _Fields(split=True)
    _scan(word, scope, found, quoted=False)
    found.close()
    return found.done


def text(word: str, scope: Scope, *, assignment: bool = False) -> str:
    """The word as one string, as in an assignment, a ``case`` word or ``[[``."""
    found = _Fields(split=False)
    _scan(word, scope, found, quoted=False, assignment=assignment)
    found.close()
    return found.done[0] if found.done else ""


def _scan(word: str, scope: Scope, found: _Fields, *, quoted: bool, assignment: bool = False) -> None:
    i = 0
    while i < len(word):
        c = word[i]
        if c == "~" and not quoted and (i == 0 or (assignment and word[i - 1] in ":=")):
            i = _tilde(word, i, scope, found)
        elif c in "\\'\"`$" and not (quoted and c == "'"):
            i = _special(word, i, scope, found, quoted)
        elif word.startswith(("<(", ">("), i) and not quoted:
            found.literal(UNKNOWN)
            i = closing(word, i)
        else:
            match = re.compile(r"[^\\'\"`$~<>:]+").match(word, i)
            end = match.end() if match else i + 1
            found.literal(word[i:end])
            i = end


def _tilde(word: str, i: int, scope: Scope, found: _Fields) -> int:
    match = re.compile(r"~([A-Za-z0-9_.-]*)(?=[/:]|$)").match(word, i)
    home = scope.home(match[1]) if match else None
    if match is None or home is None:
        found.literal("~")
        return i + 1
    found.literal(home)
    return match.end()


def _special(word: str, i: int, scope: Scope, found: _Fields, quoted: bool) -> int:
    c = word[i]
    if c == "\\":
        following = word[i + 1 : i + 2]
        if following == "\n":
            return i + 2
        found.literal("\\" + following if quoted and following not in ("$", "`", '"', "\\") else following)
        return i + 2
    if c == "$" and (match := _NAME.match(word, i + 1)):
        found.expanded(scope.items(match[0]) or (), quoted, several=False)
        return match.end()
    if c == "$" and word[i + 1 : i + 2] and word[i + 1] in "@*#?$!-0123456789":
        name = word[i + 1]
        found.expanded(scope.items(name) or (), quoted, several=name == "@")
        return i + 2
    if c == "$" and quoted and word[i + 1 : i + 2] in ("'", '"', ""):
        found.literal(c)
        return i + 1
    end = closing(word, i)
    inner = word[i:end]
    if c == "'":
        found.literal(inner[1:-1])
    elif c == '"' or inner.startswith('$"'):
        body = inner[1:-1] if c == '"' else inner[2:-1]
        if not re.fullmatch(r"\$@|\$\{[A-Za-z_@][A-Za-z0-9_]*(\[@\])?(:[^}]*)?\}", body):
            found.literal("")
        _scan(body, scope, found, quoted=True)
    elif inner.startswith("$'"):
        found.literal(_ansi_c(inner[2:-1]))
    elif inner.startswith("$(("):
        found.literal(UNKNOWN)
    elif inner.startswith("$("):
        found.expanded((scope.substitute(inner[2:-1]),), quoted, several=False)
    elif c == "`":
        found.expanded((scope.substitute(re.sub(r"\\([$`\\])", r"\1", inner[1:-1])),), quoted, several=False)
    elif inner.startswith("${"):
        _braced(inner[2:-1], scope, found, quoted)
    else:
        found.literal(inner)
    return end


def _ansi_c(body: str) -> str:
    """``$'…'``: bash(1), QUOTING. What is no escape keeps its backslash."""

    def plain(match: re.Match[str]) -> str:
        number = match[1] or match[2]
        if number or match[3]:
            code = int(number, 16) if number else int(match[3], 8) & 0xFF
            return chr(code) if code < 0x80 else chr(code) if match[2] else chr(0xDC00 + code)
        return _ESCAPES.get(match[4], match[0])

    pattern = r"\\(?:x([0-9a-fA-F]{1,2})|[uU]([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))"
    return re.sub(pattern, plain, body, flags=re.DOTALL)


def _braced(inner: str, scope: Scope, found: _Fields, quoted: bool) -> None:
    match = _BRACED.match(inner)
    if match is None or match[1] == "!":
        found.literal(UNKNOWN)
        return
    prefix, name, index = match.groups()
    rest = inner[match.end() :]
    items = _indexed(scope.items(name), index)
    several = name == "@" or index == "@"
    if prefix == "#":
        value = (
            UNKNOWN if items and UNKNOWN in items[0] else str(len(items or ()) if index else len((items or ("",))[0]))
        )
        found.literal(value)
        return
    if match_default := re.match(r":?[-=+?]", rest):
        operator, word = match_default[0], rest[match_default.end() :]
        unset = items is None or (operator[0] == ":" and not any(items))
        if operator[-1] == "+":
            if not unset:
                _scan(word, scope, found, quoted=quoted)
        elif not unset:
            found.expanded(items or (), quoted, several)
        elif operator[-1] == "?":
            found.literal(UNKNOWN)
        else:
            if operator[-1] == "=":
                scope.assign(name, text(word, scope))
            _scan(word, scope, found, quoted=quoted)
        return
    if several and (cut := _SLICE.fullmatch(rest)):
        # ${@:1} counts from $1, ${array[@]:1} from the second item.
        start = int(cut[1]) - (name == "@" and int(cut[1]) > 0)
        sliced = (items or ())[start:] if cut[2] is None else (items or ())[start : start + int(cut[2])]
        found.expanded(sliced, quoted, several)
        return
    found.expanded([_modified(item, rest, scope) for item in items or ()], quoted, several)


def _indexed(items: tuple[str, ...] | None, index: str | None) -> tuple[str, ...] | None:
    if items is None or index in ("@", "*"):
        return items
    if index is None:
        return items if len(items) < 2 else items[:1]
    if not re.fullmatch(r"-?\d+", index):
        return (UNKNOWN,)
    number = int(index)
    return (items[number],) if -len(items) <= number < len(items) else ()


def _modified(value: str, rest: str, scope: Scope) -> str:
    if not rest:
        return value
    if UNKNOWN in value or len(value) > _PATTERN_LIMIT:
        return UNKNOWN
    if match := _SLICE.fullmatch(rest):
        tail = value[int(match[1]) :]
        return tail if match[2] is None else tail[: int(match[2])]
    if match := re.match(r"##?|%%?", rest):
        return _trimmed(value, match[0], text(rest[match.end() :], scope))
    if rest in ("^^", ",,"):
        return value.upper() if rest == "^^" else value.lower()
    if match := re.match(r"//?", rest):
        pattern, replacement = _at_slash(rest[match.end() :])
        regex = re.compile(translate(text(pattern, scope)).removesuffix(r"\Z").removesuffix(r"\z"))
        new = text(replacement, scope)
        return regex.sub(lambda _: new, value, count=0 if match[0] == "//" else 1)
    return UNKNOWN


def _at_slash(rest: str) -> tuple[str, str]:
    """``pattern/replacement`` at the first slash that is neither quoted nor part of an expansion."""
    i = 0
    while i < len(rest):
        if rest[i] == "/":
            return rest[:i], rest[i + 1 :]
        i = closing(rest, i) if rest[i] in "\\'\"`$" else i + 1
    return rest, ""


def _trimmed(value: str, operator: str, pattern: str) -> str:
    """``#``, ``##``, ``%`` and ``%%``: the shortest or longest match taken off the front or the back."""
    if operator[0] == "#":
        cuts = range(len(value) + 1) if operator == "#" else range(len(value), -1, -1)
        for cut in cuts:
            if fnmatchcase(value[:cut], pattern):
                return value[cut:]
        return value
    cuts = range(len(value), -1, -1) if operator == "%" else range(len(value) + 1)
    for cut in cuts:
        if fnmatchcase(value[cut:], pattern):
            return value[:cut]
    return value
