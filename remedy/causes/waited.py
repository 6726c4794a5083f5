"""What gives up waiting for a server that it started, with a patience of its own that no unit knows of."""

from __future__ import annotations

from remedy.causes.entry import any_of
from remedy.hints import Final

_AWAITED: Final = r"\b(?:runner|server|engines?|engine core|backend|model|shard|replica|container|endpoint)\b"
#: Ollama for its runner, vLLM for its engine, SGLang, LocalAI and Jan for what they launched, llama-swap, the kubelet,
#: docker compose, the hosts of endpoints. It may have failed, and said so in a log of its own.
WAITED: Final = any_of(
    "imed out waiting for ",
    "imeout waiting for ",
    "failed to start within",
    "ailed to start in time",
    "did not become ",
    "failed to be ready within",
    "tartup timeout",
    "ealth check ",
    "tartup probe failed",
    "is unhealthy",
    "not pass the ping health check",
    pattern=rf"(?i)time(?:d )?out waiting for .{{0,40}}?{_AWAITED}.{{0,60}}?\b(?:start|ready|healthy|initial message)"
    rf"|{_AWAITED}.{{0,60}}? (?:failed to (?:start|be ready) (?:within|in time)|did not become (?:ready|healthy))"
    rf"|{_AWAITED} startup timeout|health check (?:failed|timed out) after \d|startup probe failed"
    r"|container \S+ is unhealthy|ping health check",
    weak=True,
)
