"""What a service says of itself: which lines mean ready, which mean that nothing will come of the start, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from remedy.causes.lines import normalise
from remedy.causes.telling import TRACEBACK, last_raised, says_only_that
from remedy.facts.types import LogLine
from remedy.gate.kept import Kept
from remedy.gate.types import Expectation
from remedy.hints import Final

#: Characters of a line in a reason, and lines before the end among which the exception is looked for.
_SHOWN: Final = 200
_LAST: Final = 500


class Words:
    """The lines of one start, and what is to be taken from them."""

    def __init__(self, expect: Expectation) -> None:
        self.kept = Kept()
        self._ready = [re.compile(pattern) for pattern in expect.ready]
        self._fatal = [re.compile(pattern) for pattern in expect.fatal]

    @property
    def has_ready_line(self) -> bool:
        """Whether the service is known to say when it is ready."""
        return bool(self._ready)

    def ready(self, text: str) -> bool:
        """Whether a line says that the service is ready."""
        return any(pattern.search(text) for pattern in self._ready)

    def fatal(self, text: str) -> bool:
        """Whether a line says that the start has failed. What is logged as a warning was survived: a worker's retry."""
        return any(pattern.search(text) for pattern in self._fatal) and not normalise(text, 0).quiet

    def awaits_more(self, text: str) -> bool:
        """Whether the lines that say why are still to come after this one."""
        return says_only_that(text) and self._raised() is None

    def why(self, event: str) -> str:
        """What ended the start, with the exception that its lines end in: ``event`` says it in the manager's words."""
        raised = self._raised()
        return f"{event}; {raised}" if raised else event

    def why_fatal(self, text: str) -> str:
        """The same for a fatal line. A line that only announces the failure gives way to the exception."""
        said = f"the service logged: {normalise(text, 0).text.partition(TRACEBACK)[0].strip(' :')[:_SHOWN]}"
        raised = self._raised() if says_only_that(text) else None
        return f"{raised} (then {said})" if raised else said

    def _raised(self) -> str | None:
        found = last_raised((line.pid, line.text) for line in self._last_lines())
        return f"{found.writer or 'the service'} raised {found.text[:_SHOWN]}" if found else None

    def _last_lines(self) -> Iterable[LogLine]:
        own = [line for line in islice(self.kept.newest(), _LAST) if not line.from_manager]
        return reversed(own)
