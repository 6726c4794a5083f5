"""What is peeled off a line, and what is kept of it."""

from __future__ import annotations

import time

import pytest

from remedy.causes.lines import normalise
from remedy.causes.pasted import LONGEST, plain

MESSAGE = "RuntimeError: Could not find nvcc"

PREFIXED = [
    ("", "", "", ""),
    ("(EngineCore pid=7) ERROR 03-05 09:56:09 [core.py:1100] ", "03-05 09:56:09", "EngineCore[7]", "error"),
    (
        "(Worker pid=9) (Worker_TP3 pid=9) WARNING 03-05 09:56:09 [a/b.py:8] ",
        "03-05 09:56:09",
        "Worker_TP3[9]",
        "warning",
    ),
    ("ERROR:    (Worker_TP1 pid=3534) ERROR 10-11 22:28:17 [x.py:694] ", "10-11 22:28:17", "Worker_TP1[3534]", "error"),
    ("ERROR 03-22 09:50:04 core.py:340] ", "03-22 09:50:04", "", "error"),
    ("(RayWorkerWrapper pid=556, ip=10.0.0.2) ", "", "RayWorkerWrapper[556]", ""),
    ("[2026-05-02 10:11:03 DP1 TP0] ", "2026-05-02 10:11:03", "DP1 TP0", ""),
    ("[2026-05-02 10:11:03] ", "2026-05-02 10:11:03", "", ""),
    ("Mar 05 09:56:09 host vllm[71]: ", "09:56:09", "vllm[71]", ""),
    ("1月 10 22:38:05 host systemd[1]: ", "22:38:05", "systemd[1]", ""),
    ("Okt 02 11:22:18 host.net ollama3[5]: ", "11:22:18", "ollama3[5]", ""),
    ("2026-05-02T10:11:03+0200 host sglang[9]: ", "2026-05-02T10:11:03+0200", "sglang[9]", ""),
    ("vllm-1  | ", "", "vllm-1", ""),
    ("sglang-k26 | [2026-05-02 10:11:03 TP5] ", "2026-05-02 10:11:03", "TP5", ""),
    ("2026-05-02T10:11:03.123456789Z stderr F ", "2026-05-02T10:11:03.123456789Z", "", ""),
    ("2025-08-13 04:39:39,837 - __main__ - INFO - ERROR 08-13 04:39:39 engine.py:400] ", "08-13 04:39:39", "", "error"),
    ("[rank1]: ", "", "rank1", ""),
    ("[rank3]:[W1009 09:14:39.267000 297513 site-packages/torch/x.py:2425] ", "09:14:39.267000", "rank3", "warning"),
    ("systemd[1]: ", "", "systemd[1]", ""),
    ("#10 4196.7   ", "", "", ""),
    ("#19 1.622 ", "", "", ""),
    ("- ", "", "", ""),
    ("ERROR:    ", "", "", "error"),
    ("2019-12-26 10:11:15.402158: W tensorflow/core/a.cc:312] ", "2019-12-26 10:11:15.402158", "", "warning"),
    ("W0000 00:00:1727264553.812345   12 ptx.cc:3] ", "00:00:1727264553.812345", "", "warning"),
    ("WARNING ", "", "", "warning"),
    ("[WARN] ", "", "", "warning"),
    ("[2026-05-02 10:11:03,123] [ERROR] ", "2026-05-02 10:11:03,123", "", "error"),
    ("Warning: ", "", "", "warning"),
    (
        "\x1b[0;36m(EngineCore pid=7)\x1b[0;0m \x1b[31mERROR\x1b[0m 09-02 11:02:08 [core.py:1] ",
        "09-02 11:02:08",
        "EngineCore[7]",
        "error",
    ),
]


@pytest.mark.parametrize(("prefix", "time_", "writer", "level"), PREFIXED, ids=[case[0][:24] for case in PREFIXED])
def test_prefixes_are_peeled_and_kept(prefix: str, time_: str, writer: str, level: str) -> None:
    line = normalise(prefix + MESSAGE, 3)
    assert (line.text, line.time, line.writer, line.level, line.number) == (MESSAGE, time_, writer, level, 3)


@pytest.mark.parametrize(
    "text",
    [
        '   41 | #      error "CUDA compiler and CUDA toolkit headers are incompatible"',
        "/usr/bin/ld: cannot find -lcudart: No such file or directory",
        "[1/5] /usr/local/cuda/bin/nvcc -c x.cu",
        "nvcc fatal   : Unsupported gpu architecture 'compute_120f'",
        "(declared at line 2601 of /usr/include/crt/math_functions.h)",
    ],
)
def test_what_is_no_prefix_stays(text: str) -> None:
    assert normalise(text, 1).text == text


def test_go_programs_state_their_level_inside() -> None:
    line = normalise('time=2025-02-24T11:16:31.470-08:00 level=ERROR source=sched.go:455 msg="x"', 1)
    assert line.level == "error" and not line.quiet
    assert normalise("time=x level=DEBUG msg=y", 1).quiet


@pytest.mark.parametrize(
    ("text", "quiet"),
    [
        ("/v/torch/utils/cpp_extension.py:28: UserWarning: CUDA_HOME is not set", True),
        ("UserWarning: CUDA_HOME is not set", True),
        ("ValueError: UserWarning: CUDA_HOME is not set", False),
        ("ERROR 03-05 09:56:09 [core.py:1100] x.py:28: UserWarning: CUDA_HOME is not set", False),
    ],
)
def test_pythons_own_warnings_keep_their_words(text: str, quiet: bool) -> None:
    line = normalise(text, 1)
    assert (line.quiet, "UserWarning" in line.text) == (quiet, True)


def test_the_last_frame_of_a_progress_bar_stays() -> None:
    assert plain("Loading: 10%\rLoading: 99%\n") == "Loading: 99%"


def test_long_lines_are_cut_and_cost_little() -> None:
    began = time.perf_counter()
    line = normalise("[" * 2_000_000, 1)
    assert len(line.text) <= LONGEST
    assert time.perf_counter() - began < 1.0


def test_the_source_names_line_time_and_writer() -> None:
    assert normalise("[2026-05-02 10:11:03 TP0] x", 12).source == "log:12 2026-05-02 10:11:03 TP0"


def test_cmakes_mark_of_a_status_is_no_separator_behind_a_time() -> None:
    assert normalise("2026-05-02T10:11:03.123456789Z stderr F -- Could NOT find cub", 1).text == "-- Could NOT find cub"
    assert normalise("2026-05-02 10:11:03 - -- Could NOT find cub", 1).text == "-- Could NOT find cub"
    assert normalise("2026-05-02 10:11:03 - name: x", 1).text == "name: x"
