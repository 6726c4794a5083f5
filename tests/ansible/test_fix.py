"""The module's own words: its command line, and what it makes of the events."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from tests.lab.machine import PROJECT

_spec = importlib.util.spec_from_file_location("fix", PROJECT / "ansible/plugins/modules/fix.py")
assert _spec is not None and _spec.loader is not None
fix = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fix)

DEFAULTS = {name: argument.get("default") for name, argument in fix.ARGUMENTS.items()} | {"unit": "a.service"}


def result(outcome: str, **more: Any) -> dict[str, Any]:
    return {"event": "result", "outcome": outcome, "exit": 0, "transaction": None, "cause": "c", "reason": "", **more}


@pytest.mark.parametrize(
    ("options", "check", "argv"),
    [
        ({}, False, "remedy fix --json --yes -- a.service"),
        ({}, True, "remedy fix --json --dry-run -- a.service"),
        (
            {"edit": "drop-in", "timeout": 90.5},
            False,
            "remedy fix --json --yes --edit=drop-in --timeout=90.5 -- a.service",
        ),
        ({"prove": False, "prewarm": False}, False, "remedy fix --json --yes --no-prove --no-prewarm -- a.service"),
        ({"restart": True}, False, "remedy fix --json --yes --restart -- a.service"),
        ({"keep_packages": True, "executable": "/x"}, True, "/x fix --json --dry-run --keep-packages -- a.service"),
    ],
)
def test_the_command(options: dict[str, Any], check: bool, argv: str) -> None:
    assert fix.command(DEFAULTS | options, check) == argv.split()


@pytest.mark.parametrize(
    ("outcome", "changed"),
    [
        ("healthy", True),
        ("planned", True),
        ("nothing-to-do", False),
        ("refused", False),
        ("rolled-back", False),
        ("rollback-incomplete", True),
    ],
)
def test_whether_the_machine_is_other_than_before(outcome: str, changed: bool) -> None:
    assert fix.described([result(outcome)])["changed"] is changed


def test_the_edits_are_the_diff() -> None:
    steps = [{"kind": "edit-file", "diff": "--- a\n+++ b\n"}, {"kind": "restart-unit"}]
    values = fix.described([{"event": "plan", "steps": steps}, result("planned")])
    assert values["diff"] == [{"prepared": "--- a\n+++ b\n"}]


def test_what_is_no_event_is_left_out() -> None:
    assert fix.events('x\n[1]\n\n{"event": "plan"}\n{"ev') == [{"event": "plan"}]
    assert fix.events(json.dumps(result("healthy"))) == [result("healthy")]


@pytest.mark.parametrize(
    ("told", "stderr", "message"),
    [
        ([result("rolled-back", reason="boom")], "", "rolled-back (c): boom"),
        ([result("refused", cause=None)], "", "refused"),
        ([], "remedy: there is no unit x\n", "remedy came to no outcome: remedy: there is no unit x"),
        ([], "", "remedy came to no outcome: it said nothing"),
    ],
)
def test_the_message(told: list[dict[str, Any]], stderr: str, message: str) -> None:
    assert fix.message(fix.described(told), stderr) == message
