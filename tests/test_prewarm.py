"""Whose failure ahead of the restart counts, and how many compilers run side by side."""

from __future__ import annotations

import pytest

from remedy.change.twin import Probed
from remedy.plan.ahead import Build
from remedy.prewarm import jobs, keyed, refusal

HEADER = "page.cu:3:10: fatal error: curand_kernel.h: No such file or directory"


@pytest.mark.parametrize(
    ("result", "refused"),
    [
        (Probed("page", True, 1.0), False),
        (Probed("page", False, 1.0, error=HEADER), True),
        (Probed("page", False, 1.0, error="nvcc fatal   : Unsupported gpu architecture 'compute_120f'"), True),
        (Probed("page", False, 1.0, error="/usr/bin/ld: cannot find -lcudart"), True),
        # A limit of the twin's, not the toolchain.
        (Probed("page", False, 1.0, error=f"{HEADER}\nKilled"), False),
        (Probed("page", False, 1.0, error="c++: fatal error: Killed signal terminated program cc1plus"), False),
        (Probed("page", False, 1.0, error="error: No space left on device"), False),
        (Probed("page", False, 1.0, error=HEADER, ended=False), False),
        # Not a word of a compiler's: the module may need what only the service can give it.
        (Probed("page", False, 1.0, error="TypeError: missing 1 required positional argument"), False),
        (Probed("page", False, 1.0, error=f"NotForeseen: from its record: {HEADER}"), False),
    ],
)
def test_what_the_restart_would_meet_as_well(result: Probed, refused: bool) -> None:
    assert refusal(result) is refused


def test_at_least_one_compiler_runs() -> None:
    assert jobs() >= 1


def test_two_libraries_may_have_modules_of_one_name() -> None:
    ours = Build("flashinfer", "page", "flashinfer_module", {"path": "/a/page"})
    theirs = Build("torch", "page", "recorded_module", {"path": "/b/page"})
    both = keyed((ours, theirs))
    assert list(both.values()) == [ours, theirs]
    assert not any("/" in key for key in both)
