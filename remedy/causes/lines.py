"""A log line without what loggers, supervisors and terminals put in front of it.

The same message reaches a reader as ``RuntimeError: …``, as ``(EngineCore pid=7) ERROR 03-05 09:56:09
[core.py:1100] RuntimeError: …`` or as ``Mar 05 09:56:09 host vllm[7]: …``. What is peeled off is kept: the time,
the writer and the level are evidence of their own.
"""

from __future__ import annotations

import functools
import re

from remedy.hints import Final, Literal
from remedy.value import dataclass

Level = Literal["", "debug", "info", "warning", "error"]

#: A line longer than this is cut: no known message needs more, and a regex must not meet a megabyte.
LONGEST: Final = 4000

#: At most this many prefixes are peeled: docker + timestamp + journald + rank + process + logger, and some room.
DEEPEST: Final = 10

_LEVELS: Final[dict[str, Level]] = {
    "trace": "debug", "debug": "debug", "info": "info", "notice": "info", "warn": "warning", "warning": "warning",
    "error": "error", "err": "error", "critical": "error", "fatal": "error", "i": "info", "w": "warning", "e": "error",
    "f": "error",
}  # fmt: skip

# Each alternative is one kind of prefix; named groups feed the Line. Anchored at the start, no nested repetition.
_PREFIXES: Final = (
    # docker compose, "vllm-1  | "; gcc's source excerpts ("   41 | #error") begin with a digit
    r"(?P<container>[A-Za-z][\w.-]{0,60})\s{0,40}\| ",
    # journald: short ("Mar 05 09:56:09 host vllm[7]: ", month names in any language), short-iso, short-precise
    r"(?:[^\W\d]\S{0,8}\.? {1,2}\d{1,2}|\d{1,2}月 {1,2}\d{1,2}) (?P<time1>\d\d:\d\d:\d\d(?:\.\d+)?) \S+ "
    r"(?P<ident1>[\w@.:()/-]+)(?:\[(?P<pid1>\d+)\])?: ",
    r"(?P<time2>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[+-]\d\d:?\d\d|Z)?) \S+ "
    r"(?P<ident2>[\w@.:()/-]+)\[(?P<pid2>\d+)\]: ",
    # container runtimes, Kubernetes, CI: a bare ISO time, with or without "stdout F "
    r"(?P<time3>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[+-]\d\d:?\d\d|Z)?)(?: std(?:out|err) [FP])?"
    r"(?:[ :,|-]+|$)",
    # SGLang: "[2026-05-02 10:11:03 TP0] "
    r"\[(?P<time4>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)(?P<writer4>(?: [A-Z]{2,5}\d+)*)\] ",
    # kernel and journalctl -o short-monotonic
    r"\[ {0,6}(?P<time5>\d{1,9}\.\d{3,6})\] ",
    # vLLM and Ray: "(EngineCore_DP0 pid=7) ", "(RayWorkerWrapper pid=7, ip=10.0.0.1) "
    r"\((?P<ident6>[\w.:-]+) pid=(?P<pid6>\d+)(?:, ip=[\w.:]+)?\) ?(?:\[repeated [^\]]*\] ?)?",
    # vLLM's logger: "ERROR 03-05 09:56:09 [core.py:1100] ", older "ERROR 03-22 09:50:04 core.py:340] "
    r"(?P<level7>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<time7>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) \[?[\w./-]+:\d+\] ?",
    r"(?P<level13>DEBUG|INFO|WARNING|ERROR|CRITICAL) \[[\w./-]+:\d+\] ",
    # "[rank0]: ", "[rank0]:[W513 …] ", "rank0: "
    r"\[?rank(?P<rank8>\d+)\]?: ?",
    # glog and torch: "[W513 10:00:00.1 file.cpp:12] ", "E0305 09:56:09.123 7 file.cc:12] "
    r"\[?(?P<level9>[IWEF])\d{3,4} (?P<time9>\d\d:\d\d:\d\d\.\d+)(?: +\d+)? [\w./-]+:\d+\] ?",
    # "systemd[1]: ", "ollama[74021]: ", "kernel: "
    r"(?P<ident10>[A-Za-z][\w@.()-]{0,40})\[(?P<pid10>\d+)\]: ",
    r"kernel: ",
    # uvicorn's and Python logging's level words
    r"\[?(?P<level11>DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\]?(?::| -| \||  )\s{0,12}(?=\S)",
    # "module.name - INFO - ", what Python's basicConfig and CI add after the time
    r"[\w.-]{1,60} - (?P<level12>DEBUG|INFO|WARNING|ERROR|CRITICAL) - ",
    # lists and quotes that people paste into
    r"(?:[>│|*] |- (?=[A-Z]))",
)
_GO_LEVEL: Final = r"\blevel=(\w+)"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``text`` without its prefixes, ``number`` from 1, and what the prefixes said.

    ``time`` is as written; ``writer`` names the process or rank; ``level`` is empty where none was stated;
    ``journal`` says that time and writer are the journal's own.
    """

    text: str
    number: int
    time: str = ""
    writer: str = ""
    level: Level = ""
    journal: bool = False

    @property
    def quiet(self) -> bool:
        """Logged below an error: the program said it and went on."""
        return self.level in ("debug", "info", "warning")

    @property
    def source(self) -> str:
        """Where it stands, for evidence: ``log:12`` or ``journal``, with time and writer where they are known."""
        place = "journal" if self.journal else f"log:{self.number}"
        return " ".join(part for part in (place, self.time, self.writer) if part)


@functools.cache
def _prefix() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in _PREFIXES))


@functools.cache
def _ansi() -> re.Pattern[str]:
    return re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|\x00")


def plain(text: str) -> str:
    """Without terminal control sequences and carriage-return progress (the last frame stays)."""
    if "\x1b" in text or "\x00" in text:
        text = _ansi().sub("", text)
    text = text.rstrip("\r\n")
    if "\r" in text:
        text = text.rsplit("\r", 1)[1]
    return text if len(text) <= LONGEST else text[:LONGEST]


def normalise(raw: str, number: int) -> Line:
    """The line without its prefixes; linear in its length."""
    text = plain(raw)
    time = writer = ""
    level: Level = ""
    for _ in range(DEEPEST):
        start = len(text) - len(text.lstrip())
        found = _prefix().match(text, start)
        if found is None or found.end() == start:
            break
        for name, value in found.groupdict().items():
            if not value:
                continue
            kind = name.rstrip("0123456789")
            if kind == "time":
                time = value
            elif kind == "level":
                level = _LEVELS.get(value.lower(), level)
            elif kind == "pid":
                writer = f"{writer}[{value}]"
            elif kind == "rank":
                writer = f"rank{value}"
            else:
                writer = value.strip()
        text = text[found.end() :]
    if "level=" in text:
        go = re.search(_GO_LEVEL, text)
        level = _LEVELS.get(go[1].lower(), level) if go else level
    return Line(text, number, time, writer, level)
