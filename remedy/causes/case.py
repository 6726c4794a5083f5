"""One case: what the log, the facts, the libraries and the unit say, ready to be asked by the causes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from remedy.causes.entry import Cause, Claim, Signature, Weight
from remedy.causes.lines import Line
from remedy.causes.types import Certainty, Evidence, PartialFacts
from remedy.facts.types import Interpreter, UnitState
from remedy.hints import Final
from remedy.jit.types import Problem
from remedy.unit.types import Fault
from remedy.value import dataclass, field

#: Evidence shown for one finding: enough to believe it, not the log again.
MOST_EVIDENCE = 4


@dataclass(frozen=True)
class Hit:
    """A signature found in a line, with what its pattern captured."""

    line: Line
    groups: Mapping[str, str] = field(default_factory=dict)
    library: str = ""

    def evidence(self) -> Evidence:
        """The line as evidence."""
        return Evidence("log", self.line.text.strip(), self.line.source)


@dataclass(frozen=True)
class LibraryProblem:
    """A problem that a JIT library will have here, as jit/ foresees it."""

    library: str
    problem: Problem


def _not_known() -> bool:
    return False


@dataclass(frozen=True)
class Case:
    """Everything known. ``found`` maps each signature to its hits in log order; ``lines`` counts the log's lines;
    ``errors`` are its first error-like lines, ``ready`` the last line that says the service is up, ``died`` the last
    that tells of its end. ``resolved`` says that jit/ was asked, so that no problem means none; ``load_state`` and
    ``environment_known`` are the unit's."""

    facts: PartialFacts = field(default_factory=PartialFacts)
    found: Mapping[Signature, tuple[Hit, ...]] = field(default_factory=dict)
    problems: tuple[LibraryProblem, ...] = ()
    faults: tuple[Fault, ...] = ()
    state: UnitState | None = None
    lines: int = 0
    errors: tuple[Line, ...] = ()
    last: Line | None = None
    #: The last line that is the program's own, where the manager's are known from it.
    own_last: Line | None = None
    ready: Line | None = None
    died: Line | None = None
    #: Where a fact stands, by its field name or variable: ``{"CUDA_HOME": "/etc/default/sglang:3"}``.
    places: Mapping[str, str] = field(default_factory=dict)
    #: The unit's own sandbox settings, by name, with their places.
    sandbox: Mapping[str, Evidence] = field(default_factory=dict)
    #: What the unit says of itself, for sentences: its ``user``, ``directory`` and ``python``.
    words: Mapping[str, str] = field(default_factory=dict)
    resolved: bool = False
    interpreter: Interpreter | None = None
    #: Whether the program never ran, or the log's tracebacks are complete, and none went through any JIT library; asked
    #: where it matters only.
    from_elsewhere: Callable[[], bool] = field(default_factory=lambda: _not_known)
    #: Whether a traceback is complete and none went through a JIT library: the log's last word was raised there.
    raised_elsewhere: Callable[[], bool] = field(default_factory=lambda: _not_known)
    #: Whether the program failed and left lines of which none speaks of a compiler or names a JIT library's file.
    silent_on_compilers: Callable[[], bool] = field(default_factory=lambda: _not_known)
    load_state: str = "loaded"
    environment_known: bool = True

    @property
    def came_up(self) -> bool:
        """Whether the log ends with a service that is up. One that was pasted and ends in an exception was pasted for
        that; in a unit's own journal it may be a request's."""
        if self.ready is None or (self.died is not None and self.died.number > self.ready.number):
            return False
        last = self.last_word
        raised = last is not None and not last.quiet and re.match(_RAISED, last.text.strip()) is not None
        return self.state is not None or not raised

    @property
    def ends_in_error(self) -> bool:
        """Whether the program's last word was logged as an error, whatever it says."""
        return self.last_word is not None and self.last_word.level == "error"

    @property
    def last_word(self) -> Line | None:
        """The program's last line, behind which its manager may say how it ended."""
        return self.own_last or self.last

    def hits(self, *signatures: Signature) -> tuple[Hit, ...]:
        """All hits of these signatures, in log order."""
        hits = [hit for signature in signatures for hit in self.found.get(signature, ())]
        return tuple(sorted(hits, key=lambda hit: hit.line.number)) if len(signatures) > 1 else tuple(hits)

    def has(self, *signatures: Signature) -> bool:
        """Whether any of these was seen."""
        return any(signature in self.found for signature in signatures)

    def ends_with(self, hits: tuple[Hit, ...]) -> bool:
        """Whether one of these is the last word; what a person pasted below it may follow."""
        return bool(hits) and self.last is not None and self.last.number - hits[-1].line.number <= _NEAR

    def foreseen(self, cause_id: str) -> tuple[LibraryProblem, ...]:
        """What jit/ foresees under this cause, fatal problems first."""
        found = [item for item in self.problems if item.problem.cause == cause_id]
        return tuple(sorted(found, key=lambda item: not item.problem.fatal))

    def fact(self, text: str, field_name: str = "") -> Evidence:
        """A fact as evidence, with its place where one is known."""
        return Evidence("fact", text, self.places.get(field_name, ""))

    def variable(self, name: str) -> str | None:
        """An environment variable of the case, None where it is not known or not set."""
        value = self.facts.env.get(name)
        if value is None and name == "CUDA_HOME":
            return self.facts.cuda_home
        return value


#: An exception as Python prints it, with or without its words, or a server's answer that is an error.
_RAISED: Final = r"(?:[\w.]+\.)?\w+(?:Error|Exception)(?:: |:?$)|\{? *\"error(?:_type)?\": ?[{\"]"

#: Lines of one message stand this near to one another; of several ranks at once, so many times as far.
_NEAR = 2
_RANKS = 16


def near(first: Hit, second: Hit) -> bool:
    """Whether two lines belong to one message: next to one another, or in the words of one of several ranks."""
    apart = abs(first.line.number - second.line.number)
    same = first.line.writer != "" and first.line.writer == second.line.writer
    return apart <= (_NEAR * _RANKS if same else _NEAR)


def weigh(hits: Iterable[Hit]) -> int:
    """DECISIVE where any of the lines was more than a warning."""
    return Weight.NOTED if all(hit.line.quiet for hit in hits) else Weight.DECISIVE


def claim_from(
    hits: tuple[Hit, ...],
    facts: tuple[Evidence, ...] = (),
    *,
    certainty: Certainty | None = None,
    weight: int | None = None,
    summary: str = "",
    advice: str = "",
    toolchain: bool | None = None,
) -> Claim | None:
    """A claim on these lines and facts; None without either. Confirmed where both agree, else likely."""
    if not hits and not facts:
        return None
    loud = [hit for hit in hits if not hit.line.quiet] or list(hits)
    shown = tuple(hit.evidence() for hit in _distinct(loud))[:MOST_EVIDENCE]
    return Claim(
        weight=weight if weight is not None else (weigh(hits) if hits else Weight.NOTED),
        certainty=certainty or ("confirmed" if hits and facts else "likely"),
        evidence=shown + facts,
        summary=summary,
        advice=advice,
        libraries=tuple(sorted({hit.library for hit in hits if hit.library})),
        toolchain=toolchain,
        last_line=max((hit.line.number for hit in hits if not hit.line.quiet), default=0),
    )


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """The first of each text: eight ranks say the same thing."""
    seen: dict[str, Hit] = {}
    for hit in hits:
        seen.setdefault(hit.line.text.strip(), hit)
    return list(seen.values())


def by_signatures(case: Case, cause: Cause) -> Claim | None:
    """The default judge: a telling line names the cause, a weak one hints at it."""
    telling = case.hits(*(s for s in cause.signatures if not s.weak))
    if telling:
        return claim_from(telling)
    weak = case.hits(*(s for s in cause.signatures if s.weak))
    return claim_from(weak, certainty="possible", weight=Weight.HINT) if weak else None
