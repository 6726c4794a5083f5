"""The questions to an address, against a real one."""

from __future__ import annotations

import http.server
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from remedy.gate.health import Health
from remedy.gate.probe import request
from remedy.gate.types import Expectation


@contextmanager
def server(health: int, generate: int) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(health)
            self.end_headers()

        def do_POST(self) -> None:
            self.send_response(generate)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def answered(health: Health) -> str | None:
    """One question and its answer; why the service is broken."""
    health.ask(5.0)
    assert select.select([health.probe], [], [], 5.0)[0]
    return health.take(100.0, blind=False)[1]


@pytest.mark.parametrize(
    ("statuses", "done", "broken", "due"),
    [
        ((200, 200), True, None, None),
        ((200, 404), True, None, None),
        ((200, 501), True, None, None),
        ((200, 500), False, "answered 500", None),
        ((200, 503), False, None, 100.25),
        ((503, 200), False, None, 100.25),
    ],
)
def test_what_an_answer_means(statuses: tuple[int, int], done: bool, broken: str | None, due: float | None) -> None:
    with server(*statuses) as base:
        health = Health(Expectation(health_url=f"{base}/health", generate_url=f"{base}/generate", generate_body="{}"))
        why = answered(health)
        if health.answered:
            assert health.due == 100.0
            why = answered(health)
        assert health.done is done and health.due == due
        assert (broken in why) if broken and why else why is broken
        health.probe.close()


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://127.0.0.1:30000/health", 30000), ("https://x/y", 443), ("http://[::1]:8000/", 8000), (None, 0)],
)
def test_the_port(url: str | None, port: int) -> None:
    assert Health(Expectation(health_url=url)).port == port


def test_nobody_answers() -> None:
    answer = request("http://127.0.0.1:1/health", "", 1.0)
    assert answer.status is None and not answer.good and "refused" in answer.why
    assert request("nonsense", "", 1.0).status is None
