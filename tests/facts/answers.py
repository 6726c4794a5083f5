"""A runner that gives recorded answers, for tests of what is asked and how the answers are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remedy.facts.accounts import Account
from remedy.facts.run import Done, Result, Running


class Answers:
    """Answers by argv; ``asked`` is what was run, in order."""

    def __init__(self, answers: Mapping[tuple[str, ...], Result]) -> None:
        self._answers = answers
        self.asked: list[tuple[str, ...]] = []

    def start(
        self,
        argv: Sequence[str],
        *,
        timeout: float,  # noqa: ARG002
        user: Account | None = None,  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        input: bytes | None = None,  # noqa: ARG002
    ) -> Running:
        self.asked.append(tuple(argv))
        return Done(self.answer(tuple(argv)))

    def answer(self, argv: tuple[str, ...]) -> Result:
        """What a program says."""
        return self._answers.get(argv, Result(None, why=f"{argv[0]} is not there or not executable"))
