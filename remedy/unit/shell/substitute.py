"""``$(…)`` where its output can be told without running anything: names of files and folders, mostly."""

from __future__ import annotations

import posixpath

from remedy.hints import TYPE_CHECKING
from remedy.unit.shell.parser import parse_shell
from remedy.unit.shell.tree import AndOr, Node, Simple
from remedy.unit.shell.words import UNKNOWN, fields
from remedy.view import which

if TYPE_CHECKING:
    from remedy.unit.shell.walk import Walker


def substitute(command: str, walker: Walker) -> str:
    """The output of a command, final newlines removed; UNKNOWN where only running it would tell."""
    body, error = parse_shell(command)
    if error is not None:
        return UNKNOWN
    kept = walker.state
    walker.state = kept.copy()
    try:
        output = ""
        for node in body:
            output += _output(node, walker)
    finally:
        walker.state = kept
    return UNKNOWN if UNKNOWN in output else output.rstrip("\n")


def _output(node: Node, walker: Walker) -> str:
    match node:
        case AndOr():
            output = _output(node.first, walker)
            for operator, following in node.rest:
                # The part after || runs where the first failed; one whose output is known did not.
                if operator == "&&":
                    output += _output(following, walker)
            return output
        case Simple() if node.words and not node.assignments:
            argv = [field for word in node.words for field in fields(word, walker)]
            return UNKNOWN if any(UNKNOWN in word for word in argv) else _command(argv, walker)
        case _:
            return UNKNOWN


def _command(argv: list[str], walker: Walker) -> str:
    if not argv:
        return ""
    program, words = argv[0], [word for word in argv[1:] if word != "--"]
    operands = [word for word in words if not word.startswith("-")]
    options = [word for word in words if word.startswith("-")]
    match program:
        case "cd" if len(operands) == 1:
            walker.state.directory = walker.state.absolute(operands[0])
            return ""
        case "pwd":
            return walker.state.directory
        case "echo":
            return " ".join(words[1:] if words[:1] == ["-n"] else words) + "\n"
        case "printf" if len(words) == 2 and words[0] in ("%s", "%s\\n"):
            return words[1]
        case "dirname" if len(operands) == 1:
            return posixpath.dirname(operands[0].rstrip("/")) or "."
        case "basename" if operands:
            name = posixpath.basename(operands[0].rstrip("/"))
            return name.removesuffix(operands[1]) if len(operands) > 1 else name
        case "realpath" if len(operands) == 1:
            return walker.view.realpath(walker.state.absolute(operands[0]))
        case "readlink" if len(operands) == 1 and options and options[0] in ("-f", "-e", "-m"):
            return walker.view.realpath(walker.state.absolute(operands[0]))
        case "which" if len(operands) == 1:
            return which(walker.view, operands[0], walker.state.value("PATH")) or ""
        case "command" if options == ["-v"] and len(operands) == 1:
            return which(walker.view, operands[0], walker.state.value("PATH")) or ""
        case "whoami":
            return walker.user
        case "id" if not operands:
            return _identity(options, walker)
        case "run-parts" if "--list" in options:
            return _parts(operands[-1], walker)
        case _:
            return UNKNOWN


def _identity(options: list[str], walker: Walker) -> str:
    if "-un" in options or options == ["-u", "-n"]:
        return walker.user
    return "0" if options == ["-u"] and walker.user in ("root", "0") else ("1000" if options == ["-u"] else UNKNOWN)


def _parts(folder: str, walker: Walker) -> str:
    try:
        names = walker.view.list(folder)
    except OSError:
        return ""
    return "\n".join(posixpath.join(folder, name) for name in names if name.endswith(".sh"))
