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


# How a paste ends that was cut at a length: before the closing quote, or amid a word.
CUT = [
    ("nvcc-not-found", "FileNotFoundError: [Errno 2] No such file or directory: 'nvcc"),
    ("ninja-missing", "FileNotFoundError: [Errno 2] No such file or directory: 'ninja"),
    (
        "python-package-conflict",
        "ImportError: cannot import name 'LogitsWarper' from 'transformers.generation.logits_pro",
    ),
    ("ptxas-too-old", "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name"),
    ("driver-mismatch", "Failed to initialize NVML: Driver/library version mismatc"),
    ("toolkit-mixed", "CUDA_VERSION: 12.8\nCUDA compiler and CUDA toolkit headers are incompat"),
    ("gpu-missing", "AssertionError: Torch not compiled with CUDA en"),
    ("nvcc-too-old", "nvcc fatal   : Unsupported gpu architecture 'compute_89"),
    ("unknown", "nvcc fatal   : Unsupported gpu architecture 'compute_"),
    ("unknown", "RuntimeError: CUDA error"),
]


@pytest.mark.parametrize(("expected", "log"), CUT)
def test_the_end_of_a_cut_paste_is_completed(expected: str, log: str) -> None:
    assert engine.explain(log.splitlines()).root.id == expected
