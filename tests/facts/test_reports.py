"""Verdicts that stand in the journal."""

from __future__ import annotations

import json

import pytest

from remedy.facts.reports import FailureReport, reports
from remedy.facts.run import Result
from tests.facts.answers import Answers

ENTRY = {
    "__REALTIME_TIMESTAMP": "1700000000500000",
    "_SYSTEMD_UNIT": "remedy@a.service.service",
    "_UID": "61184",
    "REMEDY_UNIT": "a.service",
    "REMEDY_CAUSE": "nvcc-too-old",
    "REMEDY_CERTAINTY": "likely",
    "REMEDY_SUMMARY": "The nvcc is too old.",
}
REPORT = FailureReport("a.service", "nvcc-too-old", "likely", "The nvcc is too old.", 1700000000.5)


class Journal(Answers):
    """Answers whatever journalctl is asked."""

    def __init__(self, text: str) -> None:
        super().__init__({})
        self._text = text

    def answer(self, argv: tuple[str, ...]) -> Result:
        assert argv[0] == "journalctl"
        return Result(0, self._text.encode())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (json.dumps(ENTRY), (REPORT,)),
        (json.dumps(ENTRY | {"_SYSTEMD_UNIT": "ssh.service", "_UID": "0"}), (REPORT,)),
        # Anyone may log such an entry; only journald says who did.
        (json.dumps(ENTRY | {"_SYSTEMD_UNIT": "user@1000.service", "_UID": "1000"}), ()),
        (json.dumps({name: value for name, value in ENTRY.items() if not name.startswith("_S")}), ()),
        # journalctl writes null for what is too long, and a list of bytes for what is no text.
        (
            json.dumps(ENTRY | {"REMEDY_SUMMARY": None}),
            (FailureReport("a.service", "nvcc-too-old", "likely", "", 1700000000.5),),
        ),
        (json.dumps(ENTRY | {"_SYSTEMD_UNIT": [1, 2]}), ()),
        ("[]", ()),
        ("no JSON", ()),
        ("", ()),
    ],
)
def test_entries(line: str, expected: tuple[FailureReport, ...]) -> None:
    assert reports(Journal(line)) == expected


def test_no_journal() -> None:
    assert reports(Answers({})) == ()
