"""Which phase of a start a log line belongs to."""

from __future__ import annotations

import re

from remedy.gate.types import Progress

# SGLang and vLLM load with tqdm's bar over the checkpoint's shards; ninja counts its edges as [n/m].
_WEIGHTS = re.compile(r"Loading [\w. ]*checkpoint shards:\s+\d+% Completed \| (\d+)/(\d+)")
_NINJA = re.compile(r"^\[(\d+)/(\d+)\] ")
_GRAPHS = re.compile(r"Capturing (?:batches|CUDA graphs?).*?(\d+)/(\d+)")
_PLAIN = (
    ("Load weight begin", "weights"),
    ("Load weight end", "loaded"),
    ("Loading weights took", "loaded"),
    ("Loading weights", "weights"),
    ("Loading JIT ops", "kernels"),
    ("JIT", "kernels"),
    ("Capture cuda graph", "graph-capture"),
    ("Capturing", "graph-capture"),
    ("fired up", "ready-line"),
    ("startup complete", "ready-line"),
)


def progress_of(line: str, elapsed: float) -> Progress | None:
    """The progress a log line tells of, None where it tells nothing. Linear in the line's first 500 characters."""
    line = line[:500]
    for pattern, phase in ((_WEIGHTS, "weights"), (_NINJA, "kernels"), (_GRAPHS, "graph-capture")):
        found = pattern.search(line)
        if found:
            return Progress(phase, elapsed, line, int(found[1]), int(found[2]))
    for text, phase in _PLAIN:
        if text in line:
            return Progress(phase, elapsed, line)
    return None
