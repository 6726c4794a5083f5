"""Commands in our own sentences, read on another machine than they were said on."""

from __future__ import annotations

import pytest

from remedy.show.host import CHANGES, LOOKS, VARIABLE, typed


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("remedy fix a.service --dry-run", "remedy --host guest@gpu-1 fix a.service --dry-run"),
        ("`remedy show a`; `remedy fix a`", "`remedy --host guest@gpu-1 show a`; `remedy --host guest@gpu-1 fix a`"),
        ("run remedy fix again", "run remedy --host guest@gpu-1 fix again"),
        ("sudo remedy history", "remedy --host root@gpu-1 history"),
        ("sudo remedy …", "remedy --host root@gpu-1 …"),
        ("remedy explain nvcc-too-old", "remedy explain nvcc-too-old"),
        ("remedy itself failed; the remedy: a fix", "remedy itself failed; the remedy: a fix"),
        ("remedy fixed it", "remedy fixed it"),
    ],
)
def test_commands_lead_back_to_the_machine(said: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert typed(said) == said
    monkeypatch.setenv(VARIABLE, "guest@gpu-1")
    assert typed(said) == read


@pytest.mark.parametrize("command", sorted(LOOKS | CHANGES))
def test_every_command_for_a_host_leads_back(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "[fe80::1%eth0]")
    assert typed(f"remedy {command}") == f"remedy --host [fe80::1%eth0] {command}"
