"""The facts file of ``explain``: what parses, what is ignored."""

from __future__ import annotations

import pytest

from remedy.causes import facts_file
from remedy.errors import UsageError

VERSIONS = [
    ("13.0.88", (13, 0, 88)),
    ("12.8 (system), then 13.3 (pip) with 13.0 headers", (12, 8)),
    ("V12.8.93", (12, 8, 93)),
    (12.8, (12, 8)),
    ("2.11.0+cu130", (2, 11, 0)),
    ("(runs, prints no version)", None),
    ("13", None),
    (None, None),
    (["12.8"], None),
    (True, None),
]


@pytest.mark.parametrize(("value", "wanted"), VERSIONS)
def test_versions(value: object, wanted: tuple[int, ...] | None) -> None:
    assert facts_file.dotted_version(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("12.0", (12, 0)), (12.1, (12, 1)), ("sm_90a", (9, 0)), ("sm120", (12, 0)), ("8.9 and 7.5", (8, 9)), ("x", None)],
)
def test_capabilities(value: object, wanted: tuple[int, int] | None) -> None:
    assert facts_file.capability(value) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("RTX PRO 6000 Blackwell Server", (12, 0)),
        ("NVIDIA GeForce RTX 5090", (12, 0)),
        ("DGX Spark GB10", (12, 1)),
        ("8x H200", (9, 0)),
        ("NVIDIA A100-SXM4-40GB", (8, 0)),
        ("Tesla T4", (7, 5)),
        ("Tesla V100-SXM2", (7, 0)),
        ("GTX 1060", (6, 1)),
        ("RTX 4090 + GTX 1080 Ti", None),
        ("4x 16 GB", None),
    ],
)
def test_capabilities_by_name(name: str, wanted: tuple[int, int] | None) -> None:
    assert facts_file.capability_of_name(name) == wanted


def test_a_whole_sheet() -> None:
    facts = facts_file.from_mapping(
        {
            "gpu": "RTX 5090",
            "driver": "560 (12060)",
            "gcc": "13.3.0",
            "env": {"CUDA_HOME": "/x", "PORT": 1, "BAD": ["a"]},
            "silent_s": "600",
            "lock_files": ["/a/lock", 3],
            "colour": "green",
            "nvcc": {"not": "a version"},
        }
    )
    assert facts.sm == (12, 0) and facts.driver == (560,) and facts.gcc == (13, 3, 0)
    assert facts.env == {"CUDA_HOME": "/x", "PORT": "1"}
    assert (facts.silent_s, facts.lock_files, facts.nvcc) == (600.0, ("/a/lock",), None)


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"'])
def test_a_file_that_is_no_object_is_named(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        facts_file.load(text, "/tmp/facts.json")
    assert "/tmp/facts.json" in caught.value.message and caught.value.hint


def test_an_empty_object_knows_nothing() -> None:
    assert facts_file.load("{}").sm is None


@pytest.mark.parametrize("value", ["nan", "inf", "1e999", 10**400, True, [], "soon"])
def test_a_number_that_is_none_is_ignored(value: object) -> None:
    assert facts_file.from_mapping({"silent_s": value}).silent_s is None


def test_half_a_surrogate_pair_can_be_shown() -> None:
    text = r'{"unit": "a\ud800", "cuda_home": "\ud800", "lock_files": ["\ud800"], "env": {"A\ud800": "\ud800"}}'
    facts = facts_file.load(text)
    assert (facts.unit, facts.cuda_home, facts.lock_files, facts.env) == ("a?", "?", ("?",), {"A?": "?"})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_the_encodings_that_editors_and_shells_write(encoding: str) -> None:
    assert facts_file.load('{"nvcc": "12.8"}'.encode(encoding)).nvcc == (12, 8)


def test_what_nests_without_end_is_no_json() -> None:
    with pytest.raises(UsageError, match="not JSON"):
        facts_file.load("[" * 100_000)
