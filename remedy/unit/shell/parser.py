"""Shell text to a tree, as far as wrapper scripts of services go.

The grammar is that of POSIX, Shell Command Language, with the parts of bash that such scripts use: ``[[``, arrays,
``function``. Nothing is ever executed.
"""

from __future__ import annotations

from remedy.unit.shell.tokens import ASSIGNMENT, NESTING_LIMIT, REDIRECTIONS, ShellSyntaxError, Token, tokens_of
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

DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})


def parse_shell(text: str) -> tuple[Body, ShellSyntaxError | None]:
    """The tree of a script, as far as it is understood, and what ended the reading before the script's end.

    A shell runs a line before it reads the next: scripts that begin as shell and go on as Python rely on that.
    """
    tokens, unreadable = tokens_of(text)
    body, error = _Parser(tokens).script()
    return body, error or unreadable


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.i = 0
        self.depth = 0

    @property
    def at(self) -> Token | None:
        return self.tokens[self.i] if self.i < len(self.tokens) else None

    @property
    def line(self) -> int:
        at = self.at or (self.tokens[-1] if self.tokens else None)
        return at.line if at else 1

    def is_operator(self, *texts: str) -> bool:
        at = self.at
        return at is not None and at.operator and at.text in texts

    def is_word(self, *texts: str) -> bool:
        at = self.at
        return at is not None and not at.operator and at.text in texts

    def take(self) -> Token:
        at = self.at
        if at is None:
            raise ShellSyntaxError(self.line, "the script ends too early")
        self.i += 1
        return at

    def expect(self, text: str) -> None:
        token = self.take()
        if token.text != text:
            raise ShellSyntaxError(token.line, f"expected {text!r}, found {token.text!r}")

    def newlines(self) -> None:
        while self.is_operator("\n"):
            self.i += 1

    def script(self) -> tuple[Body, ShellSyntaxError | None]:
        """Commands up to the end, or up to the first that is not understood."""
        nodes: list[Node] = []
        try:
            while True:
                while self.is_operator("\n", ";", "&"):
                    self.i += 1
                if self.at is None:
                    return tuple(nodes), None
                node = self.and_or()
                if self.at is not None and not self.is_operator("\n", ";", "&"):
                    raise ShellSyntaxError(self.line, f"unexpected {self.at.text!r}")
                nodes.append(node)
        except ShellSyntaxError as error:
            return tuple(nodes), error

    def body(self, stop: frozenset[str]) -> Body:
        """Commands up to a closing word or operator, which is left in place."""
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            raise ShellSyntaxError(self.line, "nested too deeply")
        nodes: list[Node] = []
        while True:
            while self.is_operator("\n", ";", "&"):
                self.i += 1
            at = self.at
            if at is None or at.text in stop:
                break
            nodes.append(self.and_or())
            if self.at is not None and not self.is_operator("\n", ";", "&") and self.at.text not in stop:
                raise ShellSyntaxError(self.line, f"unexpected {self.at.text!r}")
        self.depth -= 1
        return tuple(nodes)

    def and_or(self) -> Node:
        line = self.line
        first = self.pipeline()
        rest: list[tuple[str, Node]] = []
        while self.is_operator("&&", "||"):
            operator = self.take().text
            self.newlines()
            rest.append((operator, self.pipeline()))
        return AndOr(line, first, tuple(rest)) if rest else first

    def pipeline(self) -> Node:
        line = self.line
        negated = False
        while self.is_word("!"):
            self.i += 1
            negated = not negated
        while self.is_word("time") and len(self.tokens) > self.i + 1 and not self.tokens[self.i + 1].operator:
            self.i += 1
        commands = [self.command()]
        while self.is_operator("|", "|&"):
            self.i += 1
            self.newlines()
            commands.append(self.command())
        if len(commands) == 1 and not negated:
            return commands[0]
        return Pipeline(line, tuple(commands), negated)

    def command(self) -> Node:
        at = self.at
        if at is None:
            raise ShellSyntaxError(self.line, "a command is missing")
        node = self.compound(at)
        if node is None:
            return self.simple()
        while self.at is not None and (self.is_operator(*REDIRECTIONS) or (self.at.glued and self.at.text.isdigit())):
            self.redirection()
        return node

    def compound(self, at: Token) -> Node | None:
        if at.operator:
            if at.text == "(":
                self.i += 1
                body = self.body(frozenset({")"}))
                self.expect(")")
                return Group(at.line, body, subshell=True)
            return self.arithmetic() if at.text == "((" else None
        match at.text:
            case "if":
                return self.if_()
            case "for" | "select":
                return self.for_()
            case "while" | "until":
                return self.loop()
            case "case":
                return self.case()
            case "{":
                self.i += 1
                body = self.body(frozenset({"}"}))
                self.expect("}")
                return Group(at.line, body, subshell=False)
            case "[[":
                return self.test()
            case "function":
                self.i += 1
                return self.function(self.take())
            case _:
                following = self.tokens[self.i + 1 : self.i + 3]
                if [t.text for t in following] == ["(", ")"] and following[0].operator and at.glued:
                    self.i += 1
                    return self.function(at)
                return None

    def function(self, name: Token) -> Node:
        if self.is_operator("("):
            self.i += 1
            self.expect(")")
        self.newlines()
        return Function(name.line, name.text, self.command())

    def if_(self) -> Node:
        line = self.take().line
        branches: list[tuple[Body, Body]] = []
        otherwise: Body = ()
        while True:
            condition = self.body(frozenset({"then"}))
            self.expect("then")
            branches.append((condition, self.body(frozenset({"elif", "else", "fi"}))))
            word = self.take().text
            if word == "else":
                otherwise = self.body(frozenset({"fi"}))
                self.expect("fi")
            if word != "elif":
                return If(line, tuple(branches), otherwise)

    def for_(self) -> Node:
        line = self.take().line
        words: tuple[str, ...] | None = ()
        if self.is_operator("(("):
            self.arithmetic()
            name = "_"
        else:
            name = self.take().text
            words = self.for_words()
        while self.is_operator(";", "\n"):
            self.i += 1
        self.expect("do")
        body = self.body(frozenset({"done"}))
        self.expect("done")
        return For(line, name, words, body)

    def for_words(self) -> tuple[str, ...] | None:
        self.newlines()
        if not self.is_word("in"):
            return None
        self.i += 1
        words: list[str] = []
        while self.at is not None and not self.is_operator(";", "\n"):
            words.append(self.take().text)
        return tuple(words)

    def loop(self) -> Node:
        word = self.take()
        condition = self.body(frozenset({"do"}))
        self.expect("do")
        body = self.body(frozenset({"done"}))
        self.expect("done")
        return Loop(word.line, word.text == "until", condition, body)

    def case(self) -> Node:
        line = self.take().line
        word = self.take().text
        self.newlines()
        self.expect("in")
        items: list[tuple[tuple[str, ...], Body]] = []
        self.newlines()
        while not self.is_word("esac"):
            if self.is_operator("("):
                self.i += 1
            patterns = [self.take().text]
            while self.is_operator("|"):
                self.i += 1
                patterns.append(self.take().text)
            self.expect(")")
            body = self.body(frozenset({";;", ";&", ";;&", "esac"}))
            items.append((tuple(patterns), body))
            if self.is_operator(";;", ";&", ";;&"):
                self.i += 1
            self.newlines()
        self.expect("esac")
        return Case(line, word, tuple(items))

    def test(self) -> Node:
        line = self.take().line
        words: list[str] = []
        while not self.is_word("]]"):
            words.append(self.take().text)
        self.i += 1
        return Condition(line, tuple(words))

    def arithmetic(self) -> Node:
        line = self.take().line
        words: list[str] = []
        depth = 2
        while depth:
            text = self.take().text
            depth += {"(": 1, "((": 2, ")": -1}.get(text, 0)
            words.append(text)
        return Condition(line, (" ".join(words[:-2]),), arithmetic=True)

    def redirection(self) -> None:
        if not self.is_operator(*REDIRECTIONS):
            self.i += 1
        self.take()
        self.take()

    def simple(self) -> Node:
        line = self.line
        assignments: list[Assignment] = []
        words: list[str] = []
        while (at := self.at) is not None:
            if at.operator and at.text not in REDIRECTIONS:
                break
            if at.operator or (at.glued and at.text.isdigit() and self.is_redirected()):
                self.redirection()
                continue
            self.i += 1
            assignment = self.assignment(at) if not words or words[0] in DECLARATIONS else None
            if assignment is not None and not words:
                assignments.append(assignment)
            elif assignment is not None and assignment.items is not None:
                assignments.append(assignment)
                words.append(assignment.name)
            else:
                words.append(at.text)
        if not assignments and not words and self.i < len(self.tokens) and self.tokens[self.i].line == line:
            previous = self.tokens[self.i - 1] if self.i else None
            if previous is None or previous.operator:
                raise ShellSyntaxError(line, f"unexpected {self.tokens[self.i].text!r}")
        return Simple(line, tuple(assignments), tuple(words))

    def is_redirected(self) -> bool:
        following = self.tokens[self.i + 1] if self.i + 1 < len(self.tokens) else None
        return following is not None and following.operator and following.text in REDIRECTIONS

    def assignment(self, token: Token) -> Assignment | None:
        match = ASSIGNMENT.match(token.text)
        if match is None:
            return None
        rest = token.text[match.end() :]
        items: tuple[str, ...] | None = None
        if not rest and token.glued and self.is_operator("(", "(("):
            items = self.array_items()
        return Assignment(match[1] + (match[2] or ""), match[3] == "+=", rest, items)

    def array_items(self) -> tuple[str, ...]:
        self.i += 1
        items: list[str] = []
        while not self.is_operator(")"):
            token = self.take()
            if not token.operator:
                items.append(token.text)
        self.i += 1
        return tuple(items)
