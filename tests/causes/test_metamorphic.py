"""What stands around a message changes nothing of what it says: writers' prefixes, terminals, pastes, other lines."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from remedy.causes import engine, facts_file
from tests.causes.test_engine import REPORTS

#: Each takes the lines of a log.
Change = Callable[[list[str]], list[str]]
CHATTER = [
    "INFO 06-05 20:05:59 [core.py:1] Loading weights took 12.3 seconds",
    "[2026-05-02 10:11:03 TP0] Load weight end. avail mem=12.1 GB",
    'INFO:     127.0.0.1:4321 - "GET /health HTTP/1.1" 200 OK',
    "Loading safetensors checkpoint shards:  62% Completed | 18/29 [01:21<00:50,  4.61s/it]",
    "NCCL version 2.27.3+cuda12.9",
]


def behind(prefix: str) -> Change:
    return lambda lines: [prefix + line for line in lines]


def in_json(lines: list[str]) -> list[str]:
    return [json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-03-05T09:56:09Z"}) for line in lines]


CHANGES: dict[str, Change] = {
    "docker compose": behind("vllm-server-1 | "),
    "journald": behind("Mar 05 09:56:09 gpu01 sglang[712]: "),
    "journald, short-iso": behind("2026-03-05T09:56:09+0000 gpu01 sglang[712]: "),
    "journald, short-full": behind("Thu 2026-03-05 09:56:09 UTC gpu01 sglang[712]: "),
    "container runtime": behind("2026-03-05T09:56:09.123456789Z stderr F "),
    "vLLM": behind("(EngineCore_DP0 pid=169) ERROR 06-05 20:05:59 [core.py:1108] "),
    "SGLang": behind("[2026-05-02 10:11:03 DP0 TP3 EP3] "),
    "torchrun": behind("[default0]:"),
    "rank": behind("[rank3]: "),
    "docker's JSON": in_json,
    "colours": lambda lines: [f"\x1b[0;31m{line}\x1b[0m" for line in lines],
    "CRLF": lambda lines: [line + "\r" for line in lines],
    "quoted": behind("> "),
    "indented": behind("    "),
    "fenced": lambda lines: ["Here is the log:", "```text", *lines, "```", "Thanks"],
    "chatter before": lambda lines: [*CHATTER, *lines],
    "eight ranks": lambda lines: [f"[2026-05-02 10:11:03 TP{rank}] {line}" for line in lines for rank in range(8)],
}


#: All of them take minutes. Which are taken depends on nothing but each one's own id.
SAMPLE = [report for report in REPORTS if zlib.crc32(report["id"].encode()) % 25 == 0]


@functools.cache
def unchanged() -> tuple[str, ...]:
    return tuple(root(report, lambda lines: lines) for report in SAMPLE)


@pytest.mark.parametrize("name", CHANGES)
def test_the_verdict_stays(name: str) -> None:
    changed = [
        f"{report['id']}: {before} became {after}"
        for report, before in zip(SAMPLE, unchanged(), strict=True)
        if before != (after := root(report, CHANGES[name])) and not left_open(report, after)
    ]
    assert changed == []


def left_open(report: dict[str, Any], after: str) -> bool:
    """A prefix that calls each line an error may take from a warning its last word, where nothing decides otherwise."""
    return after == "unknown" and "unknown" in report["also"]


def root(report: dict[str, Any], change: Change) -> str:
    return engine.explain(change(report["log"].splitlines()), facts_file.from_mapping(report["facts"])).root.id
