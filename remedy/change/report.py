"""A verdict that is kept: one structured entry in the journal, which any user may write."""

from __future__ import annotations

from remedy.causes.types import Finding
from remedy.errors import RemedyError
from remedy.facts.reports import MESSAGE_ID


def report(unit: str, finding: Finding) -> None:
    """Log what was found about a unit. Raises RemedyError where there is no journal to write to."""
    try:
        from systemd import journal
    except ImportError:
        from remedy.gate import libsystemd as journal

    message = f"{unit}: {finding.id} ({finding.certainty}): {finding.summary}"
    try:
        journal.send(
            message,
            MESSAGE_ID=MESSAGE_ID,
            PRIORITY="5",
            SYSLOG_IDENTIFIER="remedy",
            REMEDY_UNIT=unit,
            REMEDY_CAUSE=finding.id,
            REMEDY_CERTAINTY=finding.certainty,
            REMEDY_SUMMARY=finding.summary,
        )
    except OSError as error:
        raise RemedyError(f"the journal takes no entry: {error.strerror}") from error
