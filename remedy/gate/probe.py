"""One HTTP request at a time, beside the event loop: the answer arrives as a readable descriptor."""

from __future__ import annotations

import os
import threading
from urllib.parse import SplitResult, unquote, urlsplit

from remedy.hints import TYPE_CHECKING, Final
from remedy.value import dataclass

if TYPE_CHECKING:
    from http.client import HTTPConnection

_LONGEST: Final = 65536


@dataclass(frozen=True)
class Answer:
    """What a request came to: ``status`` is the HTTP status, None where no HTTP answer came; ``why`` in words; ``body``
    its first 64 KiB. ``spoke`` says that something is there: it answered, though perhaps not in HTTP."""

    url: str
    status: int | None
    why: str
    body: str = ""
    spoke: bool = False

    @property
    def good(self) -> bool:
        """2xx, or 3xx: as Kubernetes' probes take it."""
        return self.status is not None and 200 <= self.status < 400


class Probe:
    """Asks URLs in a thread of its own, so that a server that accepts and never answers blocks nothing."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._answer: Answer | None = None
        self._busy = False
        self._closed = False
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """A request is under way."""
        return self._busy

    def fileno(self) -> int:
        """The descriptor that becomes readable when the answer is there."""
        return self._read

    def ask(self, url: str, body: str = "", timeout: float = 5.0, key: str = "") -> None:
        """Start a request; a POST of JSON where there is a body. ``timeout`` in seconds; ``key`` is borne, not told."""
        self._busy = True
        threading.Thread(target=self._ask, args=(url, body, timeout, key), daemon=True).start()

    def _ask(self, url: str, body: str, timeout: float, key: str) -> None:
        answer = request(url, body, timeout, key)
        with self._lock:
            if not self._closed:
                self._answer = answer
                os.write(self._write, b".")

    def take(self) -> Answer | None:
        """The answer that has arrived."""
        os.read(self._read, 16)
        answer, self._answer, self._busy = self._answer, None, False
        return answer

    def close(self) -> None:
        """Close the pipe; an answer that is still under way is dropped."""
        with self._lock:
            self._closed = True
            os.close(self._read)
            os.close(self._write)


def request(url: str, body: str, timeout: float, key: str = "") -> Answer:
    """Ask one URL, without proxies: the service is on this machine. Never raises."""
    import http.client

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if body:
        headers["Content-Type"] = "application/json"
    try:
        parts = urlsplit(url)
        asked = _connection(parts, timeout)
        try:
            path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            asked.request("POST" if body else "GET", path, body=body.encode() if body else None, headers=headers)
            reply = asked.getresponse()
            text = reply.read(_LONGEST).decode("utf-8", "replace")
        finally:
            asked.close()
    except http.client.HTTPException as error:
        return Answer(url, None, f"gave no HTTP answer: {type(error).__name__}", spoke=True)
    except (OSError, ValueError, OverflowError) as error:
        return Answer(url, None, f"gave no answer: {error}", spoke=isinstance(error, ConnectionResetError))
    said = f"answered {reply.status}" if reply.status < 300 else f"answered {reply.status} {reply.reason}".rstrip()
    return Answer(url, reply.status, said, text, True)


def _connection(parts: SplitResult, timeout: float) -> HTTPConnection:
    """A connection that is not yet made. Raises ValueError for a URL that is none."""
    import http.client
    import ssl

    if parts.scheme == "http+unix":
        return _over_socket(unquote(parts.netloc), timeout)
    if parts.scheme == "https":
        # The certificate is for the service's public name, and this asks the loopback address.
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout, context=context)
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError("it is no HTTP address")
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)


def _over_socket(path: str, timeout: float) -> HTTPConnection:
    """A connection that is made already, through a socket of the file system."""
    import http.client
    import socket

    asked = http.client.HTTPConnection("localhost", timeout=timeout)
    asked.sock = socket.socket(socket.AF_UNIX)
    asked.sock.settimeout(timeout)
    try:
        asked.sock.connect(path)
    except OSError:
        asked.sock.close()
        raise
    return asked
