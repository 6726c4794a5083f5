"""What is hidden, and what is not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedy.show.secrets import is_secret, redact, redact_argv, redact_value


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "OPENAI_API_KEY",
        "WANDB_API_KEY", "DB_PASSWORD", "DB_PASS", "MYSQL_PWD", "PGPASSWORD", "GOOGLE_APPLICATION_CREDENTIALS",
        "AUTH_TOKEN", "NEW_API_KEY",
        "api-key", "hf-token", "apiKey", "ssl-keyfile-password", "Authorization", "X-Api-Key", "SESSION_COOKIE", "KEY",
        "MYAPPTOKEN", "JWT", "password", "CACHE_SECRET",
    ],
)  # fmt: skip
def test_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "TOKENIZERS_PARALLELISM",
        "KEYBOARD",
        "MONKEY",
        "PWD",
        "OLDPWD",
        "PATH",
        "CUDA_HOME",
        "LD_LIBRARY_PATH",
        "NCCL_IB_PKEY",
        "MAX_TOKENS",
        "SGLANG_MAX_TOKEN",
        "NUM_TOKEN",
        "VLLM_KV_CACHE_KEY",
        "AUTHOR",
        "PASSTHROUGH",
        "HF_TOKEN_PATH",
        "KUBECONFIG",
        "SSH_AUTH_SOCK",
        "FLASHINFER_CUDA_ARCH_LIST",
        "max-total-tokens",
        "ssl-keyfile",
        "TOKENIZER_MODE",
        "COMPASS",
        "_",
        "",
    ],
)
def test_others(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Environment=HF_TOKEN=abc "OPENAI_API_KEY=d e" A=1', 'Environment=HF_TOKEN=*** "OPENAI_API_KEY=***" A=1'),
        ("A=TOKEN=x y", "A=TOKEN=*** y"),
        ("export SECRET_KEY='x y' B=2", "export SECRET_KEY='***' B=2"),
        ("serve --api-key s3cret --port 3", "serve --api-key *** --port 3"),
        ("serve --api-key=s3cret --port=3", "serve --api-key=*** --port=3"),
        ("serve --api-key --port 3", "serve --api-key --port 3"),
        ("postgres://u:pw@h/db", "postgres://u:***@h/db"),
        ("https://0123456789abcdefghij@host/x", "https://***@host/x"),
        ("http://h:1/p?q=1&r=2:x=y", "http://h:1/p?q=1&r=2:x=y"),
        ("GET /m?token=abcdef&x=1", "GET /m?token=***"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer ***"),
        ("curl -H 'X-Api-Key: abcd' u", "curl -H 'X-Api-Key: ***' u"),
        ('{"token": "abc", "x": 1}', '{"token": "***", "x": 1}'),
        ("login hf_abcdefghijkl done", "login *** done"),
        ("sk-proj-abcdefghijklmnop", "***"),
        ("k=-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", "k=***\nx"),
        ("Unexpected key: model.layers.0", "Unexpected key: model.layers.0"),
        (
            "Failed to determine user credentials: No such process",
            "Failed to determine user credentials: No such process",
        ),
        ("password: No", "password: ***"),
        ("--max-tokens 5 MAX_TOKEN=5", "--max-tokens 5 MAX_TOKEN=5"),
        ("TOKENIZERS_PARALLELISM=false", "TOKENIZERS_PARALLELISM=false"),
        ("/usr/local/cuda-12.8/bin:/usr/bin", "/usr/local/cuda-12.8/bin:/usr/bin"),
        ("task-force sk-short hf_x", "task-force sk-short hf_x"),
    ],
)
def test_redact(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_redact_argv_sees_two_words_as_one_option() -> None:
    argv = ["serve", "--api-key", "a b", "--token=x", "--api-key", "--port", "3", "-m", "model"]
    assert redact_argv(argv) == ["serve", "--api-key", "***", "--token=***", "--api-key", "--port", "3", "-m", "model"]


def test_redact_value() -> None:
    assert redact_value("HF_TOKEN", "x") == "***" and redact_value("HF_TOKEN", "") == ""
    assert redact_value("URL", "redis://:pw@h") == "redis://:***@h" and redact_value("A", "x=y") == "x=y"


@given(st.text(st.sampled_from("abKEY=-:'\"@/ \n_sk"), max_size=60))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=12, max_size=30))
def test_no_secret_survives(secret: str) -> None:
    texts = [f"HF_TOKEN={secret}", f"--api-key {secret}", f"https://user:{secret}@h", f"Authorization: Bearer {secret}"]
    # "Authorizatio" is a secret that its own header's name holds.
    assert all(redact(text).count(secret) < text.count(secret) for text in texts)


def test_long_texts_take_no_time() -> None:
    for text in (
        "a" * 300_000,
        "a:" * 100_000,
        "A=" * 100_000,
        "://" * 100_000,
        "--a " * 100_000,
        "'" * 100_000,
        " " * 300_000,
    ):
        redact(text)


@pytest.mark.parametrize("unit", ["v", "a-", "a.", "-a", "x ", "A=", '"a": ', "a://", "hf_a.", "bearer "])
def test_long_lines_take_little_time(unit: str) -> None:
    """A line of the journal may have 48 KiB (journald.conf(5), LineMax=), and anyone may have written it."""
    line = f"NAME={unit * (48 * 1024 // len(unit))} TOKEN=secret"
    begin = time.process_time()
    assert "secret" not in redact(line)
    assert time.process_time() - begin < 1.0
