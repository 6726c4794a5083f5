"""Values written so that each of the three grammars reads them back: Environment=, EnvironmentFile=, shell.

systemd.exec(5), "Environment=" and "EnvironmentFile="; systemd.unit(5), "Specifiers" (a percent sign is doubled).
"""

from __future__ import annotations

import re

from remedy.hints import Literal
from remedy.pattern import pattern

Style = Literal["bare", "value", "whole"]

_NEEDS_QUOTES = pattern(r"[\s\"'\x00-\x20\x7f]")
_ENV_FILE_BARE = pattern(r"[A-Za-z0-9_@%+=:,./~^-]*")
_CONTROL = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def writable_text(value: str) -> bool:
    """Whether a value can stand in a file at all: valid UTF-8 and no NUL."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def word_style(raw: str) -> tuple[Style, str]:
    """How an assignment of an Environment= line is quoted, and with which quote."""
    if len(raw) > 1 and raw[0] in "\"'" and raw[-1] == raw[0]:
        return "whole", raw[0]
    _, _, value = raw.partition("=")
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
        return "value", value[0]
    return "bare", '"'


def assignment_word(name: str, value: str, style: Style, quote: str, *, command: bool = False) -> str:
    """``NAME=value`` as one word of an Environment= line, in a style where that is possible.

    ``command`` for a word of ExecStart=, where a dollar sign is doubled.
    """
    if style == "bare" and _NEEDS_QUOTES.search(value):
        style = "whole"
    if style == "bare":
        return f"{name}={_escaped(value, '', command)}"
    if style == "value":
        return f"{name}={quote}{_escaped(value, quote, command)}{quote}"
    return f"{quote}{name}={_escaped(value, quote, command)}{quote}"


def _escaped(value: str, quote: str, command: bool) -> str:
    done = []
    for char in value:
        if char == "\\" or (quote and char == quote):
            done.append("\\" + char)
        elif char == "%" or (char == "$" and command):
            done.append(char * 2)
        elif char < " " or char == "\x7f":
            done.append(_CONTROL.get(char) or f"\\x{ord(char):02x}")
        else:
            done.append(char)
    return "".join(done)


def file_value(value: str, quote: str) -> str:
    """A value of an EnvironmentFile=, in the quotes that its neighbours have ("" for none) where that is possible."""
    if not quote and _ENV_FILE_BARE.fullmatch(value):
        return value
    if quote == "'" and "'" not in value:
        return f"'{value}'"
    return '"' + re.sub(r'(["\\`$])', r"\\\1", value) + '"'


def shell_value(value: str, quote: str) -> str:
    """A value of a shell assignment. ``$NAME`` at its start or end is written by the caller."""
    if not quote and _ENV_FILE_BARE.fullmatch(value):
        return value
    if quote != '"' and "'" not in value:
        return f"'{value}'"
    return '"' + re.sub(r'(["\\`$])', r"\\\1", value) + '"'
