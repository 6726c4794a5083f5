"""The options in a server's own configuration file."""

from __future__ import annotations

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from remedy.gate.expect import expectation
from remedy.gate.options import options
from remedy.gate.servers import arguments
from remedy.unit.types import Launch, Service
from tests.memory import MemoryView

SGLANG = ("/venv/bin/python3", "-m", "sglang.launch_server")
VLLM = ("/venv/bin/vllm", "serve", "m")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("port: 8123\n", ("--port", "8123")),
        (
            "# ours\n---\nmodel_path: /models/Kimi-K2.6   # large\nport:  '8123'\n",
            ("--model-path", "/models/Kimi-K2.6", "--port", "8123"),
        ),
        ('host: "0.0.0.0"\ntrust-remote-code: true\nenable-x: False\n', ("--host", "0.0.0.0", "--trust-remote-code")),
        ("lora-paths:\n  - a=b\n  - c=d\nport: 1\n", ("--port", "1")),
        ("lora-paths:\n- a=b\nport: 1\n", ("--port", "1")),
        ("hf-overrides: {a: 1}\nport: 1\n", ("--port", "1")),
        ("api-key: sk-a#b\nport: 1\n", ("--api-key", "sk-a#b", "--port", "1")),
        ("revision: null\nchat-template: a b.jinja\n", ("--chat-template", "a b.jinja")),
        ("port: 1\nport: 2\n", ("--port", "1", "--port", "2")),
        ("", ()),
    ],
)
def test_entries(text: str, found: tuple[str, ...]) -> None:
    assert tuple(options(text)) == found


@pytest.mark.parametrize("text", ['{"port": 8123}', "port 8123", "? port\n: 8123", "port: 8123: 1", 'port: "81\\x32"'])
def test_what_is_no_plain_mapping(text: str) -> None:
    with pytest.raises(ValueError, match="not a plain entry"):
        tuple(options(text))


@pytest.mark.parametrize(
    ("argv", "file", "url"),
    [
        ((*SGLANG, "--config", "/etc/s.yaml"), "port: 8123\nhost: 10.0.0.7\n", "http://10.0.0.7:8123/health"),
        ((*SGLANG, "--config", "s.yaml", "--port", "9"), "port: 8123\n", "http://127.0.0.1:9/health"),
        ((*SGLANG, "--config=s.yaml"), "tp-size: 8\n", "http://127.0.0.1:30000/health"),
        ((*VLLM, "--config", "s.yaml"), "port: 8123\nssl-certfile: /c.pem\n", "https://127.0.0.1:8123/health"),
        ((*VLLM, "--config", "s.yaml"), "headless: true\n", None),
        ((*VLLM, "--config", "s.yaml"), "{port: 8123}\n", None),
        ((*VLLM, "--config", "missing.yaml"), "port: 8123\n", None),
    ],
)
def test_where_a_server_answers(argv: tuple[str, ...], file: str, url: str | None) -> None:
    view = MemoryView({"/etc/s.yaml": file})
    launch = Launch(argv, None, {}, directory="/etc")
    assert expectation(Service("x.service", "loaded"), launch, view).health_url == url


def test_a_command_line_without_such_a_file_stays() -> None:
    view = MemoryView({"/etc/s.yaml": "port: 1"})
    for argv in (SGLANG, ("/srv/own", "--config", "/etc/s.yaml"), ()):
        assert arguments(Launch(argv, None, {}), view) == argv
    read = arguments(Launch((*VLLM, "--tp", "8", "--config", "/etc/s.yaml", "-O3"), None, {}), view)
    assert read == (*VLLM, "--port", "1", "--tp", "8", "-O3")


PIECES = st.sampled_from(
    [*"a1:#-_ '\"[]{}&*!|>%@`,?/.~\\\t", "true", "no", "null", "8123", "0.0.0.0", "/m/x", ": ", " #"]
)
VALUES = st.lists(PIECES, max_size=6).map("".join)


@given(st.dictionaries(st.sampled_from(["port", "host", "model", "tp"]), VALUES, max_size=3))
def test_what_is_read_is_what_yaml_means(mapping: dict[str, str]) -> None:
    """As PyYAML, which both servers use, reads it, or not at all."""
    text = "".join(f"{key}: {value}\n" for key, value in mapping.items())
    try:
        read, meant = list(options(text)), yaml.safe_load(text) or {}
    except (ValueError, yaml.YAMLError):
        return
    for key, value in meant.items():
        if mapping[key].lstrip().startswith(tuple("|>&*!")):
            continue
        if value is True:
            assert read.pop(0) == f"--{key}"
        elif isinstance(value, (str, int, float)) and value is not False:
            assert read.pop(0) == f"--{key}"
            said = read.pop(0)
            assert said == value or (not isinstance(value, str) and yaml.safe_load(said) == value)
    assert read == []
