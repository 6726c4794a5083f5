"""One pass over a log: which signatures occur where.

A service's log can be gigabytes, nearly all of it progress and requests. So three sieves, cheapest first: does a block
hold any of a few stems that every anchor shares; does a line hold an anchor; does the line, without its prefixes,
match the pattern. Memory is bounded by the number of signatures, not by the log.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from remedy.causes.case import Hit
from remedy.causes.entry import Signature
from remedy.causes.lines import LONGEST, Line, normalise, plain

#: Hits kept of one signature: the first ones, where the cause stands, and the last, where the end stands.
KEPT_FIRST: Final = 12
KEPT_LAST: Final = 4
KEPT_ERRORS: Final = 6

# What error lines of any program hold; for ``unknown``, which shows the earliest one.
_ERROR_WORDS: Final = ("rror", "xception", "fatal", "FATAL", "ailed", "annot", "anic:", "denied", "not found", "killed")
# Looks like an error and is none: progress bars, counters, summaries, compiler flags, wrappers without content.
_NO_ERROR: Final = (
    r"^Traceback|0 errors|error_?log|log_level|-Werror|errors?=|FutureWarning|DeprecationWarning|UserWarning"
    r"|^\s*raise |^\s*except |^\s*File \"|Scheduled restart job|^░"
)
# Lines that name a fault of the toolchain without being one; whole threads were misled by each.
NOISE: Final = (
    "libnccl-net.so: cannot open shared object",
    "Unable to load cudart",
    "Failed to JIT torch c dlpack extension",
    "Set TORCHDYNAMO_VERBOSE",
    "has a minor version mismatch with",
    "CUDA kernel errors might be asynchronously reported",
    "FutureWarning:",
    "DeprecationWarning:",
    "No CUDA runtime is found, using CUDA_HOME",
    "░",
)
# A program that has come up says one of these; a fatal line may still follow.
READY: Final = (
    "The server is fired up and ready to roll",
    "Application startup complete",
    "server is listening on http",
    "Uvicorn running on http",
)


@dataclass(slots=True)
class Scan:
    """What one pass found. Filled line by line; ``found`` is in log order for each signature."""

    found: dict[Signature, list[Hit]] = field(default_factory=dict)
    errors: list[Line] = field(default_factory=list)
    lines: int = 0
    last: Line | None = None
    ready: Line | None = None

    def add(self, signature: Signature, hit: Hit) -> None:
        """Keep a hit: all of the first ones, then a window on the last."""
        hits = self.found.setdefault(signature, [])
        if hits and hits[-1].line.number == hit.line.number:
            return
        if len(hits) >= KEPT_FIRST + KEPT_LAST:
            del hits[KEPT_FIRST]
        hits.append(hit)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _match(signature: Signature, line: Line, text: str) -> Hit | None:
    if signature.anchor not in text:
        return None
    if not signature.pattern:
        return Hit(line, {}, signature.library)
    found = _compiled(signature.pattern).search(text)
    if found is None:
        return None
    groups = {name: value for name, value in found.groupdict().items() if value}
    return Hit(line, groups, signature.library)


class Scanner:
    """Scans lines for a fixed set of signatures."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self._by_anchor: dict[str, list[Signature]] = {}
        for signature in dict.fromkeys(signatures):
            self._by_anchor.setdefault(signature.anchor, []).append(signature)
        self._anchors = tuple(self._by_anchor)

    def scan(self, lines: Iterable[str]) -> Scan:
        """One pass. A message that a terminal or mailer wrapped is tried together with the line after it."""
        result = Scan()
        pending: list[tuple[Line, Sequence[Signature]]] = []
        raw = ""
        for number, raw in enumerate(lines, 1):
            result.lines = number
            if len(raw) > LONGEST:
                raw = raw[:LONGEST]
            anchors = [anchor for anchor in self._anchors if anchor in raw] or self._coloured(raw)
            interesting = anchors or any(word in raw for word in _ERROR_WORDS) or any(r in raw for r in READY)
            if not (interesting or pending):
                continue
            line = normalise(raw, number)
            for earlier, missed in pending:
                self._try(result, missed, earlier, f"{earlier.text.rstrip()} {line.text.lstrip()}")
            pending = []
            if any(noise in line.text for noise in NOISE):
                continue
            candidates = [signature for anchor in anchors for signature in self._by_anchor[anchor]]
            missed = [s for s in candidates if not self._try(result, (s,), line, line.text)]
            if missed:
                pending.append((line, missed))
            self._note(result, line)
        if raw.strip():
            result.last = normalise(raw, result.lines)
        return result

    def _coloured(self, raw: str) -> list[str]:
        """Anchors that terminal colours had cut in two."""
        if "\x1b" not in raw:
            return []
        text = plain(raw)
        return [anchor for anchor in self._anchors if anchor in text]

    @staticmethod
    def _try(result: Scan, signatures: Sequence[Signature], line: Line, text: str) -> bool:
        any_hit = False
        for signature in signatures:
            hit = _match(signature, line, text)
            if hit is not None:
                result.add(signature, hit)
                any_hit = True
        return any_hit

    @staticmethod
    def _note(result: Scan, line: Line) -> None:
        """Remember the first error-like lines, and the ready line."""
        if any(word in line.text for word in READY):
            result.ready = line
        if len(result.errors) < KEPT_ERRORS and not line.quiet and any(word in line.text for word in _ERROR_WORDS):
            if not _compiled(_NO_ERROR).search(line.text):
                result.errors.append(line)
