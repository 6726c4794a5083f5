"""What a cause consists of: the one place that knows everything about it."""

from __future__ import annotations

from collections.abc import Callable

from remedy.causes.types import Certainty, Evidence, PartialFacts
from remedy.hints import TYPE_CHECKING, Final, Literal
from remedy.value import dataclass, field

if TYPE_CHECKING:
    from remedy.causes.case import Case

Handling = Literal["mend", "advise", "none"]

#: The kinds of mend that plan/mends knows, one function each.
MendKind = Literal[
    "after-driver",
    "architectures",
    "cache-directory",
    "cache-lock",
    "cold-start",
    "cuda-backend",
    "fewer-jobs",
    "host-compiler",
    "library-path",
    "more-time",
    "ninja",
    "ptxas",
    "python-headers",
    "stale-cache",
    "toolkit",
    "unit-text",
]


class Weight:
    """How much a claim rests on; decides before causal rank does which claim is the root."""

    #: Worth a mention beside the root, and never the root: the program said it, went on, and failed of something else.
    ASIDE: Final = 0
    #: A line that other faults write too, with nothing against it.
    HINT: Final = 1
    #: A telling line that the program logged as a warning and went past, or facts without a failing line.
    NOTED: Final = 2
    #: A line that only this cause writes, or an ambiguous one that facts decide.
    DECISIVE: Final = 3


@dataclass(frozen=True)
class Signature:
    """A line that a program writes. ``anchor`` is a literal that every such line holds (the cheap first test);
    ``pattern`` a regular expression searched in the line without its prefixes, empty where the anchor alone tells.
    ``weak`` marks a line that other faults produce too: it never names a cause by itself. ``needs`` is a second
    literal, for an anchor that stands in many other lines: a number can't be an anchor, for lines that differ in
    numbers only count as one.
    """

    anchor: str
    pattern: str = ""
    weak: bool = False
    library: str = ""
    needs: str = ""

    # Nearly a thousand are made at each start, and looked up in dictionaries: by identity, and made three times as fast
    # as by the method that all dataclasses share.
    def __init__(self, anchor: str, pattern: str = "", weak: bool = False, library: str = "", needs: str = "") -> None:
        values = {"anchor": anchor, "pattern": pattern, "weak": weak, "library": library, "needs": needs}
        object.__setattr__(self, "__dict__", values)

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def any_of(
    *anchors: str, pattern: str, weak: bool = False, library: str = "", needs: str = ""
) -> tuple[Signature, ...]:
    """One line that has no literal in common in all its forms: a signature for each."""
    return tuple(Signature(anchor, pattern, weak, library, needs) for anchor in anchors)


@dataclass(frozen=True)
class Claim:
    """A cause's case for itself. ``summary`` empty means the cause's own sentence; ``toolchain`` None likewise.
    ``last_line`` is the number of the last line it rests on that was more than a warning, 0 for none. ``ambiguous``
    says that its lines only tell that something failed, and that what they are put down to stands beside the log."""

    weight: int
    certainty: Certainty
    evidence: tuple[Evidence, ...] = ()
    summary: str = ""
    advice: str = ""
    libraries: tuple[str, ...] = ()
    toolchain: bool | None = None
    last_line: int = 0
    ambiguous: bool = False

    @property
    def of_log(self) -> bool:
        """Whether a line of the log is part of what it rests on."""
        return any(one.kind == "log" for one in self.evidence)


@dataclass(frozen=True)
class Page:
    """The text of ``remedy explain ID``: paragraphs, wrapped when shown. ``sources`` name man pages and libraries."""

    meaning: str
    origin: str
    recognised: str
    mending: str
    avoid: str = ""
    sources: tuple[str, ...] = ()


Judge = Callable[["Case"], Claim | None]


@dataclass(frozen=True)
class Cause:
    """One cause. ``rank`` orders causally: what breaks earlier, and so explains more, is lower.

    ``summary`` is one sentence; ``advice`` the one next step; both may hold ``{names}`` of groups that a signature
    captures, and fall back to the text after ``||`` when none was captured. ``judge`` decides; without one, the
    signatures do. ``statuses`` are systemd's own exit statuses for it (systemd.exec(5), process exit codes),
    ``results`` the unit's Result= values, ``faults`` the kinds of unit/'s faults, ``absences`` those of them that
    the next start would end of, ``load_states`` the LoadState= values that name it by themselves. ``observable``
    causes are those that jit/ would foresee while they last; a ``consequence`` never weighs more than NOTED, for
    whatever else is there explains more; one that holds ``although_up`` is no less the answer to a pasted log in
    which the service came up in the end. ``known_by`` says what facts alone show of it, for one who has no log.
    ``mend`` is the kind of mend that plan/ makes for it, None where ``handling`` is not mend.
    """

    id: str
    title: str
    handling: Handling
    rank: int
    summary: str
    advice: str
    page: Page
    toolchain: bool = False
    signatures: tuple[Signature, ...] = field(default=())
    judge: Judge | None = None
    statuses: tuple[int, ...] = ()
    results: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    absences: tuple[str, ...] = ()
    load_states: tuple[str, ...] = ()
    observable: bool = False
    consequence: bool = False
    although_up: bool = False
    known_by: Callable[[PartialFacts], str | None] | None = None
    mend: MendKind | None = None
