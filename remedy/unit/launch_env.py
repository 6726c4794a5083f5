"""env(1) in the launch chain."""

from __future__ import annotations

import re

from remedy.unit.launch_stage import Stage
from remedy.value import replace


def follow_env(stage: Stage) -> Stage:
    """env(1): ``-i``, ``-u``, ``-C``, ``-S`` and NAME=value before the command."""
    words = list(stage.argv[1:])
    changes: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            break
        if word in ("-", "-i", "--ignore-environment"):
            stage = stage.drop(*stage.environment)
            changes.append("empties the environment")
        elif match := re.fullmatch(r"(?:-([iv0]*)u|--unset(?==|$))(=?)(.*)", word, re.DOTALL):
            name = match[3] or (words.pop(0) if words and not match[2] else "")
            stage = (stage.drop(*stage.environment) if "i" in (match[1] or "") else stage).drop(name)
            changes.append(f"unsets {name}")
        elif match := re.fullmatch(r"(?:-([iv0]*)C|--chdir(?==|$))(=?)(.*)", word, re.DOTALL):
            stage = _with_directory(stage, match[3] or (words.pop(0) if words else "."))
        elif match := re.fullmatch(r"(?:-([iv0]*)S|--split-string(?==|$))(=?)(.*)", word, re.DOTALL):
            if "i" in (match[1] or ""):
                stage = stage.drop(*stage.environment)
            text = match[3] or (words.pop(0) if words else "")
            words = [*split_string(text, stage), *words]
        elif word in ("-a", "--argv0"):
            words[:1] = []
        elif word.startswith("-"):
            if "i" in word[1:] and re.fullmatch(r"-[iv0]+", word):
                stage = stage.drop(*stage.environment)
        else:
            words.insert(0, word)
            break
    while words and "=" in words[0][1:]:
        name, _, value = words.pop(0).partition("=")
        stage = stage.put(name, value, stage.place)
        changes.append(f"sets {name}")
    return stage.hop(", ".join(changes) or "looks the program up on PATH", "env").run(tuple(words))


def _with_directory(stage: Stage, directory: str) -> Stage:
    return replace(stage, directory=stage.absolute(directory))


_SPLIT = (
    r"""(?P<gap>[ \t\n\v\f\r]+|\\_(?=))|(?P<single>'(?:\\['\\]|[^'])*')|(?P<double>"(?:\\.|[^"\\])*")"""
    r"""|(?P<variable>\$\{[A-Za-z_][A-Za-z0-9_]*\})|(?P<escape>\\.)|(?P<plain>[^ \t\n\v\f\r'"\\$]+|.)"""
)
_SPLIT_ESCAPES = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "_": " "}


def split_string(text: str, stage: Stage) -> list[str]:
    """``env -S``: GNU coreutils manual, "-S/--split-string syntax"."""
    words: list[str] = []
    current: str | None = None
    for match in re.finditer(_SPLIT, text, re.DOTALL):
        piece = match[0]
        if match["gap"]:
            if current is not None:
                words.append(current)
            current = None
            continue
        if piece == "#" and current is None:
            break
        if piece == "\\c":
            break
        current = (current or "") + _split_piece(match, stage)
    return words if current is None else [*words, current]


def _split_piece(match: re.Match[str], stage: Stage) -> str:
    piece = match[0]
    if match["single"]:
        return re.sub(r"\\(['\\])", r"\1", piece[1:-1])
    if match["double"]:
        inner = re.sub(r"\$\{(\w+)\}", lambda m: stage.get(m[1]) or "", piece[1:-1])
        return re.sub(r"\\(.)", lambda m: _SPLIT_ESCAPES.get(m[1], m[1]), inner, flags=re.DOTALL)
    if match["variable"]:
        return stage.get(piece[2:-1]) or ""
    if match["escape"]:
        return _SPLIT_ESCAPES.get(piece[1], piece[1])
    return piece
