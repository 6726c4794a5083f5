"""The program that the lab's units run: it starts as an inference server does, without the model.

    launch_server.py --model-path P --port N [--module page|sampling|none] [--load-seconds S] …

The kernels are real: FlashInfer's own module and one of SGLang's TVM-FFI kernels are compiled, linked and loaded
with whatever compiler these libraries find.  The log lines are those of SGLang 0.5.10 (srt/managers/scheduler.py,
srt/entrypoints/http_server.py), or with `--voice vllm` those of vLLM's API server.

To fail on purpose: --fail-after, --hang, --crash-after-ready, --listen-but-unhealthy; the environment variable
LAB_SERVER_ARGS adds arguments, so that a drop-in can break a unit without touching its ExecStart=.
"""

from __future__ import annotations

import argparse
import http.server
import json
import logging
import os
import shlex
import sys
import threading
import time
import traceback

SHARDS = 8


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="launch_server.py", allow_abbrev=False)
    parser.add_argument("--model-path", "--model", required=True)
    parser.add_argument("--served-model-name")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--tp-size", "--tp", "--tensor-parallel-size", type=int, default=1)
    parser.add_argument("--trust-remote-code", action="store_true")
    parser.add_argument("--mem-fraction-static", "--gpu-memory-utilization", type=float, default=0.9)
    parser.add_argument("--voice", choices=["sglang", "vllm"], default="sglang")
    parser.add_argument("--module", choices=["page", "sampling", "none"], default="page")
    parser.add_argument("--no-jit-kernel", action="store_true", help="leave SGLang's TVM-FFI kernel out")
    parser.add_argument("--load-seconds", type=float, default=1.0, help="how long loading the weights takes")
    parser.add_argument("--fail-after", nargs=2, metavar=("SEC", "MESSAGE"), help="raise MESSAGE after SEC seconds")
    parser.add_argument("--hang", action="store_true", help="stop before ready, without a word or CPU time")
    parser.add_argument("--crash-after-ready", type=float, metavar="SEC", help="die SEC seconds after ready")
    parser.add_argument("--listen-but-unhealthy", action="store_true", help="answer /health with status 503")
    return parser.parse_args(argv)


class SGLang:
    """SGLang's log lines."""

    ready = "The server is fired up and ready to roll!"
    format = "[%(asctime)s] %(message)s"
    rank = "[%(asctime)s TP0] %(message)s"

    def first(self, options: argparse.Namespace) -> str:
        shown = f"model_path={options.model_path!r}, host={options.host!r}, port={options.port}"
        return (
            f"server_args=ServerArgs({shown}, tp_size={options.tp_size}, trust_remote_code={options.trust_remote_code})"
        )

    def failed(self, trace: str) -> None:
        logging.error("Scheduler hit an exception: %s", trace)
        logging.error("Received sigquit from a child process. It usually means the child failed.")


class VLLM:
    """vLLM's log lines."""

    ready = "Application startup complete."
    format = "(APIServer pid=%(process)d) %(levelname)s %(asctime)s [api_server.py:1351] %(message)s"
    rank = "(EngineCore_DP0 pid=%(process)d) %(levelname)s %(asctime)s [core.py:95] %(message)s"

    def first(self, options: argparse.Namespace) -> str:
        shown = {"model": options.model_path, "host": options.host, "port": options.port}
        return f"non-default args: {shown}"

    def failed(self, trace: str) -> None:
        logging.error("EngineCore failed to start.")
        for line in trace.rstrip().splitlines():
            logging.error("%s", line)
        logging.error("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")


def load_weights(seconds: float) -> None:
    logging.info("Load weight begin. avail mem=94.31 GB")
    for shard in range(SHARDS + 1):
        # A progress bar on stderr, as the loaders print it: no log record.
        percent = 100 * shard // SHARDS
        print(f"\rLoading safetensors checkpoint shards: {percent:3}% Completed | {shard}/{SHARDS}", file=sys.stderr)
        if shard < SHARDS:
            time.sleep(seconds / SHARDS)
    logging.info("Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=12.40 GB")


def load_flashinfer(module: str) -> None:
    """Build and load one of FlashInfer's modules, as the first forward pass does."""
    if module == "sampling":
        from flashinfer.jit.sampling import gen_sampling_module as generate
    else:
        from flashinfer.jit.page import gen_page_module as generate
    generate().build_and_load()


def load_jit_kernel() -> None:
    """Build and load SGLang's smallest kernel through TVM-FFI."""
    from sglang.jit_kernel.add_constant import _jit_add_constant_module  # type: ignore[import-not-found]

    _jit_add_constant_module(1)


class Handler(http.server.BaseHTTPRequestHandler):
    """One token for everybody."""

    options: argparse.Namespace
    server_version = "uvicorn"

    def do_GET(self) -> None:
        if self.path.startswith(("/health", "/v1/models")):
            self.answer(503 if self.options.listen_but_unhealthy else 200, {})
        elif self.path == "/get_model_info":
            self.answer(200, {"model_path": self.options.model_path, "is_generation": True})
        else:
            self.answer(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/generate":
            meta = {"finish_reason": {"type": "length", "length": 1}, "completion_tokens": 1}
            self.answer(200, {"text": " ready", "meta_info": meta})
        elif self.path == "/v1/completions":
            self.answer(200, {"object": "text_completion", "choices": [{"index": 0, "text": " ready"}]})
        else:
            self.answer(404, {"detail": "Not Found"})

    def answer(self, status: int, body: dict[str, object]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, _format: str, *args: object) -> None:
        status = args[1] if len(args) > 1 else ""
        logging.info('%s - "%s" %s', self.client_address[0], self.requestline, status)


def start(options: argparse.Namespace) -> None:
    """Everything up to the ready line; raises what the libraries raise."""
    if options.fail_after:
        time.sleep(float(options.fail_after[0]))
        raise RuntimeError(options.fail_after[1])
    if options.module != "none":
        # Servers import FlashInfer at once and build its modules after the weights: its warning comes minutes
        # before the error that it leads to.
        import flashinfer.jit  # noqa: F401
    load_weights(options.load_seconds)
    if options.module != "none":
        load_flashinfer(options.module)
        if options.voice == "sglang" and not options.no_jit_kernel:
            load_jit_kernel()
    logging.info("Capture cuda graph begin. This can take up to several minutes. avail mem=11.93 GB")
    logging.info("Capture cuda graph end. Time elapsed: 0.10 s. mem usage=0.31 GB. avail mem=11.62 GB.")
    while options.hang:
        time.sleep(3600)


def main() -> int:
    options = parse(sys.argv[1:] + shlex.split(os.environ.get("LAB_SERVER_ARGS", "")))
    voice = SGLang() if options.voice == "sglang" else VLLM()
    stamp = "%Y-%m-%d %H:%M:%S" if options.voice == "sglang" else "%m-%d %H:%M:%S"
    logging.basicConfig(level=logging.INFO, format=voice.format, datefmt=stamp)
    logging.info("%s", voice.first(options))
    logging.getLogger().handlers[0].setFormatter(logging.Formatter(voice.rank, stamp))
    try:
        start(options)
    except Exception:
        voice.failed(traceback.format_exc())
        return 1
    Handler.options = options
    logging.getLogger().handlers[0].setFormatter(logging.Formatter(voice.format, stamp))
    server = http.server.ThreadingHTTPServer((options.host, options.port), Handler)
    logging.info("Uvicorn running on http://%s:%d (Press CTRL+C to quit)", options.host, options.port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    logging.info(voice.ready)
    if options.crash_after_ready is None:
        threading.Event().wait()
    time.sleep(options.crash_after_ready)
    logging.error("CUDA error: an illegal memory access was encountered")
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
