"""Runs inside the twin, in the service's own interpreter, from standard input: the standard library only.

It prints one JSON object a line: ``begin`` before a probe and its result after it, so that a probe that takes the
process down with it is known by name. Everything else that the libraries print goes to standard error.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from typing import Any


def writable(folder: str) -> None:
    """Raise OSError where a file can't be made in a cache folder, or in the nearest folder above it."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    handle, path = tempfile.mkstemp(prefix=".remedy-proof-", dir=folder)
    os.close(handle)
    os.unlink(path)


def run(name: str, source: str, work: str, arguments: dict[str, Any]) -> dict[str, object]:
    """One probe: ``probe(work, …)`` of its source returns what the library sees, or raises."""
    begin = time.monotonic()
    result: dict[str, object] = {"library": name, "ok": False}
    try:
        space: dict[str, Any] = {"__name__": "remedy_probe"}
        exec(compile(source, "probe of " + name, "exec"), space)
        result.update(space["probe"](work, **arguments))
        result["ok"] = True
    except Exception as error:
        result["error"] = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-200000:]
    result["seconds"] = round(time.monotonic() - begin, 3)
    return result


def prepare(base: str, orders: dict[str, Any]) -> None:
    """The environment that the libraries read at import: a proof must not touch the service's real caches."""
    if not orders["real"]:
        os.environ["FLASHINFER_WORKSPACE_BASE"] = base
        os.environ["TVM_FFI_CACHE_DIR"] = base
        os.environ["TORCH_EXTENSIONS_DIR"] = base
        os.environ["TRITON_CACHE_DIR"] = os.path.join(base, "triton")
    wanted = os.environ.get("MAX_JOBS", "")
    jobs = orders["jobs"]
    os.environ["MAX_JOBS"] = str(min(int(wanted), jobs) if wanted.isdigit() and wanted != "0" else jobs)


def stopped(_number: int, _frame: object) -> None:
    """The time is over: leave, and clean up on the way."""
    raise SystemExit(143)


def start(name: str, source: str, base: str, arguments: dict[str, Any], quiet: bool) -> int:
    """One probe in a process of its own, so that it can take down nothing but itself; its result lies in a file.

    ``quiet`` keeps what it and its compilers print for its own result: others may run beside it.
    """
    work = os.path.join(base, name)
    os.makedirs(work, exist_ok=True)
    process = os.fork()
    if process:
        return process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        if quiet:
            log = os.open(work + ".log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
        result = run(name, source, work, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        if not result["ok"]:
            result["error"] = said(work) + str(result["error"])
        with open(work + ".json", "w") as file:
            json.dump(result, file)
    finally:
        os._exit(0)


def said(work: str) -> str:
    """The end of what a quiet probe and its compilers printed."""
    try:
        with open(work + ".log", errors="replace") as file:
            return file.read()[-200000:]
    except OSError:
        return ""


def outcome(name: str, base: str, status: int) -> str:
    """The result of a probe that has ended, as JSON."""
    try:
        with open(os.path.join(base, name + ".json")) as file:
            return file.read()
    except OSError:
        code = os.waitstatus_to_exitcode(status)
        how = "was ended by " + signal.Signals(-code).name if code < 0 else "exited with status " + str(code)
        error = said(os.path.join(base, name)) + "the process that built it " + how
        return json.dumps({"library": name, "ok": False, "ended": False, "error": error})


def probe_all(orders: dict[str, Any], base: str, answers: Any) -> None:
    """Every probe; ``side_by_side`` of them at a time."""
    todo = list(orders["probes"].items())
    running: dict[int, str] = {}
    while todo or running:
        while todo and len(running) < orders["side_by_side"]:
            name, source = todo.pop(0)
            answers.write(json.dumps({"library": name, "begin": True}) + "\n")
            given = orders["arguments"].get(name, {})
            running[start(name, source, base, given, not orders["real"])] = name
        process, status = os.wait()
        if process in running:
            answers.write(outcome(running.pop(process), base, status) + "\n")


def unwritable(folders: list[str]) -> list[str]:
    """The cache folders that can't be written, each as a result in JSON."""
    found = []
    for folder in folders:
        try:
            writable(folder)
        except OSError as error:
            words = "the service's user can't write " + folder + ": " + str(error)
            found.append(json.dumps({"library": "cache", "ok": False, "error": words}))
    return found


def main(text: str) -> None:
    """Carry out the orders (JSON text): try each cache folder, then each library."""
    orders = json.loads(text)
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, stopped)
    base = tempfile.mkdtemp(prefix="remedy-proof-")
    try:
        prepare(base, orders)
        failed = unwritable(orders["caches"])
        for line in failed:
            answers.write(line + "\n")
        if not failed:
            probe_all(orders, base, answers)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    sys.stdout.flush()
