"""Literals in a text, by either way of looking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remedy.causes.anchors import _FEW, Anchors

WORDS = ("nvcc fatal", "sm75", "nvcc", "ab", ": error:", "error", "CUDA >=", "x")
PIECES = st.sampled_from([*WORDS, "nv", "cc", " ", "sm", "75", "CUDA", " >", "=", "prose of small letters"])


def indexed() -> Anchors:
    anchors = Anchors(WORDS)
    for _ in range(_FEW):
        anchors.within("")
    return anchors


INDEXED = indexed()


@given(st.lists(PIECES, max_size=30).map("".join))
def test_the_index_finds_what_a_plain_search_finds(text: str) -> None:
    wanted = {word for word in WORDS if word in text}
    assert set(Anchors(WORDS).within(text)) == wanted
    assert set(INDEXED.within(text)) == wanted
