"""One pass over a log, line by line and in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from remedy.causes import engine
from remedy.causes.entry import Signature
from remedy.causes.scan import KEPT_FIRST, KEPT_LAST, Scan, Scanner, _compiled

NVCC = Signature("gpu architecture", r"gpu architecture '(?P<arch>\w+)'")
STATUS = Signature("203/EXEC")
DETECTED = Signature("detected CUDA version", r"detected CUDA version.*PyTorch \((?P<torch>[\d.]+)\)")
SIGNATURES = (NVCC, STATUS, DETECTED)


def blocks(text: str, size: int) -> Iterator[bytes]:
    data = text.encode()
    for at in range(0, len(data), size):
        yield data[at : at + size]


def both(lines: list[str]) -> Iterator[Scan]:
    yield Scanner(SIGNATURES).scan(lines)
    text = "\n".join(lines)
    for size in (7, 1 << 20):
        yield Scanner(SIGNATURES).scan_blocks(blocks(text, size))


def test_hits_carry_their_line_and_groups() -> None:
    for scan in both(["x", "nvcc fatal   : Unsupported gpu architecture 'compute_70'", "y"]):
        (hit,) = scan.found[NVCC]
        assert (hit.line.number, hit.groups["arch"], scan.lines) == (2, "compute_70", 3)


def test_a_wrapped_message_is_joined_with_the_next_line() -> None:
    for scan in both(["The detected CUDA version (11.8) mismatches the one used to compile", "  PyTorch (12.1)."]):
        assert scan.found[DETECTED][0].groups["torch"] == "12.1"


def test_digits_are_no_shape() -> None:
    """A line that differs from an empty one in its digits only must not be skipped with it."""
    for scan in both(["status=1/EXEC", "status=2/EXEC", "status=203/EXEC"]):
        assert scan.found[STATUS][0].line.number == 3


def test_many_hits_keep_the_first_and_the_last() -> None:
    lines = [f"[{number}] Unsupported gpu architecture 'compute_{number}'" for number in range(500)]
    for scan in both(lines):
        hits = scan.found[NVCC]
        assert len(hits) <= KEPT_FIRST + KEPT_LAST
        assert hits[0].groups["arch"] == "compute_0"
        assert hits[-1].groups["arch"] == "compute_499"


def test_noise_is_not_looked_at() -> None:
    for scan in both(["FutureWarning: gpu architecture 'compute_70'"]):
        assert not scan.found and not scan.errors


def test_the_last_ready_line_and_the_last_line() -> None:
    lines = [
        "INFO:     Application startup complete.",
        *["busy 1"] * 40,
        "INFO:     Application startup complete.",
        "end",
    ]
    for scan in both(lines):
        assert scan.ready is not None and scan.ready.number == 42
        assert scan.last is not None and scan.last.text == "end"


def test_a_ready_line_repeated_for_ever_keeps_its_last_place() -> None:
    lines = ["INFO:     Application startup complete.", "x"] * 100
    for scan in both(lines):
        assert scan.ready is not None and scan.ready.number == 199


def test_the_earliest_errors_are_remembered() -> None:
    for scan in both(
        ["INFO: 0 errors", "Traceback (most recent call last):", "ValueError: first error", "Error: second"]
    ):
        assert [line.text for line in scan.errors] == ["ValueError: first error", "Error: second"]


@pytest.mark.parametrize("lines", [[], [""], ["\n"], ["\x00\xff"]])
def test_odd_input(lines: Iterable[str]) -> None:
    scan = Scanner(SIGNATURES).scan(lines)
    assert not scan.found
    assert not Scanner(SIGNATURES).scan_blocks(iter(())).lines
    assert not Scanner(SIGNATURES).scan_blocks([b"\xff\xfe\n\xc3"]).found


def test_it_does_not_read_ahead() -> None:
    seen: list[int] = []

    def lines() -> Iterator[str]:
        for number in range(3):
            seen.append(number)
            yield f"line {number}"

    Scanner(SIGNATURES).scan(lines())
    assert seen == [0, 1, 2]


def test_a_line_without_an_end_costs_no_more_than_its_bytes() -> None:
    found = Scanner(SIGNATURES).scan_blocks([b"x" * (1 << 20)] * 50 + [b"\nstatus=203/EXEC"])
    assert (found.lines, list(found.found)) == (2, [STATUS])


def test_the_last_frame_of_a_long_progress_bar_is_what_counts() -> None:
    text = "\r".join(f"Loading {number}%" for number in range(2000)) + "\rstatus=203/EXEC"
    for scan in both(["start", text, "end"]):
        assert list(scan.found) == [STATUS]


def test_requests_that_differ_in_their_ids_are_looked_at_once() -> None:
    lines = [f"Received request cmpl-{number * 0x9E3779B97F4A7C15 % 2**64:016x}: prompt" for number in range(1, 500)]
    scanner = Scanner(SIGNATURES)
    assert list(scanner.scan([*lines, "cmpl-deadbeef status=203/EXEC"]).found) == [STATUS]
    assert len(scanner._empty) < len(lines) / 5


STORY = """\
[2026-05-02 10:11:01] server_args=ServerArgs(model_path='/models/Kimi-K2.6', host='127.0.0.1', port=30000, tp_size=8)
[2026-05-02 10:11:03 TP0] Failed to get device capability: SM 12.x requires CUDA >= 12.9.
[2026-05-02 10:11:03 TP0] Load weight begin. avail mem=94.31 GB
[2026-05-02 10:11:38 TP0] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=12.40 GB
[2026-05-02 10:11:39 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/flashinfer/jit/core.py", line 108, in check_cuda_arch
    raise RuntimeError("FlashInfer requires GPUs with sm75 or higher")
RuntimeError: FlashInfer requires GPUs with sm75 or higher
[2026-05-02 10:11:39 TP0] Received sigquit from a child process. It usually means the child failed.
sglang-k26.service: Main process exited, code=exited, status=1/FAILURE
"""


def test_a_start_s_log_has_few_patterns_compiled() -> None:
    """Compiling one takes as long as importing a module: a signature's literals are to tell most lines apart."""
    _compiled.cache_clear()
    engine.scanner().scan(STORY.splitlines())
    assert 0 < _compiled.cache_info().currsize <= 6
