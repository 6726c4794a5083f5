"""What is said of a start that failed."""

from __future__ import annotations

import pytest

from remedy.causes.types import Diagnosis, Evidence, Finding
from remedy.change.evidence import why
from remedy.gate.types import Verdict

FAILED = Verdict("failed", "the service failed (Result: exit-code, status 1)", "unit", 2.0)
LINE = Evidence("log", "ValueError: no such layer", "journal")


def found(cause: str, *evidence: Evidence) -> Diagnosis:
    return Diagnosis((Finding(cause, True, "likely", False, "The GPU's memory is full.", evidence),))


@pytest.mark.parametrize(
    ("diagnosis", "added"),
    [
        (None, ""),
        (found("healthy"), ""),
        (found("gpu-out-of-memory"), "; The GPU's memory is full. (gpu-out-of-memory)"),
        (found("unknown", LINE), "; ValueError: no such layer"),
        (found("unknown"), ""),
    ],
)
def test_the_cause_stands_behind_what_ended_the_watch(diagnosis: Diagnosis | None, added: str) -> None:
    assert why(FAILED, diagnosis) == FAILED.reason + added


def test_a_line_is_told_once() -> None:
    verdict = Verdict("failed", "the service logged: ValueError: no such layer", "line", 2.0)
    assert why(verdict, found("unknown", LINE)) == verdict.reason
