"""The questions put to a service's address, one at a time: its health, its models, then one token."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from remedy.gate.probe import Answer, Probe
from remedy.gate.types import Expectation

# Seconds between two questions: once the service has said that it is ready, and while nothing but its port tells.
_RETRY = 0.25
_BLIND_RETRY = 2.0
# RFC 9110, 15.6: not now; 501 is said by a server that has no such API, which is alive all the same.
_NOT_YET = (429, 502, 503, 504)
_NO_SUCH_API = 501


class Health:
    """What is asked and what came of it. ``due`` is when the next question is to be asked, on the monotonic clock."""

    def __init__(self, expect: Expectation) -> None:
        self.probe = Probe()
        self.due: float | None = None
        self.answered = False
        self.generated = False
        self.last = ""
        self._expect = expect
        self._health = expect.health_url
        self._models = expect.models_url
        self._generate = expect.generate_url
        self._body = expect.generate_body
        self._token = ""

    @property
    def asks(self) -> bool:
        """Whether there is an address to ask."""
        return self._health is not None

    @property
    def done(self) -> bool:
        """Every question has had its good answer."""
        return (self.answered or not self._health) and (self.generated or not self._generate)

    @property
    def awaits_token(self) -> bool:
        """Whether the question that is under way is the one for a token."""
        return self.probe.busy and self.answered and not self._models and bool(self._generate)

    @property
    def place(self) -> int | str:
        """Where the service is to listen: the address's TCP port (0 where there is none), or a socket's path."""
        parts = urlsplit(self._health or "")
        if parts.scheme == "http+unix":
            return unquote(parts.netloc)
        return parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)

    def again(self, now: float, *, blind: bool) -> None:
        """Ask once more after a while, unless a question is under way."""
        if self.due is None and not self.probe.busy and not self.done:
            self.due = now + (_BLIND_RETRY if blind else _RETRY)

    def ask(self, left: float) -> None:
        """Put the next question. ``left`` seconds are given to a token: the first can still build kernels."""
        self.due = None
        if self.probe.busy or self.done:
            return
        if self._health and not self.answered:
            self.probe.ask(self._health)
        elif self._models:
            self.probe.ask(self._models, key=self._expect.api_key)
        elif self._generate:
            self.last = f"a request for one token to {self._generate} has had no answer"
            self.probe.ask(self._generate, self._body, timeout=left, key=self._expect.api_key)

    def take(self, now: float, *, blind: bool) -> tuple[Answer | None, str | None]:
        """The answer that has arrived, and why the service is broken where the answer says so."""
        answer = self.probe.take()
        if answer is None:
            return None, None
        self.last = f"{answer.url} {answer.why}"
        if not self.answered:
            self.answered = answer.good or (self._expect.any_answer and answer.spoke and answer.status not in _NOT_YET)
        elif self._models and answer.status is not None and answer.status not in _NOT_YET:
            self._models = None
            if answer.good:
                self._body = _with_model(self._body, answer.body)
        elif not self._models and answer.status is not None and (answer.good or _alive(answer.status)):
            self.generated = True
            self._token = "a token was generated" if answer.good else f"a request for one token {answer.why}"
        elif not self._models and answer.status is not None and answer.status not in _NOT_YET:
            return answer, f"{self._health} answers, but a request for one token {answer.why}"
        if not self.done:
            if answer.good:
                self.due = now
            else:
                self.again(now, blind=blind)
        return answer, None

    def unanswered(self, ports: Sequence[int]) -> list[str]:
        """What came of the last question, and on which of the service's own ``ports`` it could have been put."""
        parts = [self.last] if self.last else []
        if self.asks and not self.answered and ports and self.place not in ports:
            listens = f"the service listens on port {', '.join(map(str, ports))} instead"
            parts.append(f"{listens}: HealthURL= in the unit's [X-Remedy] section says where to ask")
        return parts

    def said(self) -> list[str]:
        """What was found good, for people."""
        parts = [f"{self._health} answers"] if self.answered else []
        return [*parts, self._token] if self._token else parts


def _alive(status: int) -> bool:
    """4xx asks for another request (a chat template, a key): the server works."""
    return (400 <= status < 500 and status not in _NOT_YET) or status == _NO_SUCH_API


def _with_model(body: str, models: str) -> str:
    """The request with the first model that ``/v1/models`` names; as it was where that can't be read."""
    import json

    try:
        return json.dumps({"model": str(json.loads(models)["data"][0]["id"]), **json.loads(body)})
    except (ValueError, LookupError, TypeError):
        return body
