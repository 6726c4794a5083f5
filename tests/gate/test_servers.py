"""Which server a command line starts, and where it answers."""

from __future__ import annotations

import re

import pytest

from remedy.gate.servers import SERVERS, Server, address, fatal, key, option, server_of

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
        (("/usr/bin/llama-server", "--host", "::1, /run/l.sock"), {}, "llama.cpp", "http://[::1]:8080"),
        (("/usr/bin/llama-server", "--host", "/run/l.sock"), {}, "llama.cpp", "http+unix://%2Frun%2Fl.sock"),
        (("/usr/bin/llama-server", "--api-prefix", "/llm/"), {}, "llama.cpp", "http://127.0.0.1:8080/llm"),
        (("/venv/bin/vllm", "serve", "--config", "c.yaml"), {}, "vllm", None),
        (("/venv/bin/vllm", "serve", "--config", "c.yaml", "--port", "9000"), {}, "vllm", "http://127.0.0.1:9000"),
        (("/venv/bin/vllm", "serve", "m", "--grpc"), {}, "vllm", None),
        (("/venv/bin/vllm", "serve", "m", "--headless"), {}, "vllm", None),
        ((PYTHON, "-m", "sglang.launch_server", "--smg-grpc-mode", "--port", "1"), {}, "sglang", None),
        (("/venv/bin/trtllm-serve", "grpc", "m", "--port", "50051"), {}, "tensorrt-llm", None),
        (("/venv/bin/trtllm-serve", "serve", "m", "--grpc", "--port", "50051"), {}, "tensorrt-llm", None),
        (("/venv/bin/trtllm-serve", "disaggregated", "-c", "d.yaml"), {}, "tensorrt-llm", None),
        (("/venv/bin/trtllm-serve", "disaggregated", "--config", "d.yaml"), {}, "tensorrt-llm", None),
        (("/venv/bin/trtllm-serve", "serve", "m", "--config", "a.yaml"), {}, "tensorrt-llm", "http://127.0.0.1:8000"),
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


#: Lines as the servers log them, prefixes and all: old releases first.
READY = {
    "sglang": (
        "[2025-05-02 10:11:03] The server is fired up and ready to roll!",
        "[2026-05-02 10:11:03.123] The server is fired up and ready to roll!",
    ),
    "vllm": (
        "INFO:     Application startup complete.",
        "(APIServer pid=7) INFO:     Application startup complete.",
        "(ApiServer_0 pid=7) INFO:     Application startup complete.",
        "(APIServer pid=7) INFO 12-01 10:00:00 [grpc_server.py:132] Server is ready to accept requests",
    ),
    "tgi": (
        "2024-01-01T00:00:00.000000Z  INFO text_generation_router: router/src/main.rs:370: Connected",
        "2026-01-01T00:00:00.000000Z  INFO text_generation_router::server: router/src/server.rs:2302: Connected",
        "\x1b[2m2026-01-01T00:00:00.0Z\x1b[0m \x1b[32m INFO\x1b[0m \x1b[2mtext_generation_router::server\x1b[0m\x1b[2m:"
        "\x1b[0m \x1b[2mrouter/src/server.rs\x1b[0m\x1b[2m:\x1b[0m\x1b[2m2302:\x1b[0m Connected",
        '{"timestamp":"2026-01-01T00:00:00.0Z","level":"INFO","message":"Connected","target":"text_generation_router"}',
    ),
    "llama.cpp": (
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
        "0.21.162.989 I srv          main: server is listening on http://0.0.0.0:8000",
        "0.02.568.314 I srv  llama_server: server is listening on http://127.0.0.1:8080",
        "0.02.568.314 I srv  llama_server: listening on unix:///run/l.sock",
        "0.00.100.000 I srv  llama_server: router server is listening on http://127.0.0.1:8080",
    ),
    "lmdeploy": ("INFO:     Uvicorn running on http://0.0.0.0:23333 (Press CTRL+C to quit)",),
    "tensorrt-llm": (
        "INFO:     Application startup complete.",
        "[12/01/2026-10:00:00] [TRT-LLM] [I] Server is ready to accept requests",
    ),
    "ollama": ('time=2026-01-01T00:00:00.000Z level=INFO msg="Listening on 127.0.0.1:11434 (version 0.6.0)"',),
}
FATAL = {
    "sglang": (
        "[2025-05-02 10:11:03 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        "[2025-05-02 10:11:03 TP1] TpModelWorkerClient hit an exception: Traceback (most recent call last):",
        "[2026-05-02 10:11:03] DetokenizerManager hit an exception: Traceback (most recent call last):",
        "[2026-05-02 10:11:03] MultiTokenizerRouter hit an exception: Traceback (most recent call last):",
        "[2025-05-02 10:11:03] Received sigquit from a child process. It usually means the child failed.",
        "[2026-05-02 10:11:03] SIGQUIT received. signum=3, frame=<frame>. It usually means one child failed.",
        "[2026-05-02 10:11:03] Initialization failed. warmup error: Traceback (most recent call last):",
        "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 9001): address already in use",
    ),
    "vllm": (
        "ERROR 04-28 10:00:00 [core.py:396] EngineCore failed to start.",
        "(EngineCore_DP0 pid=9) ERROR 12-01 10:00:00 [core.py:708] EngineCore failed to start.",
        "(Worker_TP0 pid=9) ERROR 12-01 10:00:00 [multiproc_executor.py:1057] WorkerProc failed to start.",
        "ERROR 12-01 10:00:00 [multiproc_executor.py:381] Worker proc VllmWorker-1 died unexpectedly (exit code: -9), ",
        "ERROR 12-01 10:00:00 [core_client.py:565] Engine core proc EngineCore_DP0 died unexpectedly, shutting down.",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}",
        "RuntimeError: Engine process failed to start. See stack trace for the root cause.",
    ),
    "tgi": (
        "2026-01-01T00:00:00.0Z ERROR text_generation_launcher: Shard 0 failed to start",
        "2026-01-01T00:00:00.0Z ERROR text_generation_launcher: Webserver Crashed",
        "2026-01-01T00:00:00.0Z ERROR text_generation_router::server: Failed to bind to 0.0.0.0:80: Address in use",
        "Error: ShardCannotStart",
    ),
    "llama.cpp": (
        "main: exiting due to model loading error",
        "0.17.598.743 E srv  llama_server: exiting due to model loading error",
        "main: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 9001",
        "0.00.001.000 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 9001",
    ),
    "lmdeploy": (
        "2026-01-01 00:00:00,000 - lmdeploy - ERROR - launch_server.py:59 - Server process failed during startup or "
        "serving.",
    ),
    "tensorrt-llm": (
        "[07/22/2025-05:45:38] [TRT-LLM] [E] Failed to initialize executor on rank 0: CUDA out of memory.",
        "[07/07/2026-03:31:36] [TRT-LLM] [E] [executor] Failed to initialize executor on rank 0: tuple index",
        "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
    ),
    "ollama": (),
}
#: Lines of servers that go on all the same.
HARMLESS = (
    'INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK',
    "server_args=ServerArgs(model_path='error-fatal-8b')",
    "Failed to JIT torch c dlpack extension",
    "INFO Connected to the other shards",
    "[2026-05-02 10:11:03] Using custom SIGQUIT handler: <function>",
    "OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8998): address already in use",
    "(EngineCore pid=9) CRITICAL 12-01 10:00:00 [core.py:1879] vLLM shutdown signal from EngineCore failed to send",
    "[58026] 0.03.561.165 E srv  llama_server: exiting due to model loading error",
    "[ 8026] main: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8026",
    "[58026] 0.03.561.165 I srv  llama_server: listening on http://127.0.0.1:58026",
    "0.00.061.165 E srv         start: couldn't start HTTP listener on http://127.0.0.1:8080",
    "main: HTTP server is listening, hostname: 127.0.0.1, port: 8080, http threads: 15",
)


def holds(patterns: tuple[str, ...], line: str) -> bool:
    return any(re.search(pattern, line) for pattern in patterns)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_ready_and_fatal_lines(server: Server) -> None:
    patterns = fatal(server, "http://127.0.0.1:9001/llm")
    assert [line for line in READY[server.name] if not holds(server.ready, line)] == []
    assert [line for line in FATAL[server.name] if not holds(patterns, line)] == []
    silent = [line for name, lines in FATAL.items() if name != server.name for line in lines if "9001" not in line]
    assert [line for line in (*HARMLESS, *READY[server.name]) if holds(patterns, line)] == []
    assert [line for line in (*HARMLESS, *silent, *FATAL[server.name]) if holds(server.ready, line)] == []


def test_where_no_port_is_known_any_that_is_taken_counts() -> None:
    vllm = next(server for server in SERVERS if server.name == "vllm")
    assert holds(fatal(vllm, None), "error while attempting to bind on address ('::', 8000, 0, 0): in use")
