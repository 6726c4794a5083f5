"""ExecStart= and its kin: systemd.service(5), "Command lines"; config_parse_exec() of src/core/load-fragment.c."""

from __future__ import annotations

from remedy.unit.paths import is_filename, is_valid, simplify
from remedy.unit.specifiers import BadSpecifier, Subject
from remedy.unit.words import BLANKS, BadSyntax, next_word
from remedy.value import dataclass, field

_CONTROL = frozenset(map(chr, range(1, 32))) | set("\"'\\\x7f")


@dataclass(frozen=True)
class Command:
    """One command of a line, which may hold several between ``;``: ``offset`` says where in the line it begins."""

    path: str
    argv: tuple[str, ...]
    prefixes: str
    offset: int


@dataclass
class CommandLine:
    """What systemd makes of one line. ``fatal`` makes the unit one that can't be loaded, ``ignored`` is what it
    passed over with a warning.
    """

    commands: list[Command] = field(default_factory=list)
    fatal: str | None = None
    ignored: list[str] = field(default_factory=list)


class _Refused(Exception):
    """The rest of the line is dropped: with a warning after the ``-`` prefix, else the unit is not loaded."""


def parse(text: str, subject: Subject) -> CommandLine:
    """The commands of a value that is not empty. Those before a bad one stay, as they do in systemd."""
    line = CommandLine()
    position = 0
    while position < len(text):
        try:
            first, start, position = _word(text, position, line)
        except _Refused as refused:
            # systemd passes over a first word that can't be read, whatever its prefix.
            line.ignored.append(str(refused))
            break
        if first is None:
            break
        # A lone ";" separates commands.
        if first == ";":
            continue
        flags = _prefixes(first, subject.manager.version)
        try:
            command, position, more = _command(text, position, start, first[len(flags) :], flags, subject, line)
        except _Refused as refused:
            if "-" in flags:
                line.ignored.append(str(refused))
            else:
                line.fatal = str(refused)
            break
        line.commands.append(command)
        if not more:
            break
    return line


def _command(
    text: str, position: int, start: int, name: str, flags: str, subject: Subject, line: CommandLine
) -> tuple[Command, int, bool]:
    """The command whose first word is ``name``; where its line goes on, and whether another command follows."""
    path = _path(name, subject)
    argv = [] if "@" in flags else [path]
    more = False
    while position < len(text):
        if _is_lone(text, position, ";"):
            position = _skip(text, position + 1)
            more = True
            break
        if _is_lone(text, position, "\\;"):
            position = _skip(text, position + 2)
            argv.append(";")
            continue
        word, _, position = _word(text, position, line)
        if word is None:
            break
        try:
            argv.append(subject.expand(word))
        except BadSpecifier as bad:
            raise _Refused(str(bad)) from None
    if not argv:
        raise _Refused("the command line names no argv[0]")
    return Command(simplify(path, subject.manager.version), tuple(argv), flags, start), position, more


def _path(name: str, subject: Subject) -> str:
    """The program: an absolute path, or a name that is looked up."""
    version = subject.manager.version
    try:
        path = subject.expand(name)
    except BadSpecifier as bad:
        raise _Refused(str(bad)) from None
    if not path:
        raise _Refused("the command line is empty")
    if not _CONTROL.isdisjoint(path):
        raise _Refused(f"the program's name holds quotes, backslashes or control characters: {path}")
    if path.endswith(("/", "/.", "/..") if version >= 256 else "/"):
        raise _Refused(f"the program is a directory: {path}")
    if not (is_valid(path) or version < 252 if path.startswith("/") else is_filename(path)):
        raise _Refused(f"neither an absolute path nor the name of a program: {path}")
    return path


def _prefixes(word: str, version: int) -> str:
    """The special prefixes (``-@:+!!`` and, from 258, ``|``), each taken once as systemd does."""
    taken = ""
    for char in word:
        once = "-@:|" if version >= 258 else "-@:"
        if char in "+!":
            # "+" excludes "!", which may come twice.
            fits = "+" not in taken and taken.count("!") < (2 if char == "!" else 1)
        else:
            fits = char in once and char not in taken
        if not fits:
            break
        taken += char
    return taken


def _word(text: str, position: int, line: CommandLine) -> tuple[str | None, int, int]:
    """The next word; an unknown escape is kept as it stands, with a warning. Raises _Refused for an open quote."""
    try:
        return next_word(text, position, escapes=True)
    except BadSyntax as bad:
        try:
            found = next_word(text, position, escapes=True, relaxed=True)
        except BadSyntax as worse:
            raise _Refused(str(worse)) from None
        line.ignored.append(f"{bad}; it is taken literally")
        return found


def _is_lone(text: str, position: int, token: str) -> bool:
    end = position + len(token)
    return text.startswith(token, position) and (end == len(text) or text[end] in BLANKS)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in BLANKS:
        position += 1
    return position
