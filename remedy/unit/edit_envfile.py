"""Changes to the text of an EnvironmentFile=, in its own grammar and style."""

from __future__ import annotations

from remedy.unit import envfile
from remedy.unit.edit_quoting import file_value
from remedy.unit.values import is_name


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def with_file_value(data: bytes, name: str, value: str, version: int) -> bytes | None:
    """The file with another value at the last assignment of a variable; None where it has none."""
    text = _text(data)
    found = [one for one in envfile.parse(text, version) if one.name == name]
    return _bytes(_revalued(text, found[-1], name, value)) if found else None


def without_export(data: bytes, name: str, value: str, version: int) -> bytes | None:
    """The file with ``export NAME=…``, which systemd ignores, as an assignment; None where it has none."""
    text = _text(data)
    found = [one for one in envfile.parse(text, version) if one.name.split() == ["export", name]]
    return _bytes(_revalued(text, found[-1], name, value)) if found else None


def without_file_value(data: bytes, name: str, version: int) -> bytes | None:
    """The file without any assignment of a variable; None where it has none."""
    text = _text(data)
    found = [one for one in envfile.parse(text, version) if one.name == name]
    for one in reversed(found):
        start = max(text.rfind("\n", 0, one.start), text.rfind("\r", 0, one.start)) + 1
        end = one.end
        while end < len(text) and text[end] in " \t":
            end += 1
        end += len(_line_end(text, end))
        text = text[:start] + text[end:]
    return _bytes(text) if found else None


def with_file_line(data: bytes, name: str, value: str, version: int) -> bytes:
    """The file with one more assignment, after the last one and quoted like it."""
    text = _text(data)
    found = [one for one in envfile.parse(text, version) if is_name(one.name)]
    at = len(text)
    quote = ""
    if found:
        at = found[-1].end
        while at < len(text) and text[at] not in "\r\n":
            at += 1
        quote = _quote_of(text[found[-1].start : found[-1].end])
    end = "\r\n" if "\r\n" in text else "\n"
    new = f"{name}={file_value(value, quote)}"
    had_end = _line_end(text, at)
    if had_end:
        at += len(had_end)
        return _bytes(text[:at] + new + end + text[at:])
    if not text or text.endswith(("\n", "\r")):
        return _bytes(text + new + end)
    return _bytes(text[:at] + end + new + text[at:])


def _revalued(text: str, found: envfile.Assignment, name: str, value: str) -> str:
    raw = text[found.start : found.end]
    left, _, right = raw.partition("=")
    gap = right[: len(right) - len(right.lstrip(" \t"))]
    lead = left.replace("export", "", 1).lstrip() if left.split()[:1] == ["export"] and name != "export" else left
    return f"{text[: found.start]}{lead}={gap}{file_value(value, _quote_of(raw))}{text[found.end :]}"


def _quote_of(raw: str) -> str:
    value = raw.partition("=")[2].strip()
    return value[0] if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] else ""


def _line_end(text: str, at: int) -> str:
    """The line end that begins at an offset."""
    return "\r\n" if text.startswith("\r\n", at) else (text[at] if text[at : at + 1] in ("\n", "\r") else "")
