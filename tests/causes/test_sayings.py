"""What single lines mean: the errors that libraries, compilers, linkers, loaders and the CUDA runtime have in their own
sources, each with the ids that are right for it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from remedy.causes import catalogue, engine

SAYINGS = [tuple(line.split("\t")) for line in (Path(__file__).parent / "sayings.tsv").read_text().splitlines() if line]


@pytest.mark.parametrize(("ids", "line"), SAYINGS, ids=[line[:60] for _, line in SAYINGS])
def test_a_line_of_a_library_means_this(ids: str, line: str) -> None:
    root = engine.explain([line]).root
    assert root.id in ids.split(",")
    assert root.summary and root.advice


def test_every_id_exists() -> None:
    assert {name for ids, _ in SAYINGS for name in ids.split(",")} <= {cause.id for cause in catalogue.causes()}
