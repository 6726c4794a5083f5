"""The page of a cause."""

from __future__ import annotations

import pytest

from remedy.causes import catalogue
from remedy.causes.entry import Cause
from remedy.errors import UsageError
from remedy.show.explain import index, page


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
    assert len(index().splitlines()) == len(catalogue.causes())


def test_an_unknown_page() -> None:
    with pytest.raises(UsageError):
        page("nvcc")
