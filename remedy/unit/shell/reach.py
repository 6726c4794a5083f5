"""What a part of a script that may not run would have meant."""

from __future__ import annotations

from collections.abc import Container

from remedy.unit.shell.builtins import BUILTINS, HARMLESS
from remedy.unit.shell.tree import AndOr, Body, Case, Condition, For, Function, Group, If, Loop, Node, Pipeline, Simple

_CHANGING = frozenset({"export", "declare", "typeset", "source", ".", "unset", "cd", "eval", "module", "conda", "exec"})


def matters(body: Body, functions: Container[str]) -> bool:
    """Whether these statements would change the environment or start something that could be the service."""
    return changes(body) or starts(body, functions)


def changes(body: Body) -> bool:
    """Whether these statements would change the environment."""
    return any(
        (node.words and node.words[0] in _CHANGING and len(node.words) > 1) or (node.assignments and not node.words)
        for node in _commands(body)
    )


def starts(body: Body, functions: Container[str]) -> bool:
    """Whether these statements would start something that could be the service."""
    return any(
        node.words
        and (node.words[0] == "exec" or node.words[0] not in BUILTINS)
        and node.words[0] not in HARMLESS
        and node.words[0] not in functions
        for node in _commands(body)
    )


def _commands(body: Body) -> list[Simple]:
    """All simple commands in a tree."""
    found: list[Simple] = []
    waiting: list[Node] = list(body)
    while waiting:
        node = waiting.pop()
        match node:
            case Simple():
                found.append(node)
            case AndOr():
                waiting += [node.first, *(following for _, following in node.rest)]
            case Pipeline():
                waiting += node.commands
            case If():
                waiting += [n for condition, inner in node.branches for n in (*condition, *inner)]
                waiting += node.otherwise
            case For() | Loop() | Group():
                waiting += node.body
            case Case():
                waiting += [n for _, inner in node.items for n in inner]
            case Function() | Condition():
                pass
    return found
