"""Literals in a text, against a plain search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remedy.causes.anchors import Anchors

WORDS = ("nvcc fatal", "sm75", "nvcc", "ab", ": error:", "error", "CUDA >=", "x")
PIECES = st.sampled_from([*WORDS, "nv", "cc", " ", "sm", "75", "CUDA", " >", "=", "prose of small letters"])
ANCHORS = Anchors(WORDS)


@given(st.lists(PIECES, max_size=300).map("".join))
def test_what_a_plain_search_finds(text: str) -> None:
    assert sorted(ANCHORS.within(text)) == sorted(word for word in WORDS if word in text)
