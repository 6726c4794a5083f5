"""The vocabulary of causes is a contract: ids, kinds, and a page for each."""

from __future__ import annotations

import re

import pytest

from remedy.causes import catalogue
from remedy.causes.entry import Cause
from remedy.errors import UsageError
from remedy.show.secrets import redact

MENDED = [
    "nvcc-not-found",
    "nvcc-too-old",
    "nvcc-torch-mismatch",
    "nvcc-too-new",
    "glibc-too-new",
    "toolkit-mixed",
    "cuda-home-invalid",
    "cuda-headers-missing",
    "cuda-library-not-linkable",
    "host-compiler-missing",
    "host-compiler-unsupported",
    "python-headers-missing",
    "ninja-missing",
    "ptxas-too-old",
    "arch-list-wrong",
    "rocm-selected",
    "jit-cache-stale",
    "jit-cache-unwritable",
    "jit-cache-locked",
    "jit-build-out-of-memory",
    "shared-library-missing",
    "unit-environment",
    "jit-cold-start",
    "gpu-not-ready",
    "start-timeout",
]
ADVISED = [
    "artifact-download-failed",
    "exec-failed",
    "working-directory-missing",
    "user-unknown",
    "environment-file-missing",
    "sandbox-denied",
    "unit-invalid",
    "start-limit-hit",
    "library-version-mismatch",
    "kernel-image-missing",
    "libcuda-missing",
    "driver-too-old",
    "driver-mismatch",
    "gpu-missing",
    "gpu-out-of-memory",
    "oom-killed",
    "disk-full",
    "port-in-use",
    "model-not-found",
    "model-access-denied",
    "python-package-conflict",
    "python-package-missing",
    "nccl-failure",
    "unknown",
]

CAUSES = catalogue.causes()


def test_the_ids_are_the_contract() -> None:
    assert sorted(cause.id for cause in CAUSES) == sorted([*MENDED, *ADVISED, "healthy"])


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_an_entry_is_whole(cause: Cause) -> None:
    assert cause.handling == ("mend" if cause.id in MENDED else "advise" if cause.id in ADVISED else "none")
    assert cause.title and cause.advice and cause.summary.split("||")[0].rstrip().endswith((".", "}"))
    page = cause.page
    assert page.meaning and page.origin and page.recognised and page.mending
    assert cause.judge or cause.signatures or cause.id == "unknown"


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_no_sentence_looks_like_a_secret(cause: Cause) -> None:
    """What is printed passes through ``redact``, which would take a part of it away."""
    page = cause.page
    for text in (cause.title, cause.summary, cause.advice, *vars(page).values()):
        for said in (text,) if isinstance(text, str) else text or ():
            assert redact(said) == said


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_words_in_sentences_can_be_filled(cause: Cause) -> None:
    """A ``{word}`` that no signature captures would always show the second sentence, or the braces."""
    captured = {"unit", "user", "directory", "python"}
    for signature in cause.signatures:
        if signature.pattern:
            captured |= set(re.compile(signature.pattern).groupindex)
    for text in (cause.summary, cause.advice):
        first, _, plain = text.partition("||")
        words = set(re.findall(r"\{(\w+)\}", first))
        assert words <= captured, words - captured
        assert not words - {"unit"} or plain, f"{cause.id} needs a sentence without {words}"
        assert not re.findall(r"\{(?!unit)\w+\}", plain)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_patterns_cost_little_on_hostile_lines(cause: Cause) -> None:
    """No pattern may take more than linear time: a log is anybody's text."""
    import time

    from remedy.causes.pasted import LONGEST

    for signature in cause.signatures:
        if not signature.pattern:
            continue
        pattern = re.compile(signature.pattern)
        for filler in (signature.anchor, " ", "a", "/x"):
            text = (signature.anchor + filler * LONGEST)[: LONGEST // 2]
            began = time.thread_time()
            pattern.search(text)
            assert time.thread_time() - began < 0.5, (signature.pattern, filler)


def test_an_unknown_id_names_its_neighbours() -> None:
    with pytest.raises(UsageError) as caught:
        catalogue.by_id("nvcc-to-old")
    assert "nvcc-too-old" in str(caught.value.hint)


def test_consequences_come_last() -> None:
    ranks = {cause.id: cause.rank for cause in CAUSES}
    assert max(ranks, key=lambda name: ranks[name] if name not in ("healthy", "unknown") else 0) == "start-limit-hit"
    assert ranks["driver-mismatch"] < ranks["gpu-missing"] < ranks["nvcc-too-old"]
    assert ranks["unit-environment"] < ranks["cuda-home-invalid"] < ranks["nvcc-not-found"]
