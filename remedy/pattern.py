"""Regular expressions that are compiled when they are first used: compiling costs a tenth of a millisecond each,
and a command uses a few of those that the modules it imports define.
"""

from __future__ import annotations

from remedy.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:
        """As ``re.compile``; the functions of the ``re`` module do not take it in place of one."""

        def __init__(self, source: str | bytes, flags: int = 0) -> None:
            self._source = source
            self._flags = flags

        def __getattr__(self, name: str) -> Any:
            from re import compile

            # Kept as our own attribute, so that this is asked once for each name.
            found = self.__dict__[name] = getattr(compile(self._source, self._flags), name)
            return found


__all__ = ["pattern"]
