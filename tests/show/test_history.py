"""The list of what was done, and of what failed units were found to have."""

from __future__ import annotations

from remedy.change.types import Record
from remedy.facts.reports import FailureReport
from remedy.show.history import history_text, report_json

RECORD = Record("20260101-a1", "a.service", "nvcc-too-old", 0.0, "healthy", "", (), "/var/lib/remedy/x")
REPORT = FailureReport("b.service", "gpu-missing", "likely", "No GPU; HF_TOKEN=hf_abcdefghijkl\x1b[2J", 0.0)


def test_nothing_was_done() -> None:
    assert history_text((), 80) == "No change was ever made by remedy on this machine."


def test_verdicts_stand_below_the_changes() -> None:
    text = history_text((RECORD,), 80, (REPORT,))
    assert text.index("20260101-a1  healthy") < text.index("Diagnosed when they failed")
    assert text.endswith("b.service: gpu-missing (likely)")


def test_a_verdict_as_json_is_no_transaction_and_holds_no_secret() -> None:
    value = report_json(REPORT, lambda text: text.replace("hf_abcdefghijkl", "***"))
    assert (value["report"], value["cause"], value["unit"]) == ("diagnosis", "gpu-missing", "b.service")
    assert value["summary"] == "No GPU; HF_TOKEN=***"
    assert "transaction" not in value
