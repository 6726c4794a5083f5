"""One line of a wrapper script that sets a variable: changed only where that is plainly safe."""

from __future__ import annotations

import re

from remedy.unit.document import Line, join, split_lines
from remedy.unit.edit_place import root_alone_writes
from remedy.unit.edit_quoting import shell_value
from remedy.unit.shell.tokens import tokens_of
from remedy.view import View

_LINE = re.compile(r"([ \t]*(?:export[ \t]+)?)([A-Za-z_][A-Za-z0-9_]*)=(.*?)([ \t]*)$")


def keeps_script(view: View, path: str) -> str | None:
    """Why a script may not be changed; None where it may."""
    found = view.lstat(path)
    if found is None or found.kind != "file" or view.realpath(path) != path:
        return "it is no regular file"
    if path.startswith(("/usr/", "/lib/", "/bin/", "/run/", "/nix/")) and not path.startswith("/usr/local/"):
        return "it belongs to a package"
    if not root_alone_writes(view, path):
        return "it can be changed by others than root"
    return None


def with_script_value(data: bytes, line: int, name: str, value: str, inherited: str | None) -> bytes | None:
    """The script with ``export NAME=value`` on a line that is just that; None where it is more.

    ``inherited`` is the value that comes from before the script; where the line refers to it at its end
    (``$PATH``) and the new value ends in it, the reference stays.
    """
    lines = list(split_lines(data.decode("utf-8", "surrogateescape")))
    if not 0 < line <= len(lines):
        return None
    text = lines[line - 1].text
    match = _LINE.match(text)
    if match is None or match[2] != name:
        return None
    tokens, error = tokens_of(text)
    if error or any(token.operator for token in tokens) or len(tokens) != len(match[1].split()) + 1:
        return None
    old = match[3]
    quote = old[0] if len(old) > 1 and old[0] in "\"'" and old[-1] == old[0] else ""
    new = _with_reference(old, name, value, inherited, quote) or shell_value(value, quote)
    lines[line - 1] = Line(f"{match[1]}{name}={new}{match[4]}", lines[line - 1].end)
    return join(lines)


def _with_reference(old: str, name: str, value: str, inherited: str | None, quote: str) -> str | None:
    for reference in (f"${name}", f"${{{name}}}"):
        tail = f":{reference}{quote}"
        if old.endswith(tail) and inherited and value.endswith(f":{inherited}"):
            head = value[: -len(inherited) - 1]
            if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", head):
                return f"{quote}{head}{tail}"
    return None
