"""A script walked statement by statement: what it does to the environment, and which commands it starts."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from remedy.hints import Final
from remedy.unit.launch_stage import home_of
from remedy.unit.shell.builtins import BUILTINS, Control
from remedy.unit.shell.conditions import evaluate
from remedy.unit.shell.parser import DECLARATIONS, parse_shell
from remedy.unit.shell.reach import changes, matters, starts
from remedy.unit.shell.state import Parameter, State
from remedy.unit.shell.substitute import substitute
from remedy.unit.shell.tokens import ASSIGNMENT, ShellSyntaxError
from remedy.unit.shell.tree import (
    AndOr,
    Assignment,
    Body,
    Case,
    Condition,
    For,
    Function,
    Group,
    If,
    Loop,
    Node,
    Pipeline,
    Simple,
)
from remedy.unit.shell.words import UNKNOWN, fields, text
from remedy.unit.types import Hop, Place, Variable
from remedy.value import dataclass
from remedy.view import View

SCRIPT_LIMIT: Final = 1024 * 1024
_STATEMENT_LIMIT: Final = 5000
_DEPTH_LIMIT: Final = 24
_ROUNDS_LIMIT: Final = 64


@dataclass(frozen=True)
class Started:
    """A program that the script starts; ``replaced`` where ``exec`` made it the script's successor."""

    argv: tuple[str, ...]
    environment: Mapping[str, Variable]
    directory: str
    place: Place
    replaced: bool


class Walker:
    """Walks one shell's text. ``notes`` say what could not be followed, ``hops`` what was."""

    def __init__(self, view: View, state: State, place: Place, *, script: str | None, user: str = "root") -> None:
        self.view = view
        self.state = state
        self.user = user
        self.script = script
        self.fixed = place
        self.started: list[Started] = []
        self.hops: list[Hop] = []
        self.notes: list[str] = []
        self.control = Control.GO
        self.locals: list[dict[str, Parameter | None]] = []
        self.statements = 0
        self.depth = 0
        self.line = 1

    def place(self, line: int) -> Place:
        """Where a line of the text stands; inline text (``sh -c``) stands where its command does."""
        return Place(self.script, line) if self.script else self.fixed

    @property
    def here(self) -> Place:
        """The statement that is being looked at."""
        return self.place(self.line)

    def note(self, why: str) -> None:
        """One more thing that could not be followed."""
        text_ = f"{self.here}: {why}"
        if text_ not in self.notes and len(self.notes) < _ROUNDS_LIMIT:
            self.notes.append(text_)

    def hop(self, what: str, program: str) -> None:
        """One more thing that was followed."""
        self.hops.append(Hop(program, what, self.here))

    # What words refer to (words.Scope).

    def items(self, name: str) -> tuple[str, ...] | None:
        arguments = self.state.arguments
        if name in ("@", "*"):
            return arguments
        if name.isdigit():
            if name == "0":
                return (self.state.name,)
            return (arguments[int(name) - 1],) if int(name) <= len(arguments) else None
        special = {"#": str(len(arguments)), "?": UNKNOWN, "$": UNKNOWN, "!": UNKNOWN, "-": "hB", "PWD": None}
        if name == "PWD":
            return (self.state.directory,)
        if name in special:
            return (special[name] or "",)
        if name in ("BASH_SOURCE", "0") and self.script:
            return (self.script,)
        if name in ("RANDOM", "SECONDS", "PPID", "EPOCHSECONDS", "HOSTNAME", "OPTARG"):
            return (UNKNOWN,)
        found = self.state.variables.get(name)
        return found.items if found and (found.items or found.array) else None

    def assign(self, name: str, value: str) -> None:
        self.state.put(name, (value,), self.here)

    def substitute(self, command: str) -> str:
        return substitute(command, self)

    def home(self, user: str) -> str | None:
        own = self.state.value("HOME") if not user else None
        return own or home_of(self.view, user or self.user)

    # Statements. Each tells its exit status: True for 0, None where it isn't known.

    def run_text(self, script: str) -> bool | None:
        """Walk a script's text; one that can't be understood is a note, not an error."""
        body, error = parse_shell(script)
        status = self.body(body)
        if error is not None and self.control is Control.GO:
            self.line = error.line or self.line
            self.note(f"this shell syntax was not understood ({error.why})")
            return None
        return status

    def run_file(self, path: str, arguments: Sequence[str] | None = None) -> bool | None:
        """Walk another file in this shell, as ``source`` does."""
        try:
            data = self.view.read(path, SCRIPT_LIMIT)
        except OSError as error:
            self.note(f"{path} could not be read ({error.strerror or error})")
            return False
        if self.depth >= _DEPTH_LIMIT:
            self.note("scripts source one another too deeply")
            return None
        kept = self.script, self.line, self.state.arguments
        self.script, self.depth = path, self.depth + 1
        if arguments:
            self.state.arguments = tuple(arguments)
        result = self.run_text(data.decode("utf-8", "surrogateescape"))
        if self.control is Control.RETURN:
            self.control = Control.GO
        self.script, self.line, self.state.arguments = kept
        self.depth -= 1
        return result

    def body(self, nodes: Body) -> bool | None:
        """Statements in order, up to one that ends the script."""
        status: bool | None = True
        for node in nodes:
            if self.control is not Control.GO:
                break
            status = self.node(node)
        return status

    def node(self, node: Node) -> bool | None:
        """One statement."""
        self.statements += 1
        if self.statements > _STATEMENT_LIMIT:
            if self.control is Control.GO:
                self.note("the script is too long to follow")
            self.control = Control.EXIT
            return None
        self.line = node.line
        try:
            return self.dispatch(node)
        except ShellSyntaxError as error:
            self.note(f"this shell syntax was not understood ({error.why})")
            return None

    def dispatch(self, node: Node) -> bool | None:
        match node:
            case Simple():
                return self.simple(node)
            case AndOr():
                return self.and_or(node)
            case Pipeline():
                return self.pipeline(node)
            case If():
                return self.if_(node)
            case For():
                return self.for_(node)
            case Loop():
                return self.loop(node)
            case Case():
                return self.case(node)
            case Group():
                return self.group(node)
            case Function():
                self.state.functions[node.name] = node.body
                return True
            case Condition():
                return self.test(node)

    def and_or(self, node: AndOr) -> bool | None:
        status = self.node(node.first)
        for operator, following in node.rest:
            if self.control is not Control.GO:
                break
            # A command whose status isn't known is taken to succeed: that is what the script is written for.
            wanted = status is not False if operator == "&&" else status is False
            if status is None and operator == "||" and matters((following,), self.state.functions):
                self.note("whether this part after || runs is known only when the script runs")
            if wanted:
                status = self.node(following)
        return status

    def pipeline(self, node: Pipeline) -> bool | None:
        if len(node.commands) == 1:
            status = self.node(node.commands[0])
            return None if status is None else status is not node.negated
        for command in node.commands:
            self.subshell((command,))
        return None

    def subshell(self, body: Body) -> bool | None:
        kept = self.state
        self.state = kept.copy()
        status = self.body(body)
        self.state = kept
        # exec and exit end the subshell only, but what was started stays found.
        self.control = Control.GO
        return status

    def group(self, node: Group) -> bool | None:
        return self.subshell(node.body) if node.subshell else self.body(node.body)

    def if_(self, node: If) -> bool | None:
        for condition, body in node.branches:
            status = self.body(condition)
            if status:
                return self.body(body)
            if status is None:
                return self.undecided(node)
        return self.body(node.otherwise)

    def undecided(self, node: If) -> bool | None:
        """A condition that only running the script would decide: its first branch that matters is the guess."""
        self.line = node.line
        for body in (*(body for _, body in node.branches), node.otherwise):
            if matters(body, self.state.functions):
                self.note("this condition is known only when the script runs")
                return self.body(body) if starts(body, self.state.functions) else None
        return None

    def for_(self, node: For) -> bool | None:
        words = self.state.arguments if node.words is None else [w for word in node.words for w in self.globbed(word)]
        for value in list(words)[:_ROUNDS_LIMIT]:
            self.state.put(node.name, (value,), self.place(node.line))
            self.body(node.body)
            if self.control is Control.BREAK:
                self.control = Control.GO
                break
            if self.control is not Control.GO:
                break
        return None

    def loop(self, node: Loop) -> bool | None:
        """A loop is walked once: waiting loops change nothing, restart loops start the server each time."""
        status = self.body(node.condition)
        if self.control is Control.GO and status is node.until and status is not None:
            return True
        if status is None and changes(node.body):
            self.note("how often this loop runs is known only when the script runs")
        self.body(node.body)
        if self.control is Control.BREAK:
            self.control = Control.GO
        return None

    def case(self, node: Case) -> bool | None:
        word = text(node.word, self)
        for patterns, body in node.items:
            for pattern in patterns:
                if UNKNOWN in word:
                    if matters(body, self.state.functions):
                        self.note("this case is known only when the script runs")
                    continue
                if fnmatchcase(word, text(pattern, self)):
                    return self.body(body)
        return True

    def test(self, node: Condition) -> bool | None:
        if node.arithmetic:
            return None
        return evaluate([text(word, self) for word in node.words], self.view, self.state.absolute, patterns=True)

    def simple(self, node: Simple) -> bool | None:
        declares = bool(node.words) and node.words[0] in DECLARATIONS
        argv = [field for word in node.words for field in self.expanded(word, declares)]
        if not argv or declares:
            for assignment in node.assignments:
                if declares:
                    self.declare(node.words[0], assignment.name)
                self.set(assignment)
            if not argv:
                return True
            return BUILTINS[argv[0]](self, node, argv)
        if UNKNOWN in argv[0]:
            self.note("which command this is, is known only when the script runs")
            return None
        if argv[0] in self.state.functions:
            return self.call(argv)
        if argv[0] in BUILTINS:
            return BUILTINS[argv[0]](self, node, argv)
        self.start(argv, node)
        return None

    def expanded(self, word: str, declares: bool) -> list[str]:
        """A word of a command; ``export NAME=word`` is expanded as the assignment that it is."""
        if declares and ASSIGNMENT.match(word):
            return [text(word, self, assignment=True)]
        return fields(word, self)

    def set(self, assignment: Assignment) -> None:
        """``NAME=value`` in this shell."""
        name, _, index = assignment.name.partition("[")
        old = self.state.variables.get(name)
        if assignment.items is not None:
            items = tuple(field for item in assignment.items for field in fields(item, self))
            items = (*(old.items if old and assignment.append else ()), *items)
            self.state.put(name, items, self.here, array=True)
            return
        value = text(assignment.word, self, assignment=True)
        if index:
            self.state.put(name, (*(old.items if old else ()), value), self.here, array=True)
            return
        if assignment.append and old:
            value = (old.items[0] if old.items else "") + value
        self.state.put(name, (value,), self.here)

    def call(self, argv: list[str]) -> bool | None:
        """A function of the script."""
        if self.depth >= _DEPTH_LIMIT:
            self.note("functions call one another too deeply")
            return None
        kept = self.state.arguments
        self.state.arguments = tuple(argv[1:])
        self.locals.append({})
        self.depth += 1
        status = self.node(self.state.functions[argv[0]])
        self.depth -= 1
        self.state.arguments = kept
        for name, old in self.locals.pop().items():
            if old is None:
                self.state.variables.pop(name, None)
            else:
                self.state.variables[name] = old
        if self.control is Control.RETURN:
            self.control = Control.GO
        return status

    def declare(self, command: str, name: str) -> None:
        """In a function, ``local`` and ``declare`` make a variable that ends with the call."""
        if self.locals and command in ("local", "declare", "typeset"):
            self.locals[-1].setdefault(name, self.state.variables.get(name))

    def start(self, argv: Sequence[str], node: Simple, *, replaced: bool = False, cleared: bool = False) -> None:
        """A program is started, with the assignments before it in its environment only."""
        kept = self.state
        self.state = kept.copy()
        for assignment in node.assignments:
            self.set(assignment)
            self.state.export(assignment.name, True)
        environment = {} if cleared else self.state.environment()
        if len(self.started) < _ROUNDS_LIMIT:
            self.started.append(Started(tuple(argv), environment, kept.directory, self.here, replaced))
        self.state = kept
        if replaced:
            self.control = Control.EXIT

    def globbed(self, word: str) -> list[str]:
        """A word of ``for … in``, with pathname expansion in its last component."""
        found: list[str] = []
        for item in fields(word, self):
            folder, pattern = posixpath.split(item)
            if any(c in pattern for c in "*?[") and "*" not in folder and "'" not in word and '"' not in word:
                try:
                    names = self.view.list(self.state.absolute(folder or "."))
                except OSError:
                    names = ()
                matched = [n for n in names if fnmatchcase(n, pattern) and (pattern[0] == "." or n[0] != ".")]
                found += [posixpath.join(folder, name) for name in matched] or [item]
            else:
                found.append(item)
        return found
