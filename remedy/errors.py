"""Errors that a person is meant to read, each with its exit code."""

from __future__ import annotations

from remedy.hints import Final


class Exit:
    """Exit codes of every command; they are a contract with scripts. Plain numbers: making an IntEnum takes every start
    as long as importing three modules."""

    DONE: Final = 0
    INTERNAL: Final = 1
    USAGE: Final = 2
    PROBLEM: Final = 3
    NOT_MENDABLE: Final = 4
    ROLLED_BACK: Final = 5
    ROLLBACK_INCOMPLETE: Final = 6
    REFUSED: Final = 7
    INTERRUPTED: Final = 130


class RemedyError(Exception):
    """One clear message, an optional hint on how to mend it, and the exit code of the command."""

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int = Exit.INTERNAL) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code

    @property
    def words(self) -> str:
        """Message and hint in one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(RemedyError):
    """Bad input: the unit does not exist, is no service, an option has a bad value."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, exit_code=Exit.USAGE)


class Refused(RemedyError):
    """Nothing was touched: rights, a held lock, a masked unit, a failed proof."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint, exit_code=Exit.REFUSED)
