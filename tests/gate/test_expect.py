"""Which answers count as healthy, from a service's arguments and its own wishes."""

from __future__ import annotations

import pytest

from remedy.errors import UsageError
from remedy.gate.expect import address, deadline, expectation, option, seconds, server_of
from remedy.unit.types import ExecCommand, Place, Service, Setting

PYTHON = "/venv/bin/python3"


def service(*argv: str, **remedy: str) -> Service:
    place = Place("/etc/systemd/system/x.service", 7)
    settings = tuple(Setting("X-Remedy", name, value, place, 7) for name, value in remedy.items())
    command = ExecCommand(argv, "", argv[0], place) if argv else None
    return Service("x.service", "loaded", exec_start=(command,) if command else (), settings=settings)


@pytest.mark.parametrize(
    ("argv", "name", "base"),
    [
        ((PYTHON, "-m", "sglang.launch_server", "--port", "31000"), "sglang", "http://127.0.0.1:31000"),
        ((PYTHON, "/opt/sglang/launch_server.py", "--host=::"), "sglang", "http://[::1]:30000"),
        (("/venv/bin/vllm", "serve", "m", "--port=9000", "--host", "10.0.0.7"), "vllm", "http://10.0.0.7:9000"),
        ((PYTHON, "-m", "vllm.entrypoints.openai.api_server"), "vllm", "http://127.0.0.1:8000"),
        (("/usr/bin/llama-server", "--host", "fe80::1"), "llama.cpp", "http://[fe80::1]:8080"),
        (("/venv/bin/vllm", "serve", "m", "--ssl-certfile", "c"), "vllm", "https://127.0.0.1:8000"),
        (("/venv/bin/vllm", "serve", "m", "--port", "http"), "vllm", None),
        (("/usr/bin/myserver", "--port", "81"), None, "http://127.0.0.1:81"),
        (("/usr/bin/myserver", "-p", "81"), None, None),
    ],
)
def test_server_and_address(argv: tuple[str, ...], name: str | None, base: str | None) -> None:
    server = server_of(argv)
    assert (server.name if server else None) == name
    assert address(argv, server) == base


def test_last_option_wins() -> None:
    assert option(("x", "--port", "1", "--port=2"), "--port") == "2"
    assert option(("x", "--port"), "--port") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90.0), ("15min", 900.0), ("1h 30min", 5400.0), ("2.5s", 2.5), ("500ms", 0.5), ("soon", None), ("", None)],
)
def test_time_spans(text: str, value: float | None) -> None:
    assert seconds(text) == value


def test_deadline_comes_from_the_wish_then_the_unit_then_history() -> None:
    own = service(StartTimeout="20min")
    assert deadline(own, 5.0, 100.0) == 5.0
    assert deadline(own, None, 100.0) == 1200.0
    assert deadline(service(), None, 630.0) == 1890.0
    assert deadline(service(), None, 3.0) == 600.0
    assert deadline(service(), None, None) == 1800.0


def test_own_section_wins_over_what_is_known_of_the_server() -> None:
    argv = (PYTHON, "-m", "sglang.launch_server")
    plain = expectation(service(*argv), None)
    assert plain.health_url == "http://127.0.0.1:30000/health"
    assert plain.generate_url == "http://127.0.0.1:30000/generate"
    own = expectation(service(*argv, ReadyPattern="ready to roll", HealthURL="http://127.0.0.1:1/up"), None)
    assert (own.ready, own.health_url) == (("ready to roll",), "http://127.0.0.1:1/up")


@pytest.mark.parametrize("wish", [{"ReadyPattern": "("}, {"StartTimeout": "soon"}, {"HealthURL": "/health"}])
def test_a_bad_wish_is_named_with_its_line(wish: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"/etc/systemd/system/x\.service:7"):
        expectation(service("/venv/bin/vllm", **wish), None)
