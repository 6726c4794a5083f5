"""A shell script as a tree. Words stay raw, quotes and all."""

from __future__ import annotations

from remedy.value import dataclass


@dataclass(frozen=True)
class Assignment:
    """``NAME=word``, ``NAME+=word``, or with ``items`` ``NAME=(word …)``."""

    name: str
    append: bool
    word: str
    items: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Simple:
    """A simple command, redirections left out."""

    line: int
    assignments: tuple[Assignment, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """Commands joined by ``|``."""

    line: int
    commands: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True)
class AndOr:
    """``first && second || third``: each later pipeline with the operator before it."""

    line: int
    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class If:
    """Conditions with their bodies in order, and what else is done."""

    line: int
    branches: tuple[tuple[Body, Body], ...]
    otherwise: Body = ()


@dataclass(frozen=True)
class For:
    """``for name in words``; ``words`` is None for the positional parameters."""

    line: int
    name: str
    words: tuple[str, ...] | None
    body: Body


@dataclass(frozen=True)
class Loop:
    """``while`` or ``until``."""

    line: int
    until: bool
    condition: Body
    body: Body


@dataclass(frozen=True)
class Case:
    """``case word in pattern) body;; esac``."""

    line: int
    word: str
    items: tuple[tuple[tuple[str, ...], Body], ...]


@dataclass(frozen=True)
class Group:
    """``{ …; }`` or ``( … )``."""

    line: int
    body: Body
    subshell: bool


@dataclass(frozen=True)
class Function:
    """A definition; nothing happens until it is called."""

    line: int
    name: str
    body: Node


@dataclass(frozen=True)
class Condition:
    """``[[ … ]]`` as its raw words, or ``(( … ))`` with the arithmetic as its only word."""

    line: int
    words: tuple[str, ...]
    arithmetic: bool = False


Node = Simple | Pipeline | AndOr | If | For | Loop | Case | Group | Function | Condition
Body = tuple[Node, ...]
