"""The page of a cause."""

from __future__ import annotations

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
