"""The page of a cause."""

from __future__ import annotations

import re

import pytest

from remedy.causes import catalogue
from remedy.causes.entry import Cause
from remedy.errors import UsageError
from remedy.show.explain import index, index_json, page, page_json


@pytest.mark.parametrize("cause", catalogue.causes(), ids=lambda cause: cause.id)
def test_pages_fit_the_screen_and_are_whole(cause: Cause) -> None:
    text = page(cause.id)
    assert text.startswith(f"{cause.id}\n") and text.endswith("\n")
    assert max(map(len, text.splitlines())) <= 80
    words = max(map(len, text.split()))
    assert max(map(len, page(cause.id, 40).splitlines())) <= max(40, words + len("  - "))
    for heading in ("What it means", "How it comes about", "How remedy recognises it", "What mends it"):
        assert f"\n{heading}\n  " in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize(
    ("cause", "lines"),
    [
        ("port-in-use", ["  `ss -ltnp 'sport = :PORT'` names the process."]),
        ("nvcc-too-old", ["  remedy fix UNIT --dry-run    shows the mend, changes nothing", "  `remedy fix UNIT` "]),
        ("start-limit-hit", ["  Mend what made", "  `systemctl reset-failed UNIT && systemctl start UNIT`."]),
    ],
)
def test_the_next_step_is_a_command_in_one_piece(cause: str, lines: list[str]) -> None:
    shown = page(cause).partition("\nNext\n")[2].splitlines()
    assert [line.startswith(wanted) for line, wanted in zip(shown, lines, strict=False)] == [True] * len(lines)
    assert page_json(cause)["next"] in " ".join(page(cause).split())


@pytest.mark.parametrize("cause", catalogue.causes(), ids=lambda cause: cause.id)
def test_no_page_shows_a_gap_that_a_diagnosis_would_fill(cause: Cause) -> None:
    assert not re.search(r"(?<!\$)\{\w+\}|\|\|", page(cause.id))
    assert ("\nNext\n" in page(cause.id)) is (cause.id != "healthy")


def test_the_index_holds_all() -> None:
    ids = [cause.id for cause in catalogue.causes()]
    assert [line.split()[0] for line in index().splitlines() if not line.startswith(" ")] == ids
    assert max(map(len, index(60).splitlines())) <= 60
    assert [cause["id"] for cause in index_json()["causes"]] == ids


def test_a_page_as_an_object() -> None:
    shown = page_json("nvcc-too-old")
    assert (shown["id"], shown["toolchain"], shown["mendable"]) == ("nvcc-too-old", True, True)
    assert shown["meaning"] in " ".join(page("nvcc-too-old", 10_000).split()) and len(shown["sources"]) > 1


def test_an_unknown_page() -> None:
    with pytest.raises(UsageError):
        page("nvcc")
