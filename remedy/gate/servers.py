"""The inference servers that are known: how each is recognised, what it says when it is ready, where it answers.

Sources, read in 2026: SGLang 0.4.6 to 0.5.23 (srt/server_args.py, entrypoints/http_server.py and engine.py,
managers/*.py), vLLM 0.6.3 to 0.33 (entrypoints/, v1/engine/, v1/executor/multiproc_executor.py), LMDeploy 0.6.3 to 0.18
(cli/serve.py, serve/openai/), llama.cpp as llama-cpp-python 0.2.90 to 0.3.36 bring it (tools/server/, common/arg.cpp),
TGI 0.9.4, 1.0.3, 1.4.5, 2.0.4, 2.4.1, 3.0.2 and 3.3.7 (launcher/src/main.rs; router/src/main.rs until 2.0, then
router/src/server.rs), TensorRT-LLM as its repository held it at times of 2025 and 2026 (commands/serve.py,
executor/worker.py; PyPI has only a pointer to its wheels), uvicorn's server.py for the lines that most of them print.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from remedy.hints import TYPE_CHECKING, Final
from remedy.value import dataclass

if TYPE_CHECKING:
    from remedy.unit.types import Launch
    from remedy.view import View

#: Bytes of a server's own configuration file.
_CONFIG_LIMIT: Final = 1 << 20

# asyncio's words, where they are about the service's own port: a side channel that finds its port taken is survived.
_OWN_PORT: Final = "OWN_PORT"
_BIND: Final = rf"error while attempting to bind on address \('[^']*', {_OWN_PORT}\b"
# llama.cpp's router hands on what its children say, behind their ports, and outlives them.
_NO_CHILD: Final = r"^(?!\[ *\d+\] ).*"
_GRPC: Final = r"Server is ready to accept requests"


@dataclass(frozen=True)
class Server:
    """One kind of server. ``ready`` and ``fatal`` are regular expressions; a fatal line is one after which the process
    can linger although nothing will come of the start.

    ``ports``, ``hosts``, ``keys``, ``sockets`` and ``certificates`` are what the place can be said with: options, and
    variables of the environment, which options override. ``generate`` is the path of the smallest request for one
    token, ``body`` its JSON; ``names_model`` where that must say which of ``/v1/models`` it means. ``prefixes`` say
    what all paths begin with. ``config`` names a file that can say all of it instead, ``silent`` are words of a command
    line with which it answers no HTTP here (gRPC instead, another node's front end), or only a nested file says where.
    """

    name: str
    markers: tuple[str, ...]
    ready: tuple[str, ...]
    fatal: tuple[str, ...] = ()
    port: int = 8000
    health: str = "/health"
    generate: str = ""
    body: str = ""
    names_model: bool = False
    ports: tuple[str, ...] = ("--port",)
    hosts: tuple[str, ...] = ("--host",)
    keys: tuple[str, ...] = ("--api-key",)
    sockets: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ("--ssl-certfile",)
    prefixes: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


SERVERS: Final = (
    Server(
        "sglang",
        ("sglang", "launch_server"),
        (r"The server is fired up and ready to roll!",),
        (
            r"It usually means (?:the|one) child failed",
            r"(?:Scheduler|Manager|Controller|Router|Client) hit an exception: ",
            r"Initialization failed\. warmup error: ",
            _BIND,
        ),
        port=30000,
        generate="/generate",
        body='{"text": "1", "sampling_params": {"max_new_tokens": 1}}',
        config=("--config",),
        silent=("--grpc-mode", "--smg-grpc-mode"),
    ),
    Server(
        "vllm",
        ("vllm",),
        (r"Application startup complete\.", _GRPC),
        (
            r"Engine core initialization failed",
            r"Frontend process failed during engine core initialization",
            r"Engine process failed to start",
            r"EngineCore failed to start",
            r"WorkerProc failed to start",
            r"(?:Worker|Engine core) proc \S+ died unexpectedly",
            r"RayWorkerProc rank=\S+ died unexpectedly",
            _BIND,
        ),
        generate="/v1/completions",
        body='{"prompt": "1", "max_tokens": 1}',
        names_model=True,
        keys=("--api-key", "VLLM_API_KEY"),
        sockets=("--uds",),
        config=("--config",),
        silent=("--headless", "--grpc"),
    ),
    Server(
        "tgi",
        ("text-generation-launcher", "text-generation-server", "text-generation-inference"),
        (r"\bConnected$", r'"message":"Connected"'),
        # "Connected" comes before the port is bound (router/src/server.rs in all of them).
        (
            r"Shard \d+ (?:failed to start|crashed)",
            r"ShardCannotStart",
            r"Failed to bind to \S+:",
            r"Webserver Crashed",
        ),
        port=3000,
        generate="/generate",
        body='{"inputs": "1", "parameters": {"max_new_tokens": 1}}',
        ports=("--port", "-p", "PORT"),
        hosts=("--hostname", "HOSTNAME"),
        keys=("--api-key", "API_KEY"),
        certificates=(),
    ),
    Server(
        "llama.cpp",
        ("llama-server", "llama.cpp"),
        # "HTTP server is listening, hostname: …" comes before the model is loaded.
        (rf"{_NO_CHILD}\blistening on ",),
        (
            rf"{_NO_CHILD}exiting due to (?:model loading|HTTP server) error",
            rf"{_NO_CHILD}couldn't bind HTTP server socket",
        ),
        port=8080,
        generate="/completion",
        body='{"prompt": "1", "n_predict": 1}',
        ports=("--port", "LLAMA_ARG_PORT"),
        hosts=("--host", "LLAMA_ARG_HOST"),
        keys=("--api-key", "LLAMA_API_KEY"),
        certificates=("--ssl-cert-file", "LLAMA_ARG_SSL_CERT_FILE"),
        prefixes=("--api-prefix", "LLAMA_ARG_API_PREFIX"),
    ),
    Server(
        "lmdeploy",
        ("lmdeploy",),
        (r"Uvicorn running on",),
        (r"Server process failed during startup or serving", _BIND),
        port=23333,
        generate="/v1/completions",
        body='{"prompt": "1", "max_tokens": 1}',
        names_model=True,
        ports=("--server-port",),
        hosts=("--server-name",),
        keys=("--api-keys",),
        certificates=("--ssl",),
    ),
    Server(
        "tensorrt-llm",
        ("trtllm-serve", "tensorrt-llm", "tensorrt_llm"),
        (r"Application startup complete\.", _GRPC),
        (r"Failed to initialize executor on rank \d+", r"MPI_ABORT was invoked on rank", _BIND),
        generate="/v1/completions",
        body='{"prompt": "1", "max_tokens": 1}',
        names_model=True,
        keys=(),
        certificates=(),
        silent=("grpc", "--grpc", "disaggregated", "disaggregated_mpi_worker"),
    ),
    Server("ollama", ("ollama",), (r"Listening on",), port=11434, health="/", hosts=("OLLAMA_HOST",), keys=()),
)
_CONTAINERS: Final = ("docker", "podman", "nerdctl")


def server_of(argv: Sequence[str], module: str | None = None) -> Server | None:
    """The kind of server that a command line starts; None where it is none that is known.

    A model's name can hold a server's: only the program and its first operands count, for a container the image.
    """
    options = next((number for number, word in enumerate(argv) if word.startswith("--")), len(argv))
    in_container = bool(argv) and _base(argv[0]) in _CONTAINERS
    words = [word for word in (argv if in_container else argv[:options]) if not word.startswith("-")]
    for word in (module or "", *map(_base, words)):
        for server in SERVERS:
            if any(marker in word for marker in server.markers):
                return server
    return None


def option(argv: Sequence[str], *names: str) -> str | None:
    """The value of the last ``--name VALUE`` or ``--name=VALUE`` on a command line."""
    found = None
    for index, word in enumerate(argv):
        for name in names:
            if word == name and index + 1 < len(argv):
                found = argv[index + 1]
            elif word.startswith(name + "="):
                found = word[len(name) + 1 :]
    return found


def arguments(launch: Launch, view: View) -> tuple[str, ...]:
    """The command line with the options of the server's own configuration file before those that override them.

    Where that file can't be read, or is more than a plain mapping, the command line as it is: the option that names
    the file is still among its words.
    """
    argv = launch.argv
    server = server_of(argv, launch.module)
    name = option(argv, *server.config) if server else None
    if server is None or not name:
        return argv
    # Few services name such a file, and every diagnosis comes through here.
    from remedy.gate.options import options

    try:
        text = view.read(posixpath.join(launch.directory, name), _CONFIG_LIMIT).decode()
        read = tuple(options(text))
    except (OSError, ValueError):
        return argv
    first = next(number for number, word in enumerate(argv) if word.startswith("--") or word in server.config)
    return (*argv[:first], *read, *_without(argv[first:], server.config))


def _without(words: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """The words but for the options of these names, and their values."""
    left = iter(words)
    for word in left:
        if word in names:
            next(left, None)
        elif word.partition("=")[0] not in names:
            yield word


def said(argv: Sequence[str], variables: Mapping[str, str], names: Sequence[str]) -> str | None:
    """What an option says, or else a variable of the environment. A flag without a value says the empty text."""
    options = [name for name in names if name.startswith("-")]
    found = option(argv, *options)
    if found is None and any(word in options for word in argv):
        return ""
    return found if found is not None else next((variables[name] for name in names if variables.get(name)), None)


def address(argv: Sequence[str], variables: Mapping[str, str], server: Server | None) -> str | None:
    """``http://host:port`` at which the service answers from this machine, or ``http+unix://`` with the quoted path of
    a socket, and what all its paths begin with; None where it answers no HTTP, or it can't be told where.
    """
    if server and any(word in server.silent for word in argv):
        return None
    prefix = (said(argv, variables, server.prefixes) or "").strip("/") if server else ""
    place = _place(argv, variables, server)
    return f"{place}/{prefix}" if place and prefix else place


def _place(argv: Sequence[str], variables: Mapping[str, str], server: Server | None) -> str | None:
    # llama.cpp takes several, with commas between them.
    host = (said(argv, variables, server.hosts if server else ("--host",)) or "").partition(",")[0].strip()
    socket = said(argv, variables, server.sockets) if server else None
    # llama.cpp takes a socket's path for a host (common/arg.cpp, --host).
    if socket or host.endswith(".sock"):
        from urllib.parse import quote

        return f"http+unix://{quote(socket or host, safe='')}"
    port = said(argv, variables, server.ports if server else ("--port",))
    if server and server.name == "ollama":
        host, port = _host_and_port(host)
    port = _published(argv) or port
    if not port and server and said(argv, variables, server.config) is not None:
        return None
    port = port or (str(server.port) if server else "")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        return None
    secure = said(argv, variables, server.certificates if server else ("--ssl-certfile",)) is not None
    return f"{'https' if secure else 'http'}://{_reachable(host)}:{port}"


def fatal(server: Server, place: str | None) -> tuple[str, ...]:
    """The patterns of the lines that end a start of this server at this address."""
    port = (place or "").rpartition(":")[2].partition("/")[0]
    return tuple(pattern.replace(_OWN_PORT, port if port.isdecimal() else r"\d+") for pattern in server.fatal)


def key(argv: Sequence[str], variables: Mapping[str, str], server: Server | None) -> str:
    """The API key that a request must bear, the first of several; empty where there is none."""
    found = said(argv, variables, server.keys) if server else None
    return (found or "").split(",")[0].strip()


def _base(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _published(argv: Sequence[str]) -> str | None:
    """The host's side of ``--publish [IP:]HOST:CONTAINER`` (docker-run(1))."""
    if not argv or _base(argv[0]) not in _CONTAINERS:
        return None
    parts = (option(argv, "-p", "--publish") or "").split(":")
    return parts[-2] if len(parts) > 1 else None


def _host_and_port(text: str) -> tuple[str, str | None]:
    """``[scheme://]host[:port]``, as Ollama's envconfig/config.go reads OLLAMA_HOST."""
    rest = text.partition("://")[2] or text
    host, colon, port = rest.rstrip("/").rpartition(":")
    return (host, port) if colon and port.isdecimal() else (rest, None)


def _reachable(host: str) -> str:
    """The host part of a URL that reaches, from this machine, who listens there."""
    if host in ("", "0.0.0.0", "localhost"):
        return "127.0.0.1"
    if host in ("::", "[::]"):
        return "[::1]"
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
