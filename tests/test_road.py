"""The road's first step: the unit is found, or the error names the one that may have been meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from remedy.errors import UsageError
from remedy.road import load_service, tree


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("sglang-k62", "did you mean sglang-k26.service?"),
        ("sglang-26.service", "did you mean sglang-k26.service?"),
        # All services end alike: that alone makes none of them a likely one.
        ("nosuch", "systemctl list-unit-files lists what is there"),
    ],
)
def test_a_unit_that_is_not_there(tmp_path: Path, asked: str, hint: str) -> None:
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    for name in ("sglang-k26.service", "e1.service", "nightly.timer"):
        (units / name).write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(UsageError) as error:
        load_service(asked, tree(str(tmp_path)))
    assert error.value.hint == hint
