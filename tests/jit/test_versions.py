from __future__ import annotations

import pytest

from remedy.jit import versions

ASCENDING = [
    "0.2.0.post2",
    "0.2.5",
    "0.6.7rc1",
    "0.6.7",
    "0.6.7.post3",
    "0.6.8.dev20260101",
    "0.6.8a1",
    "0.6.8",
    "0.6.8.post1",
    "0.6.11",
    "0.6.11.post1",
    "0.6.12",
    "0.7.0.post1",
    "0.7.1",
    "0.10.0",
    "1.0",
    "2.9.1+cu128",
    "2.11.0+cu130",
    "14.0.0",
]


def test_releases_compare_as_pep_440_orders_them() -> None:
    packaging = pytest.importorskip("packaging.version")
    assert sorted(ASCENDING, key=packaging.Version) == ASCENDING
    assert sorted(ASCENDING[3:] + ASCENDING[:3], key=versions.key) == ASCENDING


@pytest.mark.parametrize("odd", ["", "unknown", "0.0.0+unknown", "v", "...", "1..2", "post", "²"])
def test_odd_texts_have_a_key(odd: str) -> None:
    assert len(versions.key(odd)) == 6


@pytest.mark.parametrize(
    ("version", "low", "below", "within"),
    [
        ("0.6.11", "0.4.0", "0.6.11.post1", True),
        ("0.6.11.post1", "0.4.0", "0.6.11.post1", False),
        ("0.4.0", "0.4.0", "0.5", True),
        ("0.5.18.dev12+g1234", "0.5.18", "0.6", False),
    ],
)
def test_ranges_are_half_open(version: str, low: str, below: str, within: bool) -> None:
    assert versions.between(version, low, below) is within


@pytest.mark.parametrize(
    ("text", "found"),
    [("13.0", (13, 0)), ("12.8.93", (12, 8)), (None, None), ("", None), ("13", None), ("cpu", None), ("a.b", None)],
)
def test_cuda_releases_are_read(text: str | None, found: tuple[int, int] | None) -> None:
    assert versions.cuda(text) == found
