"""What a program went past: failures in its log that it survived, and ended of something else.

Servers log whole failed builds and imports as warnings, do without what they would have brought, and run for hours; a
log holds earlier starts as well. Such lines are worth a mention, and are no verdict.
"""

from __future__ import annotations

import re

from remedy.causes import reading
from remedy.causes.case import Case
from remedy.causes.entry import Cause, Claim, Weight
from remedy.causes.shared import BUILD_FAILED, FELL_BACK, NOT_IMPORTED, RAISED
from remedy.causes.telling import says_only_that, speaks_of_compilers
from remedy.hints import Final
from remedy.value import replace


def aside(case: Case, cause: Cause, claim: Claim, others: tuple[Claim, ...]) -> Claim:
    """A toolchain claim that rests on warnings alone, in a log that fails of something else, is no verdict: servers
    log whole failed builds as warnings and go on without them. Where the libraries would meet it here, it is one as
    long as no traceback leads elsewhere."""
    met = claim.certainty == "confirmed" and any(one.problem.fatal for one in case.foreseen(cause.id))
    if cause.toolchain and claim.last_line and (_survived(case, claim, others) or _came_up_since(case, claim, others)):
        return replace(claim, weight=Weight.ASIDE, certainty="possible")
    if claim.ambiguous and not claim.of_log and others:
        # Facts that no line speaks of may explain a silence, and nothing that the log tells of.
        return replace(claim, weight=Weight.ASIDE, certainty="possible")
    if claim.ambiguous and any(other.weight == Weight.DECISIVE for other in others):
        # What the log itself says comes before what its lines may be put down to.
        return replace(claim, weight=Weight.NOTED, certainty="likely")
    if met and not case.from_elsewhere() and not _ended_after_start(case):
        return claim
    if cause.toolchain and claim.of_log and claim.last_line == 0 and _went_past(case, claim, others):
        return replace(claim, weight=Weight.ASIDE, certainty="possible")
    if not (cause.toolchain and claim.weight == Weight.NOTED and claim.last_line == 0):
        return claim
    failed = bool(others) or _ended_after_start(case)
    if claim.of_log:
        failed = failed or _failed_beside(case, claim)
    if not failed:
        return claim
    return replace(claim, weight=Weight.ASIDE, certainty="possible")


def _failed_beside(case: Case, claim: Claim) -> bool:
    """Whether lines other than the claim's own tell of a failure. Where facts confirm what was warned of, one that only
    says that something failed may well be of that."""
    warned = {one.text for one in claim.evidence}
    ends = (case.last_word if case.ends_in_error else None, case.died)
    beside = [line.text for line in (*case.errors, *ends) if line and line.text.strip() not in warned]
    if claim.certainty == "confirmed":
        return not all(map(says_only_that, beside))
    return bool(beside)


def _went_past(case: Case, claim: Claim, others: tuple[Claim, ...]) -> bool:
    """Whether what was only warned of, however sure, has not ended the program: something else that is known did, or
    an exception that is none of a compiler's."""
    if any(other.weight == Weight.DECISIVE and other.last_line > 0 for other in others):
        return True
    last = case.last_word
    raised = last is not None and not last.quiet and re.match(r"(?:[\w.]+\.)?\w+(?:Error|Exception): ", last.text)
    return bool(raised and not claim.ambiguous and last and not speaks_of_compilers(last.text))


#: What a shell, a script, make or a launcher says of a program that is not there: whatever ran it may go on without.
_SHELLS: Final = (
    r"(?:^|/)(?:[\w.-]*sh|sudo|g?make|env)(?::|\[).*(?:not found|No such file)|^Command '\S+' not found, but"
)

#: What a program makes of the empty answer of a compiler that was not there to be asked.
_UNREAD_ANSWER: Final = r"list index|invalid literal|values to unpack|could not convert|^\w+Error:? *$"

#: Lines behind a refusal in which the program says what it does instead.
_NEXT: Final = 8


#: Lines of the record of a failed import: its traceback, which may be a chain of several.
_RECORD: Final = 60


def _only_an_import(case: Case, claim: Claim) -> bool:
    """Whether the claim's last line stands in the traceback that a warning of a module brought with it: of such a
    record many loggers mark only the first line with its level."""
    begun = [hit.line.number for hit in case.hits(RAISED)]
    warned = [hit.line.number for hit in case.hits(NOT_IMPORTED) if hit.line.quiet and hit.line.number + 1 in begun]
    return any(0 < claim.last_line - number <= _RECORD for number in warned[-1:])


def _came_up_since(case: Case, claim: Claim, others: tuple[Claim, ...]) -> bool:
    """Whether the server came up after the claim's lines, and ended of what is known: those were of an earlier start,
    or of what it does without."""
    ready = case.ready
    if ready is None or claim.last_line >= ready.number:
        return False
    return any(other.weight == Weight.DECISIVE and other.last_line > ready.number for other in others)


def _survived(case: Case, claim: Claim, others: tuple[Claim, ...]) -> bool:
    """Whether the program went past the claim's lines: it ended of data, in a traceback that leads elsewhere; they are
    a shell's, and it ended of something that is known, or of its input; or it said that it does without what they
    refused, and ended of something that is known, or no compiler's."""
    last = case.last_word
    if last and last.number > claim.last_line and reading.ended_elsewhere(case) and case.raised_elsewhere():
        return True
    shells = all(re.search(_SHELLS, one.text) for one in claim.evidence if one.kind == "log")
    known = any(other.weight == Weight.DECISIVE and other.last_line > claim.last_line for other in others)
    if shells and not case.has(*BUILD_FAILED):
        read = last and last.number > claim.last_line and not re.search(_UNREAD_ANSWER, last.text)
        if known or (read and reading.ended_elsewhere(case)):
            return True
    went_on = [hit.line.number for hit in case.hits(*FELL_BACK) if 0 < hit.line.number - claim.last_line <= _NEXT]
    if not went_on and _only_an_import(case, claim):
        went_on = [claim.last_line]
    if not went_on:
        return False
    if any(other.last_line > went_on[-1] for other in others):
        return True
    told = (*case.errors, last) if last and not last.quiet and case.ends_in_error else case.errors
    later = [line for line in told if line.number > went_on[-1] and not says_only_that(line.text)]
    return bool(later) and not any(speaks_of_compilers(line.text) for line in later)


def _ended_after_start(case: Case) -> bool:
    """Whether the service had come up before it ended: what its start needs of a toolchain, it had."""
    over = not case.came_up or (case.state is not None and case.state.active_state == "failed")
    return case.ready is not None and over
