"""The names of ``typing`` that stand in annotations, without its import: that takes a quarter as long as a bare
interpreter's start, and says nothing that a running program needs to know.

A type checker sees the standard library's. A command that decodes by annotations (``change.codec``) sees of a
``Literal`` the type of its values.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import Final as Final
    from typing import Literal as Literal
    from typing import Protocol as Protocol
    from typing import TextIO as TextIO
    from typing import TypeVar as TypeVar
else:
    Any = Final = TextIO = object

    class Literal:
        """``Literal["a", "b"]`` is ``str``."""

        def __class_getitem__(cls, values):
            return type(values[0] if isinstance(values, tuple) else values)

    class Protocol:
        """A base class that asks for nothing."""

        __slots__ = ()

    def TypeVar(name):  # noqa: ARG001
        """Stands in signatures only."""
        return object
