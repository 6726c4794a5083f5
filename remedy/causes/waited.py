"""What gives up waiting for a server that it started, with a patience of its own that no unit knows of."""

from __future__ import annotations

from remedy.causes.entry import any_of
from remedy.hints import Final

_AWAITED: Final = r"\b(?:runner|server|engines?|engine core|backend|model|shard|replica|container|endpoint)\b"
#: Ollama for its runner, vLLM for its engine, SGLang, LocalAI and Jan for what they launched, llama-swap, the kubelet,
#: Kubernetes and Knative, Triton Inference Server for its stubs, docker compose, the hosts of endpoints. What they wait
#: for may have failed, and said so in a log of its own.
WAITED: Final = any_of(
    "imed out waiting for ",
    "imeout waiting for ",
    "imed out occurred while waiting for ",
    "waiting for workers",
    "failed to start within",
    "ailed to start in time",
    "did not become ",
    "failed to be ready within",
    "tartup timeout",
    "ealth check ",
    "tartup probe failed",
    "is unhealthy",
    "unhealthy container",
    "not pass the ping health check",
    "progress deadline",
    "ProgressDeadlineExceeded",
    "nitial scale was never achieved",
    "ailed to start and listen on the port",
    "never became ready",
    pattern=rf"(?i)time(?:d )?out waiting for .{{0,40}}?{_AWAITED}.{{0,60}}?\b(?:start|ready|healthy|initial message)"
    r"|timed out (?:occurred while )?waiting for the (?:stub process|condition)"
    rf"|{_AWAITED}.{{0,60}}? (?:failed to (?:start|be ready) (?:within|in time)|did not become (?:ready|healthy))"
    rf"|{_AWAITED} startup timeout|timeout \d+s waiting for workers"
    r"|health check (?:failed|timed out) after \d|startup probe failed"
    r"|container \S+ is unhealthy|dockerexec: unhealthy|ping health check|exceeded its progress deadline"
    r"|ProgressDeadlineExceeded|scale was never achieved|to start and listen on the port"
    r"|(?:server|model) never became ready",
    weak=True,
)
