"""The twin: a short-lived unit with the service's user, sandbox and limits and the planned environment.

In it the service's own interpreter asks each JIT library which toolkit it sees, and has it compile, link and
load a smallest real kernel. The service itself is not touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

from remedy.change.twin_unit import command, environment_file, managed
from remedy.errors import Exit, RemedyError
from remedy.unit.types import Service
from remedy.value import dataclass, field

# Seconds a proof may take as a whole; one smallest kernel takes a few.
PROOF_TIMEOUT = 120.0
_OUTPUT_LIMIT = 4 * 1024 * 1024
# How the units of twins are called; a leftover is known by it.
_NAME = "remedy-proof-"


@dataclass(frozen=True)
class Probed:
    """What one library did in the twin: ``toolkit`` and ``nvcc_version`` as the library itself sees them;
    ``error`` its own words where the build failed, bounded; ``seconds`` it took. ``ended`` says that the process
    came to an end of its own accord: where it did not, a limit may be to blame."""

    library: str
    ok: bool
    seconds: float
    toolkit: str | None = None
    nvcc_version: str | None = None
    error: str = ""
    ended: bool = True


Reporter = Callable[[Probed], None]
#: Library, build steps done, and their number.
Counter = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Proof:
    """The result for all libraries. ``why`` is set where the twin itself could not run."""

    results: tuple[Probed, ...] = ()
    why: str | None = None
    seconds: float = 0.0
    output: str = ""

    @property
    def ok(self) -> bool:
        """Every library built and loaded its kernel."""
        return self.why is None and all(result.ok for result in self.results)


@dataclass(frozen=True)
class Twin:
    """What the twin needs to know of the service.

    ``expand`` turns a setting's value into the text with its specifiers replaced; ``environment`` is what the
    interpreter process would have after the change; ``probes`` maps a name to the source of its probe, and
    ``arguments`` a name to what its probe is called with. Each of ``caches`` must be writable. With ``real`` the
    libraries build into their own caches, one after the other, else side by side into a folder that is removed.
    ``jobs`` is for MAX_JOBS.
    """

    service: Service
    interpreter: str
    environment: Mapping[str, str]
    expand: Callable[[str], str]
    probes: Mapping[str, str]
    caches: Sequence[str] = ()
    timeout: float = PROOF_TIMEOUT
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    real: bool = False
    jobs: int = 2


@dataclass
class _Reading:
    """What has come out of the twin so far."""

    report: Reporter
    count: Counter
    serial: bool
    results: list[Probed] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    noise: bytearray = field(default_factory=bytearray)
    heard: bytearray = field(default_factory=bytearray)

    def hear(self, data: bytes) -> None:
        """Take what was said on standard error; where one library builds at a time, ninja's ``[3/7]`` is told."""
        self.noise += data
        del self.noise[:-_OUTPUT_LIMIT]
        if not self.serial or not self.begun:
            return
        begin = self.heard.rfind(b"\n") + 1
        self.heard += data
        for line in self.heard[begin:].splitlines():
            done, slash, total = line[1:20].partition(b"]")[0].partition(b"/")
            if slash and line.startswith(b"[") and done.isdigit() and total.isdigit():
                self.count(self.begun[0], int(done), int(total))
        del self.heard[:-_OUTPUT_LIMIT]

    def take(self, line: bytes) -> None:
        try:
            said: Any = json.loads(line)
        except ValueError:
            return
        if not isinstance(said, dict) or not isinstance(said.get("library"), str):
            return
        if said.get("begin"):
            self.begun.append(said["library"])
            self.heard.clear()
            return
        self.begun = [name for name in self.begun if name != said["library"]]
        toolkit, version = said.get("toolkit"), said.get("nvcc_version")
        error = self.heard.decode("utf-8", "replace") + str(said.get("error", ""))[:_OUTPUT_LIMIT]
        result = Probed(
            library=said["library"],
            ok=said.get("ok") is True,
            seconds=float(said.get("seconds", 0.0)),
            toolkit=str(toolkit) if toolkit else None,
            nvcc_version=str(version) if version else None,
            error="" if said.get("ok") is True else error,
            ended=said.get("ended") is not False,
        )
        self.results.append(result)
        self.report(result)


def prove(
    twin: Twin,
    report: Reporter = lambda _result: None,
    count: Counter = lambda _library, _done, _total: None,
) -> Proof:
    """Run every probe in the twin. Needs root (or the user manager's own user). Raises RemedyError where the
    twin can't even be asked for; a failure inside it is part of the Proof. ``count`` is told of the build steps that
    are done where libraries build one after the other."""
    begin = time.monotonic()
    name = f"{_NAME}{secrets.token_hex(6)}.service"
    with environment_file(twin.environment) as path:
        words = [*command(twin.service, twin.expand, name, path, twin.timeout), twin.interpreter, "-"]
        try:
            reading = _Reading(report, count, twin.real)
            status = _run(words, payload(twin), twin.timeout, reading)
        except BaseException:
            _stop(name, user=twin.service.user_manager)
            raise
    noise = reading.noise.decode("utf-8", "replace")
    # In the order that was asked for, which is that of importance, however they came in.
    order = {name: number for number, name in enumerate(twin.probes)}
    results, why = tuple(sorted(reading.results, key=lambda one: order.get(one.library, -1))), None
    if reading.begun:
        results = (*results, *(_unfinished(name, noise, status, twin.timeout) for name in reading.begun))
    elif status != 0:
        why = f"the twin ended with status {status} before it answered: {_last_line(noise)}"
    return Proof(results, why, time.monotonic() - begin, noise)


def _stop(name: str, *, user: bool) -> None:
    """A proof that is interrupted ends with us, and before anything is put back: it would go on for its own time."""
    scope = ["--user"] if user else []
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(["systemctl", *scope, "stop", name], capture_output=True, timeout=30)


def stop_left() -> None:
    """End the twins of a remedy that was killed: what they still build would come after what is put back."""
    _stop(f"{_NAME}*.service", user=False)


def _unfinished(library: str, noise: str, status: int, timeout: float) -> Probed:
    words = f"the process ended with status {status} while it built, or after the limit of {timeout:.0f} s"
    return Probed(library, False, 0.0, error=f"{words}\n{noise[-4000:]}", ended=False)


def _last_line(noise: str) -> str:
    lines = [line.strip() for line in noise.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def payload(twin: Twin) -> bytes:
    """What the interpreter reads on standard input: the driver, then its orders as a Python literal."""
    driver = resources.files("remedy.change").joinpath("twin_driver.py").read_text("utf-8")
    made = tuple(managed(twin.service, twin.expand))
    # What systemd makes for the service and gives to its user need not be there yet.
    caches = [cache for cache in twin.caches if not any(f"{cache}/".startswith(f"{folder}/") for folder in made)]
    orders = {
        "probes": dict(twin.probes),
        "arguments": {name: dict(given) for name, given in twin.arguments.items()},
        "caches": caches,
        "real": twin.real,
        "side_by_side": 1 if twin.real else len(twin.probes),
        "jobs": twin.jobs,
    }
    return f"{driver}\nmain({json.dumps(orders)!r})\n".encode()


def _run(words: Sequence[str], stdin: bytes, timeout: float, reading: _Reading) -> int:
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise RemedyError(
            f"systemd-run can't be run: {error.strerror}",
            hint="--no-prove restarts without a proof",
            exit_code=Exit.REFUSED,
        ) from None
    assert process.stdin and process.stdout and process.stderr
    try:
        try:
            with process.stdin as pipe:
                pipe.write(stdin)
        except BrokenPipeError:
            pass
        _collect(process, reading, timeout + 10)
        return process.wait(timeout=10)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _collect(process: subprocess.Popen[bytes], reading: _Reading, timeout: float) -> None:
    assert process.stdout and process.stderr
    until, tail = time.monotonic() + timeout, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < until:
            ready = selector.select(until - time.monotonic())
            # Errors first: what a build said stands before its result.
            for key, _ in sorted(ready, key=lambda one: one[0].fileobj is not process.stderr):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    reading.hear(data)
                else:
                    *lines, tail = (tail + data).split(b"\n")
                    tail = tail[-_OUTPUT_LIMIT:]
                    for line in lines:
                        reading.take(line)
