"""What a TAB offers."""

from __future__ import annotations

from remedy.cli.complete import causes, services
from remedy.facts.run import Result
from tests.facts.answers import Answers

ARGV = ("systemctl", "list-unit-files", "--type=service", "--no-legend", "--no-pager", "--plain")
LISTED = b"getty@.service enabled enabled\nsglang-k26.service disabled enabled\nssh.service enabled enabled\n\n"


def test_services() -> None:
    there = Answers({ARGV: Result(0, LISTED)})
    assert services("s", there) == ["sglang-k26.service", "ssh.service"]
    assert services("g", there) == []
    assert services("", Answers({})) == []


def test_causes() -> None:
    assert causes("nvcc-too") == ["nvcc-too-new", "nvcc-too-old"]
    assert causes("x") == []
