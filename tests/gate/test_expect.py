"""Which answers count as healthy, from a service's arguments and its own wishes."""

from __future__ import annotations

import pytest

from remedy.errors import UsageError
from remedy.gate.expect import deadline, expectation, seconds
from remedy.gate.pulse import Pulse
from remedy.gate.types import Expectation
from remedy.unit.types import ExecCommand, Launch, Place, Service, Setting
from remedy.value import replace

PYTHON = "/venv/bin/python3"


def service(*argv: str, **remedy: str) -> Service:
    place = Place("/etc/systemd/system/x.service", 7)
    settings = tuple(Setting("X-Remedy", name, value, place, 7) for name, value in remedy.items())
    command = ExecCommand(argv, "", argv[0], place) if argv else None
    return Service("x.service", "loaded", exec_start=(command,) if command else (), settings=settings)


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


def test_a_server_that_nobody_knows_need_only_answer_at_its_port() -> None:
    unknown = expectation(service("/srv/own-server", "--port", "81"), None)
    assert (unknown.health_url, unknown.any_answer) == ("http://127.0.0.1:81/", True)
    assert (unknown.ready, unknown.generate_url) == ((), None)
    wished = expectation(service("/srv/own-server", "--port", "81", HealthURL="http://127.0.0.1:81/up"), None)
    assert not wished.any_answer


def test_a_ready_line_alone_is_held_to_longer_than_a_token() -> None:
    proven = expectation(service("/venv/bin/vllm", "serve", "m"), None)
    assert proven.settle < expectation(service("/srv/own-server"), None).settle == 5.0


def test_what_runs_in_a_container_is_not_looked_for_in_the_unit() -> None:
    argv = ("/usr/bin/docker", "run", "-p", "81:8000", "own/image")
    launch = Launch(argv, None, {}, container="docker")
    assert expectation(service(*argv), launch).elsewhere
    assert not expectation(service("/srv/own-server"), None).elsewhere


@pytest.mark.parametrize(
    ("soft", "last", "patience"), [(True, None, 600.0), (True, 630.0, 1260.0), (False, None, 3600.0)]
)
def test_who_chose_a_long_timeout_is_given_half_of_it_in_silence(
    soft: bool, last: float | None, patience: float
) -> None:
    assert Pulse(0.0, Expectation(timeout=7200.0, soft=soft, expected=last)).patience == patience


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [("Service", "PrivateNetwork", "yes"), ("Service", "NetworkNamespacePath", "/run/netns/x")],
)
def test_a_network_of_its_own_is_not_asked(section: str, name: str, value: str) -> None:
    known = service("/venv/bin/vllm", "serve", "m")
    place = Place("/etc/systemd/system/x.service", 9)
    closed = expectation(replace(known, settings=(Setting(section, name, value, place, 9),)), None)
    assert (closed.health_url, closed.generate_url) == (None, None) and closed.ready
    assert expectation(service("/venv/bin/vllm", "serve", "m", "--headless"), None).ready == ()


def test_the_key_is_sent_and_never_shown() -> None:
    known = expectation(service("/venv/bin/vllm", "serve", "m", "--api-key", "s3cret"), None)
    assert known.api_key == "s3cret" and "s3cret" not in repr(known)
    assert known.models_url == "http://127.0.0.1:8000/v1/models"


@pytest.mark.parametrize(
    "wish",
    [
        {"ReadyPattern": "("},
        {"StartTimeout": "soon"},
        {"StartTimeout": "0"},
        {"HealthURL": "/health"},
        {"HealthURL": "http://127.0.0.1:99999/"},
        {"HealthURL": "http:///health"},
        {"ReadyPatern": "ready"},
    ],
)
def test_a_bad_wish_is_named_with_its_line(wish: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"/etc/systemd/system/x\.service:7"):
        expectation(service("/venv/bin/vllm", **wish), None)
