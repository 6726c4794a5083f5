from __future__ import annotations

import pytest

from remedy.facts.types import Version
from remedy.jit import arch_list, suffix_for
from remedy.jit.flashinfer_archs import Archs, detected, listed
from remedy.jit.tables import Capability


@pytest.mark.parametrize(
    ("version", "gpu", "cuda", "targets"),
    [
        ("0.6.6", (12, 0), (12, 8), ("120a",)),
        ("0.6.7.post3", (12, 0), (12, 8), ()),
        ("0.6.7.post3", (12, 1), (13, 0), ("120f",)),
        ("0.6.8.post1", (12, 1), (13, 0), ("121a",)),
        ("0.6.8.post1", (12, 0), (13, 0), ("120f",)),
        ("0.6.8.post1", (12, 0), (12, 8), ()),
        ("0.7.1", (12, 0), (12, 8), ("120a",)),
        ("0.7.1", (12, 1), (12, 8), ()),
        ("0.7.4", (12, 0), (13, 0), ("120f",)),
        ("0.6.8.post1", (9, 0), (12, 4), ("90a",)),
        ("0.6.8.post1", (8, 9), (12, 4), ("89",)),
    ],
)
def test_detection(version: str, gpu: Capability, cuda: Version, targets: tuple[str, ...]) -> None:
    assert detected(version, [gpu], cuda).targets == targets


def test_a_failure_ends_detection_with_what_was_found() -> None:
    assert detected("0.6.8", [(9, 0), (12, 0), (8, 0)], (12, 8)).targets == ("90a",)


@pytest.mark.parametrize(
    ("version", "text", "cuda", "archs"),
    [
        ("0.6.6", "12.0", (12, 8), Archs(("120",))),
        ("0.3.1", "12.0", (12, 8), Archs(("120a",))),
        ("0.6.8", "12.0f", (12, 8), Archs(("120f",))),
        ("0.6.8", "12.0", (12, 8), Archs(error="RuntimeError: SM 12.x requires CUDA >= 12.9")),
        ("0.6.8", "9.0a 12.0", (13, 0), Archs(("90a", "120f"))),
    ],
)
def test_lists(version: str, text: str, cuda: Version, archs: Archs) -> None:
    assert listed(version, text, cuda) == archs


@pytest.mark.parametrize("text", ["", "12", "12.0 ", "12.0  9.0", "12.0,9.0", "12.0;9.0", "x.0", "12.0.1", "12."])
def test_malformed_lists_raise_at_import(text: str) -> None:
    assert (listed("0.6.8", text, (13, 0)).error or "").startswith(("ValueError", "IndexError"))


@pytest.mark.parametrize(
    ("version", "gpus", "cuda", "value"),
    [
        ("0.6.8.post1", [(12, 0)], (13, 0), "12.0f"),
        ("0.6.8.post1", [(12, 0)], (12, 8), None),
        ("0.7.2", [(12, 0)], (12, 8), "12.0a"),
        ("0.6.6", [(12, 0)], (13, 0), "12.0a"),
        ("0.6.7", [(12, 0), (12, 1)], (13, 0), "12.0f"),
        ("0.6.8", [(12, 1), (9, 0)], (13, 0), "9.0a 12.1a"),
        ("0.6.8", [(8, 9)], (13, 0), "8.9"),
        ("0.2.5", [(12, 0)], (13, 0), None),
        ("0.6.8", [], (13, 0), None),
    ],
)
def test_the_value_for_the_unit(version: str, gpus: list[Capability], cuda: Version, value: str | None) -> None:
    assert arch_list(version, gpus, cuda) == value


def test_what_is_written_is_read_back_as_detection_has_it() -> None:
    for version in ("0.3.1", "0.4.1", "0.6.6", "0.6.7", "0.6.8", "0.7.1"):
        for gpu in ((8, 0), (9, 0), (10, 0), (12, 0), (12, 1)):
            text = arch_list(version, [gpu], (13, 0))
            assert text is not None
            assert listed(version, text, (13, 0)).targets == detected(version, [gpu], (13, 0)).targets


def test_suffixes() -> None:
    assert suffix_for("0.6.8", (12, 0), (13, 0)) == "f"
    assert suffix_for("0.6.8", (12, 0), (12, 8)) is None
    assert suffix_for("0.6.8", (8, 0), (12, 8)) == ""
