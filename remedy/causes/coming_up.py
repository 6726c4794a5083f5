"""Lines by which programs tell that they serve, and that they ended."""

from __future__ import annotations

import re

from remedy.hints import Final

# A program that has come up says one of these; a fatal line may still follow.
READY: Final = (
    "The server is fired up and ready to roll",
    "Application startup complete",
    "server is listening on http",
    "Uvicorn running on http",
    # Triton Inference Server (src/http_server.cc), once its models are loaded
    "Started HTTPService at",
)
#: Ollama says so by its answers alone: it listens before it has looked for a GPU, or loaded a model (gin's log). TGI's
#: router has one word for it, once the model is warm.
_ANSWERS: Final = ('"/api/chat"', '"/api/generate"', ".rs:")
_ANSWERED: Final = r"^\[GIN\] .*\| 200 \|.* POST +\"|^router/src/\w+\.rs:\d+: Connected$"
# The end of a process, whatever its reason.
DIED: Final = (
    "Main process exited",
    "Failed with result",
    "core dumped",
    "Segmentation fault",
    "terminate called",
    # assert(3), CUDA's of a kernel, ggml's, and glog's of a check
    "Assertion `",
    "GGML_ASSERT(",
    "*** Check failure stack trace",
    "Fatal Python error",
    "ngine core initialization failed",
    "EngineDeadError",
    "fatal signal",
    "sigquit from a child",
    "usually means one child failed",
    "died, exit code",
    "is dead.",
    "xit code: -",
    "Killed",
    # Ollama's model server, and TGI's launcher
    "process has terminated",
    "ShardFailed",
    "WebserverFailed",
    # SGLang's servers ask themselves once, and end where the answer is not theirs
    "Initialization failed. warmup error",
    "warmup failed; aborting startup",
)
#: One of these stands in every line that tells of either.
WORDS: Final = (*READY, *_ANSWERS, *DIED)


def says_ready(text: str) -> bool:
    """Whether the line, without its prefixes, says that the program has come up."""
    if any(word in text for word in READY):
        return True
    return any(word in text for word in _ANSWERS) and re.match(_ANSWERED, text) is not None
