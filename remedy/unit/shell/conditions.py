"""``test``, ``[`` and ``[[``: true, false, or None where only running the script would tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from remedy.unit.shell.words import UNKNOWN
from remedy.view import View

# Where the file system of a service at its start and of a reader now have no reason to agree.
VOLATILE = ("/proc/", "/run/", "/tmp/", "/var/run/", "/var/tmp/", "/dev/shm/")
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}


def evaluate(words: Sequence[str], view: View, absolute: Callable[[str], str], *, patterns: bool) -> bool | None:
    """The truth of a condition whose words are already expanded; ``patterns`` for ``[[``, where ``==`` matches."""
    return _Condition(list(words), view, absolute, patterns).whole()


class _Condition:
    def __init__(self, words: list[str], view: View, absolute: Callable[[str], str], patterns: bool) -> None:
        self.words = words
        self.view = view
        self.absolute = absolute
        self.patterns = patterns

    def whole(self) -> bool | None:
        if not self.words:
            return False
        result = self.either()
        return None if self.words else result

    def either(self) -> bool | None:
        result = self.both()
        while self.words and self.words[0] in ("-o", "||"):
            self.words.pop(0)
            other = self.both()
            result = True if True in (result, other) else (None if None in (result, other) else False)
        return result

    def both(self) -> bool | None:
        result = self.single()
        while self.words and self.words[0] in ("-a", "&&"):
            self.words.pop(0)
            other = self.single()
            result = False if False in (result, other) else (None if None in (result, other) else True)
        return result

    def single(self) -> bool | None:
        words = self.words
        if not words:
            return None
        if words[0] == "!" and len(words) > 1:
            words.pop(0)
            result = self.single()
            return None if result is None else not result
        if words[0] == "(":
            words.pop(0)
            result = self.either()
            if words:
                words.pop(0)
            return result
        first = words.pop(0)
        if len(words) >= 2 and (words[0] in _NUMBERS or words[0] in ("=", "==", "!=", "=~", "<", ">")):
            operator, second = words.pop(0), words.pop(0)
            return self.compare(first, operator, second)
        if len(first) == 2 and first[0] == "-" and words and words[0] not in ("-a", "-o", "&&", "||", ")"):
            return self.unary(first[1], words.pop(0))
        return None if UNKNOWN in first else first != ""

    def compare(self, first: str, operator: str, second: str) -> bool | None:
        if UNKNOWN in first or UNKNOWN in second or operator in ("=~", "<", ">"):
            return None
        if operator in _NUMBERS:
            try:
                return _NUMBERS[operator](int(first), int(second))
            except ValueError:
                return False
        same = fnmatchcase(first, second) if self.patterns else first == second
        return same if operator != "!=" else not same

    def unary(self, operator: str, operand: str) -> bool | None:
        if operator in "nz" and (operand.replace(UNKNOWN, "") or UNKNOWN not in operand):
            return (operand != "") == (operator == "n")
        if UNKNOWN in operand or operator not in "edfrwxsLh":
            return None
        path = self.absolute(operand)
        if path.startswith(VOLATILE):
            return None
        found = self.view.lstat(path) if operator in "Lh" else self.view.stat(path)
        if found is None:
            return False
        match operator:
            case "d":
                return found.kind == "directory"
            case "f":
                return found.kind == "file"
            case "L" | "h":
                return found.kind == "symlink"
            case "s":
                return found.size > 0
            case "x":
                return found.kind == "directory" or found.executable
            case _:
                return True
