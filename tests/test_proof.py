"""The line of a failed build that says why, and whose word counts."""

from __future__ import annotations

import pytest

from remedy.change.twin import Probed, Proof
from remedy.jit.types import Resolution
from remedy.plan.types import Plan
from remedy.proof import disagreement, surprises, telling_line, why_not

HEADER = "page.cu:3:10: fatal error: curand_kernel.h: No such file or directory"
NINJA = "RuntimeError: Ninja build failed. Ninja output:\n[1/3] /usr/local/cuda-13.0/bin/nvcc -c page.cu -o page.o"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{NINJA}\n{HEADER}\nninja: build stopped: subcommand failed.", f"{HEADER} (cuda-headers-missing)"),
        (
            f"{NINJA}\n/usr/include/c++/12/cstdlib:75:15: fatal error: stdlib.h: No such file or directory\nninja: x",
            "/usr/include/c++/12/cstdlib:75:15: fatal error: stdlib.h: No such file or directory",
        ),
        ("/bin/ld: cannot find -lcudart", "/bin/ld: cannot find -lcudart (cuda-library-not-linkable)"),
        ("Traceback\n  File x\nKeyError: 'sm'", "KeyError: 'sm'"),
        ("", "no word of why"),
    ],
)
def test_the_telling_line(text: str, said: str) -> None:
    assert telling_line(text).startswith(said)


def test_the_library_is_right_about_the_toolkit() -> None:
    plan = Plan("x.service", "nvcc-too-old", toolkit="/usr/local/cuda-13.0")
    assert disagreement(plan, [Probed("tvm-ffi", True, 1.0, toolkit="/usr/local/cuda-13.0/")]) is None
    assert disagreement(plan, [Probed("tvm-ffi", True, 1.0)]) is None
    assert disagreement(plan, [Probed("a", True, 1.0, toolkit="/usr")]) == "a takes /usr, not /usr/local/cuda-13.0"


def test_where_the_model_errs_the_library_is_right() -> None:
    models = [Resolution("tvm-ffi", "0.1.11", toolkit="/usr/local/cuda-13.0", found_by="CUDA_HOME")]
    said = list(surprises(models, [Probed("tvm-ffi", True, 1.0, toolkit="/usr"), Probed("triton", True, 1.0)]))
    assert said == ["tvm-ffi takes /usr, where /usr/local/cuda-13.0 was expected (CUDA_HOME)"]
    assert list(surprises(models, [Probed("tvm-ffi", True, 1.0, toolkit="/usr/local/cuda-13.0/")])) == []


def test_why_a_proof_failed() -> None:
    good = Probed("flashinfer", True, 1.0)
    assert why_not(Proof((good,))) is None
    assert why_not(Proof((good, Probed("tvm-ffi", False, 1.0, error=HEADER)))) == (
        f"tvm-ffi: {HEADER} (cuda-headers-missing)"
    )
    assert why_not(Proof((), "the twin ended")) == "the twin ended"
