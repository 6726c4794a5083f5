"""The verdict on a start."""

from __future__ import annotations

from remedy.facts.types import LogLine
from remedy.hints import Literal
from remedy.value import dataclass

State = Literal["healthy", "failed", "undecided"]


class ApiKey(str):
    """A key that requests must bear; it shows itself to nobody who prints what holds it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'" if self else "''"


@dataclass(frozen=True)
class Expectation:
    """How health is recognised: ``ready`` are regular expressions of ready lines, ``fatal`` of lines that end the
    wait at once, ``health_url`` is probed once a ready line came or the port listens (``any_answer``: it need not be a
    good one), ``timeout`` and ``settle`` in seconds; ``expected`` is the length of the last good start, None where
    there was none. ``generate_url`` is asked for one token, with the first model of ``models_url`` where there is one.
    Where nobody chose the timeout (``soft``), a start that is seen to get on is given more. ``elsewhere`` is a server
    in a container: a daemon starts it and forwards its ports, and the unit's control group shows nothing of either.
    """

    ready: tuple[str, ...] = ()
    fatal: tuple[str, ...] = ()
    health_url: str | None = None
    any_answer: bool = False
    models_url: str | None = None
    generate_url: str | None = None
    generate_body: str = ""
    api_key: ApiKey = ApiKey()
    timeout: float = 1800.0
    settle: float = 2.0
    expected: float | None = None
    soft: bool = False
    elsewhere: bool = False


@dataclass(frozen=True)
class Progress:
    """Something worth showing during a start: ``phase`` (weights, kernels, graph-capture, ready-line, health, …; log
    for a line that belongs to none), ``done`` of ``total`` where counted, ``line`` the telling log line, ``elapsed``
    and ``expected`` (what the last good start took) in seconds."""

    phase: str
    elapsed: float
    line: str = ""
    done: int | None = None
    total: int | None = None
    expected: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The end of a watch. ``reason`` in one sentence; ``decided_by`` names the signal (job, state, restart, line,
    health, timeout, hang); ``elapsed`` seconds from the start; ``log`` the invocation's lines, for the new diagnosis.
    """

    state: State
    reason: str
    decided_by: str
    elapsed: float
    log: tuple[LogLine, ...] = ()
    invocation: str = ""
