"""A log line without what loggers, supervisors and terminals put in front of it.

The same message reaches a reader as ``RuntimeError: …``, as ``(EngineCore pid=7) ERROR 03-05 09:56:09
[core.py:1100] RuntimeError: …`` or as ``Mar 05 09:56:09 host vllm[7]: …``. What is peeled off is kept: the time,
the writer and the level are evidence of their own.
"""

from __future__ import annotations

import re

from remedy.causes.pasted import plain
from remedy.hints import Final, Literal
from remedy.pattern import pattern
from remedy.value import dataclass

Level = Literal["", "debug", "info", "warning", "error"]

#: At most this many prefixes are peeled: docker + timestamp + journald + rank + process + logger, and some room.
DEEPEST: Final = 10

_DIGITS: Final = "0123456789"
_LEVELS: Final[dict[str, Level]] = {
    "trace": "debug", "debug": "debug", "info": "info", "notice": "info", "warn": "warning", "warning": "warning",
    "error": "error", "err": "error", "critical": "error", "fatal": "error", "i": "info", "w": "warning", "e": "error",
    "f": "error",
}  # fmt: skip

# Each kind of prefix: what it begins with (any character where that is empty), a literal that it holds, and its
# pattern, compiled when a line first passes both tests: all together take a twentieth of a diagnosis to compile.
# Named groups feed the Line. Anchored at the start, no nested repetition.
_PREFIXES: Final = (
    # loguru: "ERROR    | app.server:start:42 - "
    (
        "|TDISWEC",
        " | ",
        pattern(r"(?:\| )?(?P<level>TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL) {1,5}\| \S{1,100}:\d+ - "),
    ),
    # docker compose, "vllm-1  | "; gcc's source excerpts ("   41 | #error") begin with a digit
    ("", "| ", pattern(r"(?P<container>[A-Za-z][\w.-]{0,60})\s{0,40}\| ")),
    # journald: short ("Mar 05 09:56:09 host vllm[7]: ", month names in any language), short-iso, short-precise
    (
        "",
        ": ",
        pattern(
            r"(?:[^\W\d]\S{0,8}\.? {1,2}\d{1,2}|\d{1,2}月 {1,2}\d{1,2}) (?P<time>\d\d:\d\d:\d\d(?:\.\d+)?) \S+ "
            r"(?P<writer>[\w@.:()/-]+)(?:\[(?P<pid>\d+)\])?: "
        ),
    ),
    (
        _DIGITS,
        "]: ",
        pattern(
            r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[+-]\d\d:?\d\d|Z)?) \S+ "
            r"(?P<writer>[\w@.:()/-]+)\[(?P<pid>\d+)\]: "
        ),
    ),
    # journalctl -o short-full, with-unit ("Thu 2026-03-05 09:56:09 UTC host vllm[7]: "), short-unix, short-monotonic
    (
        "",
        "]: ",
        pattern(
            r"\w{2,4}\.? (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) [A-Z+-]\S{1,5} \S+ "
            r"(?P<writer>[\w@.:()/-]+)\[(?P<pid>\d+)\]: "
        ),
    ),
    (_DIGITS, "]: ", pattern(r"(?P<time>\d{10}\.\d{3,9}) \S+ (?P<writer>[\w@.:()/-]+)\[(?P<pid>\d+)\]: ")),
    (
        "[",
        "]: ",
        pattern(r"\[ {0,6}(?P<time>\d{1,9}\.\d{3,6})\] \S+ (?P<writer>[\w@.:()/-]+)\[(?P<pid>\d+)\]: "),
    ),
    # container runtimes, Kubernetes, CI: a bare ISO time, with or without "stdout F "; CMake's "-- " is its own
    (
        _DIGITS,
        "",
        pattern(
            r"(?P<time>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[+-]\d\d:?\d\d|Z)?)"
            r"(?: std(?:out|err) [FP])?(?:(?:[ :,|]|-(?!-))+|$)"
        ),
    ),
    # SGLang: "[2026-05-02 10:11:03 TP0] "
    (
        "[",
        "-",
        pattern(r"\[(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)(?P<writer>(?: [A-Z]{2,5}\d+)*)\] "),
    ),
    # a time without a date
    ("[" + _DIGITS, ":", pattern(r"\[?(?P<time>\d\d:\d\d:\d\d(?:[.,]\d+)?)\]?(?: |$)")),
    # kernel
    ("[", ".", pattern(r"\[ {0,6}(?P<time>\d{1,9}\.\d{3,6})\] ")),
    # vLLM and Ray: "(EngineCore_DP0 pid=7) ", "(RayWorkerWrapper pid=7, ip=10.0.0.1) "
    (
        "(",
        " pid=",
        pattern(r"\((?P<writer>[\w.:-]+) pid=(?P<pid>\d+)(?:, ip=[\w.:]+)?\) ?(?:\[repeated [^\]]*\] ?)?"),
    ),
    # vLLM's logger: "ERROR 03-05 09:56:09 [core.py:1100] ", older "ERROR 03-22 09:50:04 core.py:340] "
    (
        "DIWEC",
        "] ",
        pattern(
            r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) "
            r"\[?[\w./-]+:\d+\] ?"
        ),
    ),
    ("DIWEC", "] ", pattern(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \[[\w./-]+:\d+\] ")),
    # "[rank0]: ", "[rank0]:[W513 …] ", "rank0: "; torchrun's "[default0]:", mpirun's "[1,3]<stderr>:"
    ("[r", "rank", pattern(r"\[?rank(?P<rank>\d+)\]?: ?")),
    ("[", "[default", pattern(r"\[default(?P<rank>\d+)\]: ?")),
    ("[", "]<std", pattern(r"\[\d+,(?P<rank>\d+)\]<std(?:out|err)>: ?")),
    # kubectl logs --prefix, GitHub Actions
    ("[", "[pod/", pattern(r"\[pod/(?P<writer>\S{1,200})\] ")),
    ("#", "##[", pattern(r"##\[\w{1,20}\]")),
    # BuildKit: the step and its seconds, "#19 120.1 "
    ("#", ".", pattern(r"#\d{1,4} \d{1,6}\.\d{1,3} +")),
    # glog and torch: "[W513 10:00:00.1 file.cpp:12] ", "E0305 09:56:09.123 7 file.cc:12] "; XLA, before it reads flags:
    # "W0000 00:00:1727264553.8 7 file.cc:12] "
    (
        "[IWEF",
        "]",
        pattern(r"\[?(?P<level>[IWEF])\d{3,4} (?P<time>\d\d:\d\d:\d{2,10}\.\d+)(?: +\d+)? [\w./-]+:\d+\] ?"),
    ),
    # TensorFlow: "W tensorflow/core/file.cc:12] "
    # and torch's c10 up to 2.3, with the bracket
    ("[IWEF", "] ", pattern(r"\[?(?P<level>[IWEF]) [\w./-]+\.\w+:\d+\] ")),
    # "systemd[1]: ", "ollama[74021]: ", "kernel: "
    ("", "]: ", pattern(r"(?P<writer>[A-Za-z][\w@.()-]{0,40})\[(?P<pid>\d+)\]: ")),
    ("k", "kernel: ", pattern(r"kernel: ")),
    # Rust's tracing: "ERROR shard-manager: launcher::main: "
    (
        "TDIWE",
        ": ",
        pattern(
            r"(?P<level>TRACE|DEBUG|INFO|WARN|ERROR) (?:[a-z][\w-]{0,40}(?:\{[^{}]{0,100}\})?: ){0,3}[a-z]\w{1,60}"
            r"(?:(?:::|_)\w+){1,5}: "
        ),
    ),
    # uvicorn's and Python logging's level words
    (
        "[DINWECF",
        "",
        pattern(r"\[?(?P<level>DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\]?(?::| -| \||  )\s{0,12}(?=\S)"),
    ),
    # with a blank alone only the levels that no sentence begins with; in brackets any
    ("DIW", " ", pattern(r"(?P<level>DEBUG|INFO|WARN|WARNING) (?=\S)")),
    ("[", "] ", pattern(r"\[(?P<level>DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\] (?=\S)")),
    # llama.cpp and compilers begin a warning so
    ("wW", "arning: ", pattern(r"(?P<level>[Ww]arning): (?=\S)")),
    # "module.name - INFO - ", what Python's basicConfig and CI add after the time
    ("", " - ", pattern(r"[\w.-]{1,60} - (?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) - ")),
    # lists, quotes and numbered lines that people paste into, and srun's ranks
    (">│|*-", "", pattern(r"(?:>(?![=>]) ?|[│|*] |- (?=[A-Z\[/]))")),
    (_DIGITS, "", pattern(r"\d{1,6}(?:\t|: )")),
)
_GO_LEVEL: Final = r"\blevel=(\w+)"
# warnings.warn() prints the place, the category and the message; a category is part of what some programs say.
_PYTHON_WARNING: Final = r"(?:\S{1,300}:\d+: )?(?:User|Future|Deprecation)Warning: "


@dataclass(frozen=True)
class Line:
    """One line: ``text`` without its prefixes, ``number`` from 1, and what the prefixes said.

    ``time`` is as written; ``writer`` names the process or rank; ``level`` is empty where none was stated;
    ``journal`` says that time and writer are the journal's own; ``back`` is the number from the end, 1 for the last
    line, where the log was not read up to this one, and 0 where it was.
    """

    text: str
    number: int
    time: str = ""
    writer: str = ""
    level: Level = ""
    journal: bool = False
    back: int = 0

    @property
    def quiet(self) -> bool:
        """Logged below an error: the program said it and went on."""
        return self.level in ("debug", "info", "warning")

    @property
    def source(self) -> str:
        """Where it stands, for evidence: ``log:12``, ``log:-2`` for the last but one or ``journal``, with time and
        writer where they are known."""
        place = "journal" if self.journal else f"log:{-self.back or self.number}"
        return " ".join(part for part in (place, self.time, self.writer) if part)


def _prefix(text: str, start: int) -> re.Match[str] | None:
    """The prefix that stands there, by the first pattern that matches."""
    first = text[start : start + 1]
    for begins, literal, kind in _PREFIXES:
        if (not begins or first in begins) and literal in text:
            found = kind.match(text, start)
            if found is not None:
                return found
    return None


def normalise(raw: str, number: int) -> Line:
    """The line without its prefixes; linear in its length."""
    text = plain(raw)
    time = writer = ""
    level: Level = ""
    for _ in range(DEEPEST):
        start = len(text) - len(text.lstrip())
        found = _prefix(text, start)
        if found is None or found.end() == start:
            break
        for kind, value in found.groupdict().items():
            if not value:
                continue
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
    if not level and "Warning: " in text and re.match(_PYTHON_WARNING, text.lstrip()):
        level = "warning"
    return Line(text, number, time, writer, level)
