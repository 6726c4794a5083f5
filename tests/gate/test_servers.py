"""Which server a command line starts, and where it answers."""

from __future__ import annotations

import re

import pytest

from remedy.gate.servers import SERVERS, address, key, option, server_of

PYTHON = "/venv/bin/python3"


@pytest.mark.parametrize(
    ("argv", "variables", "name", "base"),
    [
        ((PYTHON, "-m", "sglang.launch_server", "--port", "31000"), {}, "sglang", "http://127.0.0.1:31000"),
        ((PYTHON, "/opt/sglang/launch_server.py", "--host=::"), {}, "sglang", "http://[::1]:30000"),
        (("/venv/bin/sglang", "serve", "--model-path", "m"), {}, "sglang", "http://127.0.0.1:30000"),
        (("/venv/bin/vllm", "serve", "m", "--port=9000", "--host", "10.0.0.7"), {}, "vllm", "http://10.0.0.7:9000"),
        (("/venv/bin/vllm", "serve", "/m/sglang-x"), {}, "vllm", "http://127.0.0.1:8000"),
        ((PYTHON, "-m", "vllm.entrypoints.openai.api_server"), {}, "vllm", "http://127.0.0.1:8000"),
        (("/venv/bin/vllm", "serve", "m", "--ssl-certfile", "c"), {}, "vllm", "https://127.0.0.1:8000"),
        (("/venv/bin/vllm", "serve", "m", "--port", "http"), {}, "vllm", None),
        (("/venv/bin/vllm", "serve", "m", "--uds", "/run/v.sock"), {}, "vllm", "http+unix://%2Frun%2Fv.sock"),
        (("/usr/bin/text-generation-launcher", "-p", "81"), {}, "tgi", "http://127.0.0.1:81"),
        (("/usr/bin/text-generation-launcher",), {"PORT": "80"}, "tgi", "http://127.0.0.1:80"),
        (("/usr/bin/text-generation-launcher", "--port", "81"), {"PORT": "80"}, "tgi", "http://127.0.0.1:81"),
        (("/usr/bin/llama-server", "--host", "fe80::1"), {}, "llama.cpp", "http://[fe80::1]:8080"),
        (("/usr/bin/llama-server",), {"LLAMA_ARG_PORT": "9090"}, "llama.cpp", "http://127.0.0.1:9090"),
        (("/usr/bin/llama-server", "--host", "/run/l.sock"), {}, "llama.cpp", "http+unix://%2Frun%2Fl.sock"),
        (("lmdeploy", "serve", "api_server", "m", "--server-port", "24000"), {}, "lmdeploy", "http://127.0.0.1:24000"),
        (("lmdeploy", "serve", "api_server", "m", "--ssl"), {}, "lmdeploy", "https://127.0.0.1:23333"),
        (("/venv/bin/trtllm-serve", "m", "--host", "0.0.0.0"), {}, "tensorrt-llm", "http://127.0.0.1:8000"),
        (("/usr/local/bin/ollama", "serve"), {}, "ollama", "http://127.0.0.1:11434"),
        (("ollama", "serve"), {"OLLAMA_HOST": "http://0.0.0.0:12000"}, "ollama", "http://127.0.0.1:12000"),
        (
            ("/usr/bin/docker", "run", "--gpus", "all", "-p", "8001:8000", "vllm/vllm-openai:latest", "--model", "m"),
            {}, "vllm", "http://127.0.0.1:8001",
        ),
        ((PYTHON, "/srv/own.py", "--model", "vllm-lookalike", "--port", "81"), {}, None, "http://127.0.0.1:81"),
        (("/usr/bin/myserver", "-p", "81"), {"PORT": "82"}, None, None),
    ],
)  # fmt: skip
def test_server_and_address(
    argv: tuple[str, ...], variables: dict[str, str], name: str | None, base: str | None
) -> None:
    server = server_of(argv)
    assert (server.name if server else None) == name
    assert address(argv, variables, server) == base


@pytest.mark.parametrize(
    ("argv", "variables", "found"),
    [
        (("vllm", "serve", "m", "--api-key", "k1", "k2"), {}, "k1"),
        (("vllm", "serve", "m"), {"VLLM_API_KEY": "k"}, "k"),
        (("llama-server", "--api-key", "a,b"), {}, "a"),
        (("lmdeploy", "serve", "api_server", "m", "--api-keys", "k"), {}, "k"),
        (("sglang", "serve"), {"API_KEY": "another's"}, ""),
        (("/srv/own", "--api-key", "k"), {}, ""),
    ],
)
def test_the_key(argv: tuple[str, ...], variables: dict[str, str], found: str) -> None:
    assert key(argv, variables, server_of(argv)) == found


def test_last_option_wins() -> None:
    assert option(("x", "--port", "1", "--port=2"), "--port") == "2"
    assert option(("x", "--port"), "--port") is None


#: Lines as the servers log them.
SAID = {
    "sglang": "[2026-05-02 10:11:03] The server is fired up and ready to roll!",
    "vllm": "(APIServer pid=7) INFO:     Application startup complete.",
    "tgi": "2026-01-01T00:00:00.000000Z  INFO text_generation_router::server: router/src/server.rs:2302: Connected",
    "llama.cpp": "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
    "lmdeploy": "INFO:     Uvicorn running on http://0.0.0.0:23333 (Press CTRL+C to quit)",
    "tensorrt-llm": "INFO:     Application startup complete.",
    "ollama": 'time=2026-01-01T00:00:00.000Z level=INFO msg="Listening on 127.0.0.1:11434 (version 0.6.0)"',
}
#: Lines of servers that go on all the same.
HARMLESS = (
    'INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK',
    "server_args=ServerArgs(model_path='error-fatal-8b')",
    "Failed to JIT torch c dlpack extension",
    "INFO Connected to the other shards",
)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_ready_lines(server: object) -> None:
    assert any(re.search(pattern, SAID[server.name]) for pattern in server.ready)  # type: ignore[attr-defined]
    patterns = (*server.ready, *server.fatal)  # type: ignore[attr-defined]
    assert not any(re.search(pattern, line) for pattern in patterns for line in HARMLESS)
