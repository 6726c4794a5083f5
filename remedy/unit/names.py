"""Unit names: what is one, its parts, and how it is escaped. systemd.unit(5), systemd-escape(1)."""

from __future__ import annotations

from remedy.errors import UsageError
from remedy.hints import Literal

Kind = Literal["plain", "instance", "template"]

UNIT_TYPES = (
    "service", "socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope",
)  # fmt: skip
#: systemd's UNIT_NAME_MAX counts the closing NUL.
NAME_LENGTH = 255
_CHARS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:-_.\\")
_CHARS_WITH_AT = _CHARS | {"@"}


def service_name(text: str) -> str:
    """The full name of the service that ``text`` means: ``.service`` may be left out, as for systemctl(1).

    Raises UsageError where the name is none, is a template's, or is that of a unit of another type.
    """
    name = text.strip()
    if not name:
        raise UsageError("no unit is named", hint="Name a service, as in: sglang.service")
    if "/" in name:
        raise UsageError(
            f"{text!r} is a path, not the name of a service", hint=f"Name the unit alone: {name.rsplit('/', 1)[1]}"
        )
    if name.rpartition(".")[2] not in UNIT_TYPES or "." not in name:
        name += ".service"
    kind = kind_of(name)
    if kind is None:
        raise UsageError(
            f"{text!r} is not a valid unit name",
            hint="Letters, digits and :-_.\\@ are allowed, at most 255 of them; systemd-escape(1) escapes others.",
        )
    if not name.endswith(".service"):
        raise UsageError(f"{name} is a {name.rpartition('.')[2]} unit, not a service")
    if kind == "template":
        prefix = name.partition("@")[0]
        raise UsageError(f"{name} is a template", hint=f"Name an instance of it, as in: {prefix}@NAME.service")
    return name


def kind_of(name: str) -> Kind | None:
    """Whether a name is a plain unit's, an instance's or a template's; None where it is no unit name."""
    stem, dot, suffix = name.rpartition(".")
    if not dot or not stem or suffix not in UNIT_TYPES or len(name) > NAME_LENGTH:
        return None
    if not _CHARS_WITH_AT.issuperset(stem) or stem[0] == "@":
        return None
    _, at, instance = stem.partition("@")
    if not at:
        return "plain"
    return "instance" if instance else "template"


def prefix_of(name: str) -> str:
    """%p: what is before the ``@``, or before the type."""
    return name.partition("@")[0] if "@" in name else name.rpartition(".")[0]


def instance_of(name: str) -> str:
    """%i: what is between the first ``@`` and the type; empty for plain units and templates."""
    return name.rpartition(".")[0].partition("@")[2]


def template_of(name: str) -> str:
    """``foo@.service`` for ``foo@bar.service``."""
    return f"{name.partition('@')[0]}@.{name.rpartition('.')[2]}"


def with_instance(template: str, instance: str) -> str | None:
    """``foo@bar.service`` for ``foo@.service`` and ``bar``; None where that is no valid name."""
    name = f"{template.partition('@')[0]}@{instance}.{template.rpartition('.')[2]}"
    return name if kind_of(name) == "instance" else None


def unescape(text: str) -> str | None:
    """Undo systemd-escape: ``-`` is ``/``, ``\\xNN`` a byte (kept as a lone surrogate above 0x7f); None if broken."""
    parts = text.replace("-", "/").split("\\")
    done = parts[0]
    for part in parts[1:]:
        digits = part[1:3]
        if part[:1] != "x" or len(digits) != 2 or not set(digits) <= set("0123456789abcdefABCDEF"):
            return None
        byte = int(digits, 16)
        # A C string ends here.
        if byte == 0:
            return _rejoin(done)
        done += (chr(byte) if byte < 0x80 else chr(0xDC00 + byte)) + part[3:]
    return _rejoin(done)


def unescape_path(text: str) -> str | None:
    """Undo ``systemd-escape --path``; None where the result is no clean absolute path."""
    if text == "-":
        return "/"
    done = unescape(text)
    if not done or done.startswith("/") or done.endswith("/"):
        return None
    parts = done.split("/")
    return None if any(part in ("", ".", "..") for part in parts) else f"/{done}"


def dropin_names(name: str) -> list[str]:
    """The names whose ``.d`` directories hold drop-ins of a unit, the most specific first.

    The name itself, its template, then the same for each prefix: ``foo-bar.service`` has ``foo-.service``.
    (systemd.unit(5), "Description"; unit_file_find_dirs() of src/shared/dropin.c.)
    """
    found = [name]
    kind = kind_of(name)
    if kind == "instance":
        found += dropin_names(template_of(name))
    prefix = _dash_prefix(prefix_of(name))
    if prefix is None:
        return found
    suffix = name.rpartition(".")[2]
    built = f"{prefix}@{instance_of(name)}.{suffix}" if kind == "instance" else f"{prefix}.{suffix}"
    if kind_of(built) is not None:
        found += dropin_names(built)
    return found


def _dash_prefix(prefix: str) -> str | None:
    """``foo-`` for ``foo-bar``; a dash at the end is chopped off first, but only one."""
    for chopped in (False, True):
        dash = prefix.rfind("-")
        if dash <= 0:
            break
        if chopped or prefix[dash + 1 :]:
            return prefix[: dash + 1]
        prefix = prefix[:dash]
    return None


def _rejoin(text: str) -> str:
    """Bytes that together are UTF-8 become characters."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
