"""What is decided between the plan and the change."""

from __future__ import annotations

import pytest

from remedy.plan.types import Plan, RestartUnit
from remedy.repair import Wishes, left_alone


@pytest.mark.parametrize(
    ("interrupts", "restart", "expected", "why"),
    [
        (None, False, 630.0, None),
        ("a.service runs well now", True, 630.0, None),
        (
            "a.service runs well now",
            False,
            630.0,
            "a.service runs well now; its last good start took 630 s. When it may be interrupted: "
            "remedy fix a.service --restart",
        ),
        (
            "a.service runs well now",
            False,
            None,
            "a.service runs well now. When it may be interrupted: remedy fix a.service --restart",
        ),
    ],
    ids=["failed", "told-to", "runs", "no-earlier-start"],
)
def test_a_service_that_does_not_fail_is_left_alone(
    interrupts: str | None, restart: bool, expected: float | None, why: str | None
) -> None:
    plan = Plan("a.service", "nvcc-too-old", (RestartUnit("a.service", True, expected),), interrupts=interrupts)
    assert left_alone(plan, Wishes(restart=restart)) == why
