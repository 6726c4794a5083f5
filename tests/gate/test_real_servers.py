"""What servers log is looked up in their own files, and what uvicorn logs is said by uvicorn itself."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from remedy.gate.servers import SERVERS, Server, fatal
from tests.jit.real import store

pytestmark = pytest.mark.machine

LLAMA = ("vendor/llama.cpp/*/server/server*.cpp", "vendor/llama.cpp/common/arg.cpp", "vendor/llama.cpp/common/common.h")
VLLM = ("vllm/entrypoints/*.py", "vllm/v1/engine/*.py", "vllm/v1/executor/*.py", "vllm/v1/utils.py")
RELEASES = {
    "sglang": ("0.4.6.post5", "0.5.17", "0.5.23"),
    "vllm": ("0.8.5", "0.11.0", "0.33.0"),
    "lmdeploy": ("0.18.0",),
    "llama.cpp": ("0.2.90", "0.3.16", "0.3.36"),
}
#: The releases since llama.cpp says when it is ready; before, its address tells.
SINCE = {"llama.cpp": ("0.3.16", "0.3.36")}
#: The loggers' methods after which nothing is lost, and those of which a fatal line comes.
CALM = ("debug", "info", "warning", "debug_once", "info_once", "warning_once", "print")
CALM_MACROS = ("LOG_INFO", "LOG_WARNING", "LOG_INF", "LOG_WRN", "SRV_INF", "SRV_WRN", "SRV_TRC")
#: What the releases say only by way of uvicorn or asyncio.
ELSEWHERE = ("Application startup", "Uvicorn running", "attempting to bind")


def server(name: str) -> Server:
    return next(server for server in SERVERS if server.name == name)


def folder(name: str, version: str) -> Path:
    """The files of one release that log something of a start."""
    if name == "sglang":
        return store.source(name, version) / "sglang/srt"
    if name == "llama.cpp":
        return store.part("llama-cpp-python", version, *LLAMA)
    return store.part(name, version, *(VLLM if name == "vllm" else ("lmdeploy/serve/*.py",)))


@cache
def said(name: str, version: str) -> tuple[tuple[str, str], ...]:
    """What a release says that any pattern takes: the text, values left out, and how it says it."""
    patterns = [re.compile(pattern) for pattern in (*server(name).ready, *fatal(server(name), None))]
    found = []
    for file in sorted(folder(name, version).rglob("*.py")):
        text = file.read_text()
        if any(pattern.search(text) for pattern in patterns):
            found += [one for one in _texts(ast.parse(text)) if any(pattern.search(one[0]) for pattern in patterns)]
    for file in sorted(folder(name, version).rglob("server*.cpp")):
        found += [one for one in _literals(file.read_text()) if any(pattern.search(one[0]) for pattern in patterns)]
    return tuple(found)


def _literals(text: str) -> Iterator[tuple[str, str]]:
    """The same for C++, where what logs begins the line."""
    for line in text.splitlines():
        call = re.match(r"\s*(\w+)\(", line)
        for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            yield literal, call[1] if call else ""


def _texts(tree: ast.AST, way: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a module with the call or statement that it stands in; documentation is none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        here = way
        if isinstance(node, ast.Raise | ast.Assert):
            here = "raise"
        elif isinstance(node, ast.Call) and here != "raise":
            here = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield "".join(map(str, parts)), here
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, here
        else:
            yield from _texts(node, here)


@pytest.mark.parametrize(("name", "version"), [(name, one) for name, every in RELEASES.items() for one in every])
def test_no_fatal_line_is_said_calmly(name: str, version: str) -> None:
    patterns = fatal(server(name), None)
    calm = [
        text
        for text, way in said(name, version)
        if way in (*CALM, *CALM_MACROS) and any(re.search(one, text) for one in patterns)
    ]
    assert calm == []


@pytest.mark.parametrize("name", RELEASES)
def test_every_line_is_said_by_some_release(name: str) -> None:
    texts = [text for version in RELEASES[name] for text, _ in said(name, version)]
    patterns = (*server(name).ready, *fatal(server(name), None))
    own = [pattern for pattern in patterns if not any(word in pattern for word in ELSEWHERE)]
    assert [pattern for pattern in own if not any(re.search(pattern, text) for text in texts)] == []


@pytest.mark.parametrize("version", SINCE["llama.cpp"])
def test_llama_cpp_is_ready_once_its_model_is_loaded(version: str) -> None:
    (server_cpp,) = folder("llama.cpp", version).rglob("server.cpp")
    text = server_cpp.read_text()
    ready = [
        text.find(one) for one, _ in _literals(text) if any(re.search(it, one) for it in server("llama.cpp").ready)
    ]
    assert ready and min(ready) > text.index("model loaded") > text.index("load_model(params)")


def test_where_llama_cpp_is_told_to_listen() -> None:
    known = server("llama.cpp")
    files = {path.name: path.read_text() for path in folder("llama.cpp", "0.3.36").rglob("*") if path.is_file()}
    words = (*known.ports, *known.hosts, *known.keys, *known.certificates, *known.prefixes)
    assert [word for word in words if f'"{word}"' not in files["arg.cpp"]] == []
    assert re.search(rf"int32_t port += {known.port};", files["common.h"])
    assert [path for path in (known.health, known.generate) if f'("{path}"' not in files["server.cpp"]] == []


APP = """
async def app(scope, receive, send):
    while scope["type"] == "lifespan":
        event = (await receive())["type"]
        await send({"type": event + ".complete"})
        if event == "lifespan.shutdown":
            return
"""


@pytest.mark.parametrize("version", ["0.23.2", "0.54.0"])
def test_uvicorns_lines(version: str, tmp_path: Path) -> None:
    (tmp_path / "stub.py").write_text(APP)
    parts = [store.whole(*part) for part in (("uvicorn", version), ("click", "8.1.8"), ("h11", "0.16.0"))]
    env = {**os.environ, "PYTHONPATH": ":".join(map(str, (tmp_path, *parts)))}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "uvicorn", "stub:app", "--port", str(port)]
        refused = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    ready = refused.stderr.splitlines()
    for name in ("sglang", "vllm", "lmdeploy", "tensorrt-llm"):
        lines = [line for line in ready if any(re.search(one, line) for one in fatal(server(name), f"http://h:{port}"))]
        assert lines == [
            f"ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', {port}): " + USED
        ]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        begun = [running.stderr.readline() for _ in range(4)]
        running.terminate()
    for name in ("vllm", "lmdeploy", "tensorrt-llm"):
        assert [line for line in begun if any(re.search(one, line) for one in server(name).ready)], (name, begun)
        assert not [line for line in begun if any(re.search(one, line) for one in fatal(server(name), None))]


USED = "address already in use"
