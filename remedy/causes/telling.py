"""Which line of a failing start tells why: the exception, not the line that announces it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from remedy.causes.lines import Line, normalise
from remedy.causes.pasted import messages
from remedy.hints import Final
from remedy.value import dataclass

#: How Python's traceback module begins a traceback; servers log it behind words of their own.
TRACEBACK: Final = "Traceback (most recent call last)"
#: What joins the tracebacks of one chain (traceback.py): the last exception of the chain is the one that got out.
_JOINTS: Final = ("During handling of the above exception", "The above exception was the direct cause")
#: Lines that a server logs when another process of it has failed; why stands in that one's own lines (SGLang's
#: srt/managers/*.py and entrypoints/engine.py; vLLM's v1/engine/*.py and v1/executor/multiproc_executor.py; LMDeploy's
#: serve/openai/launch_server.py; TGI's launcher/src/main.rs; Open MPI).
_ANNOUNCEMENTS: Final = (
    "hit an exception: Traceback",
    "eceived sigquit from a child",
    "It usually means one child failed",
    "warmup error: Traceback",
    "EngineCore failed to start",
    "WorkerProc failed",
    "WorkerProc hit an exception",
    "ngine core initialization failed",
    "EngineCore encountered a fatal error",
    "rontend process failed during engine core initialization",
    "died unexpectedly",
    "Server process failed during startup or serving",
    "MPI_ABORT was invoked on rank",
    "ot fatal signal from worker processes",
    "Shard complete standard error output",
    "failed to start",
    "ShardCannotStart",
)
#: What exceptions that a compiler, its toolkit or its cache is behind speak of, wherever they are raised.
_OF_COMPILERS: Final = (
    r"(?i)nvcc|ninja|ptxas|g\+\+|compil|toolkit|kernel|\bjit|_jit|inductor|triton|cubin|cutlass|\.so\b|\.cache\b(?!/huggingface)"
    # a model has an architecture as well
    r"|\barchs?\b|_arch|(?:gpu|cuda|target) arch|cuda[_-]?(?:home|path|version|\d)|cuda >"
)
#: What a kernel that was built ends with when it is loaded or run, what checks its input, and what Triton's own passes
#: say: no compiler of a toolkit had a part in any of these, wherever they are raised.
_PAST_COMPILERS: Final = (
    r"OutOfResources: |CUBLAS_STATUS_|illegal memory access|launch failure|LAUNCH_FAILED|invalid configuration argument"
    r"|device-side assert|misaligned address|PassManager::run failed|(?:Assertion error|Check failed:) (?!\S*/jit/)"
)


@dataclass(frozen=True)
class Raised:
    """An exception that a traceback ended with: its line, and the rank or process that logged it (may be empty)."""

    text: str
    writer: str = ""


def says_only_that(text: str) -> bool:
    """Whether a line says only that something failed, and another line says why."""
    return any(words in text for words in _ANNOUNCEMENTS)


def speaks_of_compilers(text: str) -> bool:
    """Whether a line may be about a compiler, its toolkit or its cache."""
    return bool(re.search(_OF_COMPILERS, text)) and not _is_past_compilers(text)


#: One of these is in every line that ``speaks_of_compilers``: a journal has thousands of lines, and a pattern is slow.
_WORDS_OF_COMPILERS: Final = (
    "nvcc", "ninja", "ptxas", "g++", "compil", "toolkit", "kernel", "jit", "inductor", "triton", "cubin", "cutlass",
    ".so", ".cache", "arch", "cuda",
)  # fmt: skip


def _any_speaks(lines: Sequence[str]) -> bool:
    for line in lines:
        small = line.lower()
        if any(word in small for word in _WORDS_OF_COMPILERS) and speaks_of_compilers(line):
            return True
    return False


def _any_holds(lines: Sequence[str], places: Iterable[str]) -> bool:
    whole = "\n".join(lines)
    return any(place in whole for place in places)


def _is_past_compilers(text: str) -> bool:
    return bool(re.search(_PAST_COMPILERS, text)) and not re.search("(?i)nvcc|ninja|ptxas|compil", text)


def last_raised(lines: Iterable[tuple[int, str]]) -> Raised | None:
    """The exception of the last complete traceback that is no mere consequence of another process's failure.

    ``lines`` are the writers' process ids and the raw lines: the tracebacks of several ranks come mixed.
    """
    found: Raised | None = None
    for one in _tracebacks(lines):
        if isinstance(one, Raised) and (found is None or not says_only_that(one.text)):
            found = one
    return found


def came_from_elsewhere(lines: Iterable[tuple[int, str]], places: Iterable[str], *, alone: bool = True) -> bool:
    """Whether every exception that got out of these lines' tracebacks came from other files than those whose names hold
    one of ``places``, and speaks of no compiler. Where no traceback is complete, the errors that stand alone are
    asked if ``alone``, and none of the lines may name such a file. ``places`` are asked for one by one, as far as they
    are needed.
    """
    every = tuple((pid, text) for pid, raw in lines for text in messages(raw))
    told = list(_tracebacks(every))
    frames = [one for one in told if isinstance(one, str)]
    raised = [one.text for one in told if isinstance(one, Raised) and not says_only_that(one.text)]
    if not raised and alone:
        frames = [raw for _, raw in every]
        raised = [line.text for line in map(_alone, frames) if line and not says_only_that(line.text)]
    if not raised or any(map(speaks_of_compilers, raised)):
        return False
    if all(map(_is_past_compilers, raised)):
        return True
    return not _any_holds(frames, places)


def silent_on_compilers(lines: Iterable[tuple[int, str]], places: Iterable[str]) -> bool:
    """Whether there are lines, and none of them speaks of a compiler or holds one of ``places``."""
    every = tuple(raw for _, raw in lines)
    return bool(every) and not _any_speaks(every) and not _any_holds(every, places)


def was_killed_alone(lines: Iterable[tuple[int, str]]) -> bool:
    """Whether these lines, of a program that was killed, tell of no failure at all, and speak of compilers in passing
    only: then who killed it was no process of its own that had failed.
    """
    every = tuple(text for _, raw in lines for text in messages(raw))
    failed = any(TRACEBACK in raw or says_only_that(raw) or _alone(raw) for raw in every)
    return not failed and not _any_speaks([raw for raw in every if not normalise(raw, 0).quiet and _FLOOR not in raw])


#: FlashInfer's caller swallows it, and what comes of it is an exception; Python prints it without a level by default.
_FLOOR: Final = "Failed to get device capability: "


def last_word(lines: Iterable[tuple[int, str]]) -> str:
    """The signal that the last of these lines tells of, in the words of shells, empty where it tells of none:
    ``Segmentation fault (core dumped)`` is ``Segmentation fault``.
    """
    last = next((raw for _, raw in reversed(tuple(lines)) if raw.strip()), "")
    found = re.search(_SIGNALLED, last)
    return found[1] if found else ""


#: strsignal(3), as a shell says it of a program that ended so.
_SIGNALLED: Final = (
    r"(?:^|[\s:])(Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted|Killed)"
    r"(?: \(core dumped\))?\s*$"
)
#: What went wrong, as programs say it in one line: an exception with its words; and what begins as C++, Go and Rust
#: end, or follows the name of who says so.
_ALONE: Final = (
    r"(?:\w+\.){0,6}\w*(?:Error|Exception|Exit|OutOf[A-Z]\w+|Interrupt): \S"
    r"|(?i:panic|fatal|error|terminate called|thread '.{1,60}' panicked)\b.{0,20}[: ]\S"
    r"|(?:[\w.-]{1,40}: )?(?:[A-Za-z]{2,12} ){0,2}error\b.{0,60}: \S"
)
_ALONE_WORDS: Final = (
    "rror",
    "xception",
    "xit: ",
    "OutOf",
    "nterrupt: ",
    "anic",
    "atal",
    "FATAL",
    "ERROR",
    "terminate",
)
#: What torch adds to every error of CUDA.
_ADVICE: Final = ("TORCH_USE_CUDA_DSA", "CUDA kernel errors might be")


def _alone(raw: str) -> Line | None:
    """The line if it tells of an error, and was not logged as less."""
    line = normalise(raw, 0) if any(word in raw for word in _ALONE_WORDS) else None
    if line is None or line.quiet or any(words in raw for words in _ADVICE):
        return None
    whole = line.level == "error" and not line.text[:1].isspace()
    return line if whole or re.match(_ALONE, line.text.lstrip()) else None


def _tracebacks(lines: Iterable[tuple[int, str]]) -> Iterator[str | Raised]:
    """The frames of all tracebacks that were logged as errors, as they stand, and the exceptions that end them."""
    open_in: dict[tuple[int, str], str] = {}
    for number, (pid, raw) in enumerate(lines):
        if not open_in and TRACEBACK not in raw:
            continue
        line = normalise(raw, number)
        if TRACEBACK in line.text and not line.quiet:
            # Of a record with many lines often only the first bears the writer's name.
            open_in[pid, line.writer] = open_in[pid, ""] = line.writer
        elif (pid, line.writer) in open_in:
            if not _ends_traceback(line):
                yield line.text
                continue
            writer = open_in[pid, line.writer]
            open_in = {place: name for place, name in open_in.items() if place[0] != pid or name != writer}
            yield Raised(line.text.strip(), writer)


def _ends_traceback(line: Line) -> bool:
    text = line.text
    return bool(text.strip()) and not text[0].isspace() and not text.startswith(_JOINTS)
