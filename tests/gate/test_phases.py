"""Log lines and the phases they tell of."""

from __future__ import annotations

import pytest

from remedy.gate.journal import read_entry
from remedy.gate.phases import progress_of


@pytest.mark.parametrize(
    ("line", "phase", "done", "total"),
    [
        ("Loading safetensors checkpoint shards:  62% Completed | 18/29 [01:21<00:50,  4.61s/it]", "weights", 18, 29),
        ("[2/4] /usr/local/cuda-13.0/bin/nvcc -c x.cu", "kernels", 2, 4),
        ("[2026-05-02 10:11:03] Load weight begin. avail mem=90 GB", "weights", None, None),
        ("[2026-05-02 10:11:03] Capture cuda graph begin..", "graph-capture", None, None),
        ("[2026-05-02 10:11:03] Load weight end. type=DeepseekV3ForCausalLM", "loaded", None, None),
        ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  40%|████      | 20/67", "graph-capture", 20, 67),
        ("INFO:     Application startup complete.", "ready-line", None, None),
    ],
)  # fmt: skip
def test_phases(line: str, phase: str, done: int | None, total: int | None) -> None:
    progress = progress_of(line, 1.0)
    assert progress is not None
    assert (progress.phase, progress.done, progress.total) == (phase, done, total)


def test_a_line_that_tells_nothing() -> None:
    assert progress_of("INFO 200 OK", 1.0) is None


def test_journal_lines() -> None:
    own = {"_SYSTEMD_INVOCATION_ID": "ab", "__REALTIME_TIMESTAMP": 12, "SYSLOG_IDENTIFIER": "python3", "_PID": 7}
    line, second = read_entry({"MESSAGE": "hello\nthere", **own})
    assert (line.text, line.pid, line.invocation, line.realtime, line.from_manager) == ("hello", 7, "ab", 12, False)
    assert second.text == "there"
    (manager,) = read_entry({"MESSAGE": "Started.", "_PID": 1, "UNIT": "x.service", "INVOCATION_ID": "cd"})
    assert manager.from_manager and manager.invocation == "cd"
    (raw,) = read_entry({"MESSAGE": b"\x1b[31mhi\xff", "_PID": 7})
    assert raw.text == "\x1b[31mhi\ufffd"
