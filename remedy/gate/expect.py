"""How health is recognised for one service: from its arguments, its [X-Remedy] section and earlier starts."""

from __future__ import annotations

from remedy.errors import UsageError
from remedy.gate.types import Expectation
from remedy.unit.types import Launch, Service
from remedy.value import dataclass

DEFAULT_TIMEOUT = 1800.0
SHORTEST_TIMEOUT = 600.0
# A start that takes three times as long as the last good one is no longer merely slow.
STRETCH = 3.0


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of inference server: how it is recognised, what it says when it is ready, where it answers."""

    name: str
    markers: tuple[str, ...]
    ready: tuple[str, ...]
    fatal: tuple[str, ...]
    port: int
    health: str
    generate: str | None = None


# Ready and fatal lines: SGLang's srt/entrypoints/http_server.py and srt/managers/scheduler.py; vLLM's
# entrypoints/launcher.py, v1/engine/core.py; uvicorn's server.py for the lines both print. A fatal line is
# one after which the process can linger although nothing will come of the start.
SERVERS = (
    Server(
        "sglang",
        ("sglang", "launch_server"),
        (r"The server is fired up and ready to roll!",),
        (
            r"Received sigquit from a child process",
            r"Scheduler hit an exception",
            r"error while attempting to bind on address",
        ),
        30000,
        "/health",
        "/generate",
    ),
    Server(
        "vllm",
        ("vllm",),
        (r"Application startup complete\.",),
        (
            r"Engine core initialization failed",
            r"EngineCore failed to start",
            r"error while attempting to bind on address",
        ),
        8000,
        "/health",
        "/v1/completions",
    ),
    Server("tgi", ("text-generation-launcher", "text-generation-server"), (r"\bConnected\b",), (), 3000, "/health"),
    Server("llama.cpp", ("llama-server",), (r"server is listening on",), (), 8080, "/health"),
    Server("lmdeploy", ("lmdeploy",), (r"Uvicorn running on",), (), 23333, "/health"),
    Server("tensorrt-llm", ("trtllm-serve",), (r"Application startup complete\.",), (), 8000, "/health"),
    Server("ollama", ("ollama",), (r"Listening on",), (), 11434, "/"),
)


def server_of(argv: tuple[str, ...], module: str | None = None) -> Server | None:
    """The kind of server that a command line starts; None where it is none that is known."""
    words = [word.rsplit("/", 1)[-1] for word in argv if not word.startswith("-")]
    head = [module or "", *words[:4]]
    for server in SERVERS:
        if any(marker in word for marker in server.markers for word in head):
            return server
    return None


def option(argv: tuple[str, ...], *names: str) -> str | None:
    """The value of the last ``--name VALUE`` or ``--name=VALUE`` on a command line."""
    found = None
    for index, word in enumerate(argv):
        for name in names:
            if word == name and index + 1 < len(argv):
                found = argv[index + 1]
            elif word.startswith(name + "="):
                found = word[len(name) + 1 :]
    return found


def address(argv: tuple[str, ...], server: Server | None) -> str | None:
    """``http://host:port`` at which the service answers from this machine; None where it can't be told."""
    port = option(argv, "--port", "-p") if server else option(argv, "--port")
    if port is None:
        if server is None:
            return None
        port = str(server.port)
    if not port.isdigit() or not 0 < int(port) < 65536:
        return None
    host = option(argv, "--host", "--hostname") or "127.0.0.1"
    if host in ("0.0.0.0", "localhost", ""):
        host = "127.0.0.1"
    elif host in ("::", "[::]"):
        host = "[::1]"
    elif ":" in host and not host.startswith("["):
        host = f"[{host}]"
    scheme = "https" if option(argv, "--ssl-certfile") else "http"
    return f"{scheme}://{host}:{port}"


def seconds(text: str) -> float | None:
    """A time span as systemd.time(7) writes it ("90", "5min 20s", "1h"); None where it is none."""
    units = {
        "": 1.0, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6,
        "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0,
        "hours": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
    }  # fmt: skip
    total, number, unit, seen = 0.0, "", "", False
    for char in text.replace(" ", "") + "\0":
        if char.isdigit() or char == "." or char == "\0":
            if unit or char == "\0":
                if not number or unit not in units:
                    return None
                try:
                    total += float(number) * units[unit]
                except ValueError:
                    return None
                number, unit, seen = "", "", True
            number += char if char != "\0" else ""
        else:
            unit += char
    return total if seen else None


def deadline(service: Service, wanted: float | None, last_start: float | None) -> float:
    """Seconds that a start is given: the operator's wish, the unit's, then what earlier good starts took."""
    if wanted is not None:
        return wanted
    own = service.value("X-Remedy", "StartTimeout")
    if own is not None:
        span = seconds(own.value)
        if span is None or span <= 0:
            raise UsageError(
                f"{own.place}: StartTimeout={own.value} is not a time span", hint="write it as 900 or 15min"
            )
        return span
    if last_start is not None:
        return max(SHORTEST_TIMEOUT, STRETCH * last_start)
    return DEFAULT_TIMEOUT


def expectation(
    service: Service, launch: Launch | None, *, timeout: float | None = None, last_start: float | None = None
) -> Expectation:
    """What a healthy start of this service looks like.

    Raises UsageError for a bad value in the unit's own [X-Remedy] section.
    """
    argv = launch.argv if launch else (service.exec_start[-1].argv if service.exec_start else ())
    server = server_of(argv, launch.module if launch else None)
    ready = tuple(setting.value for setting in service.values("X-Remedy", "ReadyPattern"))
    for setting in service.values("X-Remedy", "ReadyPattern"):
        check_pattern(setting.value, str(setting.place))
    health = service.value("X-Remedy", "HealthURL")
    if health:
        check_url(health.value, str(health.place))
    base = address(argv, server)
    return Expectation(
        ready=ready or (server.ready if server else ()),
        fatal=server.fatal if server else (),
        health_url=health.value if health else (base + server.health if base and server else None),
        generate_url=base + server.generate if base and server and server.generate else None,
        generate_body=body_for(server),
        timeout=deadline(service, timeout, last_start),
        expected=last_start,
        soft=timeout is None and service.value("X-Remedy", "StartTimeout") is None,
    )


def check_pattern(pattern: str, place: str) -> None:
    """Raise UsageError where a ReadyPattern= is no regular expression."""
    import re

    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"{place}: ReadyPattern={pattern} is not a regular expression: {error}",
            hint="it is matched with Python's re.search against each log line",
        ) from None


def check_url(url: str, place: str) -> None:
    """Raise UsageError where a HealthURL= can't be asked."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(
            f"{place}: HealthURL={url} is no HTTP address", hint="write it as http://127.0.0.1:8000/health"
        )


def body_for(server: Server | None) -> str:
    """The JSON of the smallest request that makes the server generate one token."""
    if server is None or server.generate is None:
        return ""
    if server.name == "vllm":
        return '{"prompt": "1", "max_tokens": 1}'
    return '{"text": "1", "sampling_params": {"max_new_tokens": 1}}'
