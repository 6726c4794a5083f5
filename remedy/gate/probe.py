"""One HTTP request at a time, beside the event loop: the answer arrives as a readable descriptor."""

from __future__ import annotations

import os
import threading

from remedy.value import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request came to: ``status`` is the HTTP status, None where no answer came; ``why`` in words."""

    url: str
    status: int | None
    why: str

    @property
    def good(self) -> bool:
        """A 2xx answer."""
        return self.status is not None and 200 <= self.status < 300


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

    def ask(self, url: str, body: str = "", timeout: float = 5.0) -> None:
        """Start a request; a POST of JSON where there is a body. ``timeout`` in seconds."""
        self._busy = True
        threading.Thread(target=self._ask, args=(url, body, timeout), daemon=True).start()

    def _ask(self, url: str, body: str, timeout: float) -> None:
        answer = request(url, body, timeout)
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


def request(url: str, body: str, timeout: float) -> Answer:
    """Ask one URL, without proxies: the service is on this machine. Never raises."""
    import http.client
    import ssl
    import urllib.error
    import urllib.request

    # The certificate is for the service's public name, and this asks the loopback address.
    context = ssl._create_unverified_context() if url.startswith("https:") else None
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    data = body.encode() if body else None
    try:
        asked = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"} if data else {})
        with opener.open(asked, timeout=timeout) as reply:
            reply.read(65536)
            return Answer(url, reply.status, f"answered {reply.status}")
    except urllib.error.HTTPError as error:
        return Answer(url, error.code, f"answered {error.code} {error.reason}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        return Answer(url, None, f"gave no answer: {reason}")
