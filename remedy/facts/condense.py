"""What of a read or an output goes into a snapshot: secrets never, and of bulk only what its reader looks at."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from remedy.facts.host import condense_libc
from remedy.facts.journal import rewritten
from remedy.facts.packages import STATUS, condense_status
from remedy.facts.run import Result
from remedy.value import replace

#: Removes secrets from a text: ``remedy.show.secrets.redact``.
Redact = Callable[[str], str]


def condensed_read(path: str, data: bytes, redact: Redact) -> bytes:
    """The bytes to note for a read of a whole file."""
    shorten = _BY_PATH.get(path)
    if posixpath.basename(path) == "libc.so.6":
        shorten = condense_libc
    return without_secrets(shorten(data) if shorten else data, redact)


def condensed_range(path: str, data: bytes) -> bytes:
    """The bytes to note for a read of a part of a file: of headers and nvcc one line, of other programs all."""
    if path.endswith("/nvcc"):
        return _NVCC_RELEASE(data)
    return _CUDA_VERSION(data) if path.endswith(".h") else data


def condensed_output(argv: Sequence[str], result: Result, redact: Redact) -> Result:
    """The result to note for a program that was run."""
    if posixpath.basename(argv[0]) == "journalctl":
        stdout = rewritten(result.stdout, lambda message: without_secrets(message, redact))
    else:
        stdout = without_secrets(result.stdout, redact)
    why = None if result.why is None else redact(result.why)
    return replace(result, stdout=stdout, stderr=without_secrets(result.stderr, redact), why=why)


def without_secrets(data: bytes, redact: Redact) -> bytes:
    """Bytes with the secrets of their text removed; what is no text stays as it is."""
    text = data.decode("utf-8", "surrogateescape")
    # A process environment is separated by NUL bytes; secrets are recognised by lines.
    lines = text.split("\0")
    cleaned = [redact(line) for line in lines]
    return data if cleaned == lines else "\0".join(cleaned).encode("utf-8", "surrogateescape")


def _only(pattern: bytes) -> Callable[[bytes], bytes]:
    """Keeps the first match of a pattern, as a line of its own."""

    def shorten(data: bytes) -> bytes:
        found = re.search(pattern, data, re.MULTILINE)
        return found[0] + b"\n" if found else b""

    return shorten


def _without_names(data: bytes) -> bytes:
    """passwd(5) without the people's full names."""
    lines = (line.split(b":") for line in data.split(b"\n"))
    return b"\n".join(b":".join((*line[:4], b"", *line[5:]) if len(line) == 7 else line) for line in lines)


_BY_PATH: dict[str, Callable[[bytes], bytes]] = {
    STATUS: condense_status,
    "/proc/stat": _only(rb"^btime \d+$"),
    "/etc/passwd": _without_names,
}
_CUDA_VERSION = _only(rb"^#define\s+CUD(?:A|ART)_VERSION\s+\d+")
_NVCC_RELEASE = _only(rb"Cuda compilation tools, release \d+\.\d+, V\d+")
