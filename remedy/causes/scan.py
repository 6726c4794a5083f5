"""One pass over a log: which signatures occur where.

A service's log can be gigabytes, nearly all of it progress bars and requests that differ in numbers and ids only. So
each line is first reduced to its shape, its bytes without digits and hexadecimal ids: a shape that held nothing once is
skipped from then on at the price of a set lookup, and one that held something too often is remembered by its last
occurrence. Only new shapes are looked at: does the line hold an anchor, and does the line without its prefixes match
the pattern. Memory is bounded by the number of signatures and shapes kept, not by the log.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Sequence

from remedy.causes import coming_up
from remedy.causes.anchors import Anchors
from remedy.causes.case import Hit
from remedy.causes.entry import Signature
from remedy.causes.lines import Line, normalise
from remedy.causes.pasted import FOREIGN, LONGEST, in_english, messages, plain
from remedy.causes.telling import TRACEBACK
from remedy.hints import TYPE_CHECKING, Final
from remedy.value import dataclass, field, replace

if TYPE_CHECKING:
    from remedy.facts.log_ends import Gap

#: Hits kept of one signature: the first ones, where the cause stands, and the last, where the end stands.
KEPT_FIRST: Final = 12
KEPT_LAST: Final = 4
KEPT_ERRORS: Final = 6
#: Bytes kept of a line that does not end: its beginning is looked at, or its end where a terminal would show that.
MOST_BYTES: Final = 1 << 16
#: Shapes remembered as empty; beyond that the memory is started afresh.
MOST_SHAPES: Final = 100_000
#: A line of a telling shape is looked at this often; after that only its last occurrence is.
OFTEN: Final = 16
#: Lines of new shapes that are looked at in full in a log given in blocks: at its beginning, for each further block,
#: and always the last ones. A log in which every line looks like an error, and like no other, must end as well.
LOOKS_FIRST: Final = 6000
LOOKS_PER_BLOCK: Final = 300
LOOKS_LAST: Final = 4000

#: Characters of an anchor that a cut line must end in, and two thirds of it at least.
CUT_LEAST: Final = 12

_DIGITS: Final = b"0123456789"
# What error lines of any program hold; for ``unknown``, which shows the earliest one.
_ERROR_WORDS: Final = (
    "rror",
    "xception",
    "OutOf",
    "fatal",
    "FATAL",
    "ailed",
    "annot",
    "anic:",
    "denied",
    "not found",
    "killed",
)
# Looks like an error and is none: progress bars, counters, summaries, compiler flags, wrappers without content.
_NO_ERROR: Final = (
    "Traceback (most recent call last)",
    "he above exception",
    "0 errors",
    "errorlog",
    "error_log",
    "log_level",
    "-Werror",
    "error=",
    "errors=",
    "FutureWarning",
    "DeprecationWarning",
    "UserWarning",
    "Scheduled restart job",
    # FlashInfer's caller swallows it; Python prints the warnings of a program that set up no logging without a level
    "Failed to get device capability: SM ",
)
# What a traceback shows, and systemd's explanations of its own messages.
_QUOTES_ERRORS: Final = ("raise ", "except ", "assert ", 'File "', "░")
# Lines that name a fault of the toolchain without being one; whole threads were misled by each.
NOISE: Final = (
    # torch's sockets try IPv6 first
    "client socket cannot be initialized to connect to",
    "libnccl-net.so: cannot open shared object",
    "cudart init failure",
    "Failed to JIT torch c dlpack extension",
    "Set TORCHDYNAMO_VERBOSE",
    "has a minor version mismatch with",
    "CUDA kernel errors might be asynchronously reported",
    "FutureWarning:",
    "DeprecationWarning:",
    "No CUDA runtime is found, using CUDA_HOME",
    "░",
)
# DeepGEMM ends this warning without a line end: the next message stands behind it.
_UNENDED: Final = "for the best DeepGEMM performance"
_FOREIGN: Final = frozenset(FOREIGN)


@dataclass
class Scan:
    """What one pass found. ``found`` is in log order for each signature."""

    found: dict[Signature, list[Hit]] = field(default_factory=dict)
    errors: list[Line] = field(default_factory=list)
    lines: int = 0
    #: Bytes left out between both ends, and lines of the rest that were passed over.
    unread: int = 0
    passed_over: int = 0
    last: Line | None = None
    ready: Line | None = None
    died: Line | None = None

    def add(self, signature: Signature, hit: Hit) -> None:
        """Keep a hit: all of the first ones, then a window on the last."""
        hits = self.found.setdefault(signature, [])
        if hits and hits[-1].line.number == hit.line.number:
            return
        if len(hits) >= KEPT_FIRST + KEPT_LAST:
            del hits[KEPT_FIRST]
        hits.append(hit)

    def rewritten(self, rewrite: Callable[[Line], Line]) -> Scan:
        """The same with every line that is kept passed through ``rewrite``."""
        found = {
            signature: [replace(hit, line=rewrite(hit.line)) for hit in hits] for signature, hits in self.found.items()
        }
        last, ready, died = (line and rewrite(line) for line in (self.last, self.ready, self.died))
        return replace(self, found=found, errors=list(map(rewrite, self.errors)), last=last, ready=ready, died=died)


@functools.cache
def _ids() -> re.Pattern[bytes]:
    # what is left of a hexadecimal id or a UUID once its digits are gone
    return re.compile(rb"[a-f-]{5,}")


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _match(signature: Signature, line: Line, text: str) -> Hit | None:
    if signature.anchor not in text or signature.needs not in text:
        return None
    if not signature.pattern:
        return Hit(line, {}, signature.library)
    found = _compiled(signature.pattern).search(text)
    if found is None:
        return None
    groups = {name: value for name, value in found.groupdict().items() if value}
    return Hit(line, groups, signature.library)


class Scanner:
    """Scans one log for a fixed set of signatures. Not reusable: it remembers the shapes that it has seen."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self._by_anchor: dict[str, list[Signature]] = {}
        for signature in signatures:
            self._by_anchor.setdefault(signature.anchor, []).append(signature)
        words = (*self._by_anchor, *_ERROR_WORDS, *coming_up.WORDS, *FOREIGN)
        self._anchors = Anchors(words)
        # A shape has no digits and no ids, so one that may stand for a word with either can't be called empty; nor
        # one of JSON's escapes, which are digits for the most part.
        whole = "\n".join(words).encode()
        shapes = zip(whole.split(b"\n"), _ids().sub(b"", whole.translate(None, _DIGITS)).split(b"\n"), strict=True)
        self._undecided = tuple(dict.fromkeys((*(shape for word, shape in shapes if shape != word), b"\\u")))
        self._empty: set[bytes] = set()
        self._often: dict[bytes, int] = {}
        self._latest: dict[bytes, tuple[int, str]] = {}
        self._pending: list[tuple[Line, Sequence[Signature]]] = []
        self._result = Scan()
        self._looks = sys.maxsize
        self._in_traceback = False
        #: The number of the line in which a gap begins.
        self._cut = sys.maxsize

    def scan(self, lines: Iterable[str]) -> Scan:
        """The lines of a text, with or without their line ends."""
        raw = ""
        for raw in lines:
            self._result.lines += 1
            seen = raw if "\r" in raw else raw[:LONGEST]
            self._line(seen.encode("utf-8", "replace").translate(None, _DIGITS), raw)
        return self._finish(raw)

    def scan_blocks(self, blocks: Iterable[bytes | Gap]) -> Scan:
        """A text in blocks of bytes, cut anywhere: several times as fast as ``scan`` for large logs, and with a limit
        to the lines that are looked at in full."""
        rest = b""
        last = ""
        self._looks = LOOKS_FIRST
        held = b""
        for block in blocks:
            if not isinstance(block, bytes):
                last, _ = self._whole_lines(rest + held, last)
                rest = held = b""
                self._result.unread += block.size
                self._cut = self._result.lines + 1
                # No line is shorter than its end: what is near to what, and comes after it, stays true.
                self._result.lines += block.size
                continue
            last, rest = self._whole_lines(rest + held, last)
            held = block
            self._looks += LOOKS_PER_BLOCK
        final = rest + held
        if final:
            last = self._block(final.removesuffix(b"\n"), final=True) or last
        return self._finish(last)

    def _whole_lines(self, text: bytes, last: str) -> tuple[str, bytes]:
        """Scan the lines that have an end. Returns the last line so far, and what is left of the text."""
        whole, newline, tail = text.rpartition(b"\n")
        if newline:
            last = self._block(whole) or last
        return last, tail if len(tail) <= 2 * MOST_BYTES else tail[:MOST_BYTES] + tail[-MOST_BYTES:]

    def _block(self, block: bytes, *, final: bool = False) -> str:
        """Whole lines. Returns the last one."""
        shapes = block.translate(None, _DIGITS).split(b"\n")
        if not self._pending and self._empty.issuperset(shapes):
            self._result.lines += len(shapes)
            return block[block.rfind(b"\n") + 1 :].decode("utf-8", "replace")
        raw = b""
        always = len(shapes) - LOOKS_LAST if final else len(shapes)
        for number, (raw, shape) in enumerate(zip(block.split(b"\n"), shapes, strict=True)):
            self._result.lines += 1
            if number == always or (final and always < 0):
                self._looks = sys.maxsize
            if self._pending or shape not in self._empty:
                self._line(shape, raw.decode("utf-8", "replace"))
        return raw.decode("utf-8", "replace")

    def _finish(self, last: str) -> Scan:
        number = self._result.lines
        for latest, raw in sorted(self._latest.values()):
            self._result.lines = latest
            self._look(raw)
        self._result.lines = number
        for hits in self._result.found.values():
            hits.sort(key=lambda hit: hit.line.number)
        if last.strip():
            self._result.last = normalise(last, number)
            self._complete(self._result.last)
        return self._result if self._cut == sys.maxsize else self._result.rewritten(self._placed)

    def _complete(self, line: Line) -> None:
        """What was pasted may end before a closing quote, or amid the words that tell: they are completed."""
        said = line.text.strip()
        if any(noise in said for noise in NOISE):
            return
        if not any(hits[-1].line.number == line.number for found, hits in self._result.found.items() if not found.weak):
            for quote in "'", '"':
                words = self._anchors.within(said + quote)
                self._try([known for word in words for known in self._by_anchor.get(word, ())], line, said + quote)
        pieces = {said[at : at + CUT_LEAST] for at in range(len(said) - CUT_LEAST + 1)}
        for anchor, signatures in self._by_anchor.items():
            if len(anchor) <= CUT_LEAST or anchor[:CUT_LEAST] not in pieces:
                continue
            start = said.rfind(anchor[:CUT_LEAST])
            cut = said[start:]
            long_enough = 2 * len(anchor) <= 3 * len(cut) < 3 * len(anchor)
            # whole words may be all that there was to say, such as "internal compiler error"
            if long_enough and anchor.startswith(cut) and (cut[-1:] + anchor[len(cut)]).isalnum():
                self._try(signatures, line, said[:start] + anchor)

    def _placed(self, line: Line) -> Line:
        """Behind a gap lines are counted from the end, as ``tail`` counts them."""
        return line if line.number <= self._cut else replace(line, back=self._result.lines - line.number + 1)

    def _line(self, shape: bytes, raw: str) -> None:
        if self._looks <= 0:
            self._pending = []
            self._result.passed_over += shape not in self._empty
            return
        if self._pending:
            self._looks -= 1
            self._look(raw)
            return
        if shape in self._empty:
            return
        shape = _ids().sub(b"", shape)
        if shape in self._empty:
            return
        times = self._often.get(shape, 0)
        self._looks -= times < OFTEN
        if times >= OFTEN:
            self._latest[shape] = (self._result.lines, raw)
        elif self._look(raw):
            self._often[shape] = times + 1
        elif any(word in shape for word in self._undecided):
            return
        elif len(self._empty) < MOST_SHAPES:
            self._empty.add(shape)
        else:
            self._empty = {shape}

    def _look(self, raw: str) -> bool:
        """Look at a line in full. False where it holds none of the words that matter."""
        return sum(self._message(text) for text in messages(plain(raw))) > 0

    def _message(self, text: str) -> bool:
        """A message that a terminal or mailer wrapped is tried together with the line after it."""
        words = self._anchors.within(text)
        foreign = [word for word in words if word in _FOREIGN]
        if foreign:
            text = in_english(text, foreign)
            words = self._anchors.within(text)
        if not words and not self._pending:
            return False
        line = normalise(text.rpartition(_UNENDED)[2] if _UNENDED in text else text, self._result.lines)
        said = line.text.strip()
        if said.startswith("warnings.warn("):
            # Python quotes the statement below what it warned of, whole.
            self._pending = []
            return bool(words)
        for earlier, missed in self._pending:
            self._try(missed, earlier, f"{earlier.text.strip()} {said}")
        self._pending = []
        if not words or any(noise in said for noise in NOISE):
            return bool(words)
        candidates = [signature for word in words for signature in self._by_anchor.get(word, ())]
        missed = [signature for signature in candidates if not self._try((signature,), line, said)]
        if missed:
            self._pending = [(line, missed)]
        self._note(line)
        return True

    def _try(self, signatures: Sequence[Signature], line: Line, text: str) -> bool:
        any_hit = False
        for signature in signatures:
            hit = _match(signature, line, text)
            if hit is not None:
                self._result.add(signature, hit)
                any_hit = True
        return any_hit

    def _note(self, line: Line) -> None:
        """Remember the first error-like lines, the latest coming up and the latest end."""
        if coming_up.says_ready(line.text):
            self._result.ready = line
        if any(word in line.text for word in coming_up.DIED):
            self._result.died = line
        if TRACEBACK in line.text:
            self._in_traceback = True
        elif not line.text[:1].isspace():
            self._in_traceback = False
        elif self._in_traceback:
            # The source lines that a traceback quotes speak of errors without being any.
            return
        if len(self._result.errors) >= KEPT_ERRORS or line.quiet or line.text.lstrip().startswith(_QUOTES_ERRORS):
            return
        if any(word in line.text for word in _ERROR_WORDS) and not any(word in line.text for word in _NO_ERROR):
            self._result.errors.append(line)
