"""The questions to an address, against a real one."""

from __future__ import annotations

import http.server
import json
import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from remedy.gate.health import Health
from remedy.gate.probe import request
from remedy.gate.processes import listens
from remedy.gate.types import ApiKey, Expectation


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
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
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
        ((307, 200), True, None, None),
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


def test_a_token_that_is_still_awaited_is_told() -> None:
    with server(200, 200) as base:
        health = Health(Expectation(health_url=f"{base}/health", generate_url=f"{base}/generate", generate_body="{}"))
        answered(health)
        assert health.last == f"{base}/health answered 200"
        health.ask(5.0)
        assert health.last == f"a request for one token to {base}/generate has had no answer"
        assert select.select([health.probe], [], [], 5.0)[0]
        health.take(100.0, blind=False)
        assert health.last == f"{base}/generate answered 200"
        health.probe.close()


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://127.0.0.1:30000/health", 30000),
        ("https://x/y", 443),
        ("http://[::1]:8000/", 8000),
        ("http+unix://%2Frun%2Fv.sock/health", "/run/v.sock"),
        (None, 0),
    ],
)
def test_the_place(url: str | None, port: int | str) -> None:
    assert Health(Expectation(health_url=url)).place == port


def test_nobody_answers() -> None:
    answer = request("http://127.0.0.1:1/health", "", 1.0)
    assert answer.status is None and not answer.good and "refused" in answer.why
    assert request("nonsense", "", 1.0).status is None


@contextmanager
def guarded(key: str, model: str) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """A server that wants a key for all but /health, and a model's name in what it is asked to complete."""
    asked: list[dict[str, object]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200 if self.path == "/health" or self.known() else 401, {"data": [{"id": model}]})

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer((200 if asked[-1].get("model") == model else 400) if self.known() else 401, {})

        def known(self) -> bool:
            return self.headers["Authorization"] == f"Bearer {key}"

        def answer(self, status: int, body: dict[str, object]) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()


@pytest.mark.parametrize(
    ("key", "model", "said"),
    [("k3y", "m", "a token was generated"), ("", None, "a request for one token answered 401 Unauthorized")],
)
def test_a_token_of_the_model_that_is_served(key: str, model: str | None, said: str) -> None:
    with guarded("k3y", "m") as (base, asked):
        urls = {"health_url": f"{base}/health", "models_url": f"{base}/v1/models", "generate_url": f"{base}/v1"}
        body = '{"prompt": "1", "max_tokens": 1}'
        health = Health(Expectation(**urls, generate_body=body, api_key=ApiKey(key)))  # type: ignore[arg-type]
        for _ in range(3):
            assert not health.done
            assert answered(health) is None
            assert "k3y" not in health.last
        assert health.done and said in health.said()
        assert asked[0].get("model") == model and asked[0]["prompt"] == "1"
        health.probe.close()


def test_a_server_that_nobody_knows_need_only_speak() -> None:
    with server(404, 200) as base:
        health = Health(Expectation(health_url=f"{base}/", any_answer=True))
        assert answered(health) is None and health.done
        health.probe.close()
        strict = Health(Expectation(health_url=f"{base}/"))
        assert answered(strict) is None and not strict.done
        strict.probe.close()
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=lambda: other.accept()[0].sendall(b"220 no HTTP here\r\n"), daemon=True).start()
        answer = request(f"http://127.0.0.1:{other.getsockname()[1]}/", "", 5.0)
        assert answer.status is None and answer.spoke and not answer.good


def test_a_socket_of_the_file_system(tmp_path: Path) -> None:
    path = f"{tmp_path}/v.sock"

    def serve(listening: socket.socket) -> None:
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.recv(4096).startswith(b"GET /health?x=1 HTTP/1.1")
            accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        assert listens(path, [os.getpid()]) is True
        answer = request(f"http+unix://{quote(path, safe='')}/health?x=1", "", 5.0)
        assert (answer.status, answer.body) == (200, "ok")
    assert request("http+unix://%2Fno%2Fsuch/health", "", 5.0).status is None
