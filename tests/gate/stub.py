"""A server as the gate sees one: lines, a port, a status for each request, an end. The standard library only.

stub.py [say LINE | wait SEC | serve PORT HEALTH GENERATE | flood BYTES | notify | exit STATUS | stay | poll]…
"""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time


def serve(port: int, health: int, generate: int) -> None:
    """Answer GET with one status, POST with another; 0 accepts and never answers."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(health)

        def do_POST(self) -> None:
            self.answer(generate)

        def answer(self, status: int) -> None:
            if status == 0:
                time.sleep(600)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    http.server.ThreadingHTTPServer.daemon_threads = True
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def flood(amount: int) -> None:
    """Log that many bytes, in lines as a server writes them."""
    line = "INFO 10.0.0.1 POST /v1/completions 200 " + "x" * 61 + "\n"
    for _ in range(amount // len(line)):
        sys.stdout.write(line)


def main(words: list[str]) -> None:
    """Carry out one word after the other."""
    todo = iter(words)
    for word in todo:
        match word:
            case "say":
                print(next(todo), flush=True)
            case "wait":
                time.sleep(float(next(todo)))
            case "serve":
                serve(int(next(todo)), int(next(todo)), int(next(todo)))
            case "flood":
                flood(int(next(todo)))
            case "notify":
                subprocess.run(["systemd-notify", "--ready"], check=True)
            case "exit":
                sys.exit(int(next(todo)))
            case "stay":
                threading.Event().wait()
            case "poll":
                while True:
                    pass
            case _:
                raise SystemExit(f"stub.py: unknown word {word}")


if __name__ == "__main__":
    main(sys.argv[1:])
