"""The line that tells why, among those that tell only that something failed."""

from __future__ import annotations

import json

import pytest

from remedy.causes.telling import (
    Raised,
    came_from_elsewhere,
    last_raised,
    says_only_that,
    silent_on_compilers,
    speaks_of_compilers,
)

BEGIN = "Traceback (most recent call last):"
QUOTED = ('  File "/srv/x.py", line 3, in load', "    raise RuntimeError(x)")
VLLM = "(EngineCore_DP0 pid=7) ERROR 03-05 09:56:09 [core.py:95] "


def by(pid: int, *lines: str) -> list[tuple[int, str]]:
    return [(pid, line) for line in lines]


@pytest.mark.parametrize(
    ("lines", "raised"),
    [
        (by(1, BEGIN, *QUOTED, "ValueError: x", "bye"), Raised("ValueError: x")),
        (by(1, BEGIN, *QUOTED), None),
        (by(1, "RuntimeError: without a traceback"), None),
        # SGLang names the rank on the record's first line, vLLM the process on each.
        (
            by(1, f"[2026-05-02 10:11:03 TP3] Scheduler hit an exception: {BEGIN}", *QUOTED, "KeyError: 'a'"),
            Raised("KeyError: 'a'", "TP3"),
        ),
        (
            by(7, *(VLLM + line for line in ("EngineCore failed to start.", BEGIN, *QUOTED, "OSError: no model"))),
            Raised("OSError: no model", "EngineCore_DP0[7]"),
        ),
        # A chain: the last one got out.
        (
            by(1, BEGIN, *QUOTED, "KeyError: 1", "", "During handling of the above exception, another …", "", BEGIN)
            + by(1, *QUOTED, "RuntimeError: out"),
            Raised("RuntimeError: out"),
        ),
        # Two ranks at once.
        (
            [(1, BEGIN), (2, "a quiet line"), (1, QUOTED[0]), (1, "ValueError: of 1"), (2, "another")],
            Raised("ValueError: of 1"),
        ),
        # The parent's own exception only says that a child failed.
        (
            by(7, BEGIN, *QUOTED, "OSError: no model")
            + by(1, BEGIN, *QUOTED, "RuntimeError: Engine core initialization failed. See root cause above."),
            Raised("OSError: no model"),
        ),
        # What was logged as a warning was survived.
        (by(1, f"WARNING 03-05 09:56:09 [x.py:1] retried: {BEGIN}", *QUOTED, "ValueError: x"), None),
    ],
)
def test_the_exception_of_the_last_traceback(lines: list[tuple[int, str]], raised: Raised | None) -> None:
    assert last_raised(lines) == raised


@pytest.mark.parametrize(
    ("line", "only"),
    [
        ("Received sigquit from a child process. It usually means the child failed.", True),
        ("SIGQUIT received. signum=3, frame=<frame>. It usually means one child failed.", True),
        (f"Initialization failed. warmup error: {BEGIN}", True),
        ("Worker proc VllmWorker-1 died unexpectedly, shutting down executor.", True),
        ("Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.", True),
        ("Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.", True),
        ("RuntimeError: Frontend process failed during engine core initialization. See root cause above.", True),
        ("RuntimeError: FlashInfer requires GPUs with sm75 or higher", False),
        ("[TRT-LLM] [E] Failed to initialize executor on rank 0: CUDA out of memory.", False),
    ],
)
def test_announcements(line: str, only: bool) -> None:
    assert says_only_that(line) is only


JIT = ("/flashinfer/", "/torch/_inductor/")
ELSEWHERE = ('  File "/srv/lib/transformers/models/auto.py", line 3, in load', "    raise KeyError(x)")
WITHIN = ('  File "/srv/lib/flashinfer/compilation_context.py", line 9, in _archs', "    int(major)")

#: As traceback.py prints an exception group, of Python 3.11 and later.
GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/srv/lib/sglang/launch_server.py", line 9, in <module>
  |     run_server(server_args)
  |     ~~~~~~~~~~^^^^^^^^^^^^^
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    | {}
    | {}
    | KeyError: 'architectures'
    +------------------------------------"""


@pytest.mark.parametrize(
    ("lines", "elsewhere"),
    [
        (by(1, BEGIN, *ELSEWHERE, "KeyError: 'a'"), True),
        (by(1, BEGIN, *ELSEWHERE, *WITHIN, "ValueError: invalid literal for int() with base 10: 'x'"), False),
        # Without a traceback no line may name one of the files; one that is cut tells nothing.
        (by(1, "KeyError: 'a'"), True),
        (by(1, *WITHIN, "KeyError: 'a'"), False),
        (by(1, "WARNING 03-05 09:56:09 [x.py:1] KeyError: 'a'"), False),
        (by(1, "KeyError"), False),
        (by(1, BEGIN, *ELSEWHERE), False),
        # Of several, one within is enough; even one that is cut.
        (by(1, BEGIN, *ELSEWHERE, "KeyError: 'a'") + by(2, BEGIN, *WITHIN), False),
        (
            by(1, BEGIN, *WITHIN, "KeyError: 1", "", "During handling of …", "", BEGIN, *ELSEWHERE, "OSError: out"),
            False,
        ),
        # A traceback that was logged as a warning was survived.
        (
            by(1, *(f"WARNING 03-05 09:56:09 [x.py:1] {line}" for line in (BEGIN, *WITHIN, "ValueError: x")))
            + by(1, BEGIN, *ELSEWHERE, "KeyError: 'a'"),
            True,
        ),
        # What the exception itself says of compilers counts wherever it is raised.
        (by(1, BEGIN, *ELSEWHERE, "RuntimeError: nvcc said no"), False),
        (by(1, BEGIN, *ELSEWHERE, "ValueError: CUDA_HOME is none"), False),
        (by(1, BEGIN, *ELSEWHERE, "RuntimeError: CUDA error: device-side assert triggered"), True),
        (by(1, BEGIN, *ELSEWHERE, "OSError: /srv/x.so: invalid ELF header"), False),
        (by(1, BEGIN, *ELSEWHERE, "RuntimeError: no such arch: sm_120f"), False),
        (by(1, BEGIN, *ELSEWHERE, "RuntimeError: Unsupported gpu architecture"), False),
        # What a built kernel ends with, what checks its input, and Triton's own passes went past every compiler.
        (by(1, BEGIN, *WITHIN, "triton.runtime.errors.OutOfResources: out of resource: shared memory"), True),
        (by(1, BEGIN, *WITHIN, "RuntimeError: Assertion error (csrc/apis/layout.hpp:76): Unknown recipe"), True),
        (by(1, BEGIN, *WITHIN, "RuntimeError: Assertion error (csrc/jit/compiler.hpp:187): major > 12"), False),
        (by(1, BEGIN, *WITHIN, "tvm.error.InternalError: Check failed: output.size(0) == num_tokens"), True),
        (by(1, BEGIN, *WITHIN, "RuntimeError: Check failed: nvcc exited with 1"), False),
        # So it is where the traceback's beginning was cut off, and torch's advice behind it is no error of its own.
        (by(7, VLLM + WITHIN[0], VLLM + "triton.runtime.errors.OutOfResources: out of resource: shared memory"), True),
        (by(7, VLLM + WITHIN[0], VLLM + "KeyError: 'a'"), False),
        (
            by(
                7,
                VLLM + "RuntimeError: CUDA error: an illegal memory access was encountered",
                VLLM + "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
                "CRITICAL 02-21 06:30:25 core_client.py:191] Got fatal signal from worker processes, shutting down.",
            ),
            True,
        ),
        # A record of JSON holds its message, and the message its lines.
        (by(1, '{"level":"error","message":"KeyError: lm_head"}'), True),
        (by(1, '{"level":"warning","message":"KeyError: lm_head"}'), False),
        (by(1, json.dumps({"level": "error", "message": "\n".join((BEGIN, *ELSEWHERE, "KeyError: 'a'"))})), True),
        (by(1, json.dumps({"level": "error", "message": "\n".join((BEGIN, *WITHIN, "KeyError: 'a'"))})), False),
        # A model has an architecture as well.
        (by(1, BEGIN, *ELSEWHERE, "ValueError: Model architectures ['X'] are not supported for now."), True),
        # An exception group, each with a margin of its own.
        (by(1, *GROUP.format(*ELSEWHERE).splitlines()), True),
        (by(1, *GROUP.format(*WITHIN).splitlines()), False),
        # Who only announces another's failure says nothing of where that came from.
        (by(1, BEGIN, *ELSEWHERE, "RuntimeError: Engine core initialization failed. See root cause above."), False),
        (by(7, *(VLLM + line for line in (BEGIN, *ELSEWHERE, "KeyError: 'a'"))), True),
    ],
)
def test_where_exceptions_came_from(lines: list[tuple[int, str]], elsewhere: bool) -> None:
    assert came_from_elsewhere(lines, JIT) is elsewhere


@pytest.mark.parametrize("line", ["NVCC said no", "a Kernel", "libx.so", "gpu architecture", "sm_arch", "/x/.cache/y"])
def test_no_line_of_compilers_is_passed_over(line: str) -> None:
    assert speaks_of_compilers(line)
    assert not silent_on_compilers(by(1, "Loading weights", line), JIT)
    assert silent_on_compilers(by(1, "Loading weights", "model architectures"), JIT)
