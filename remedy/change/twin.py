"""The twin: a short-lived unit with the service's user, sandbox and limits and the planned environment.

In it the service's own interpreter asks each JIT library which toolkit it sees, and has it compile, link and
load a smallest real kernel. The service itself is not touched.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from remedy.errors import Exit, RemedyError
from remedy.unit.types import Service
from remedy.value import dataclass, field

RUN_DIRECTORY = "/run/remedy"
# Seconds a proof may take as a whole; one smallest kernel takes a few.
PROOF_TIMEOUT = 120.0
_OUTPUT_LIMIT = 4 * 1024 * 1024

# systemd.exec(5) and systemd.resource-control(5): what decides whether a compiler can run, read and write.
# Left out on purpose: everything that creates, owns or removes directories (StateDirectory= and its kin), opens
# sockets, notifies, restarts or orders.
SANDBOX = (
    "User", "Group", "SupplementaryGroups", "DynamicUser", "UMask", "WorkingDirectory", "RootDirectory",
    "RootImage", "ProtectSystem", "ProtectHome", "ProtectProc", "ProcSubset", "ProtectKernelTunables",
    "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "ProtectHostname",
    "PrivateDevices", "PrivateNetwork", "PrivateUsers", "PrivateMounts", "ReadWritePaths", "ReadOnlyPaths",
    "InaccessiblePaths", "ExecPaths", "NoExecPaths", "TemporaryFileSystem", "BindPaths", "BindReadOnlyPaths",
    "DeviceAllow", "DevicePolicy", "NoNewPrivileges", "CapabilityBoundingSet", "AmbientCapabilities",
    "SystemCallFilter", "SystemCallArchitectures", "SystemCallErrorNumber", "RestrictAddressFamilies",
    "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality",
    "MemoryDenyWriteExecute", "LimitAS", "LimitDATA", "LimitSTACK", "LimitFSIZE", "LimitNOFILE", "LimitNPROC",
    "LimitMEMLOCK", "LimitCPU", "TasksMax",
)  # fmt: skip
# Folders that systemd makes writable for the service (systemd.exec(5), RuntimeDirectory=): the twin may write
# them where they are there, and does not make, own or remove them.
DIRECTORIES = {"StateDirectory": "/var/lib", "CacheDirectory": "/var/cache", "LogsDirectory": "/var/log"}


@dataclass(frozen=True, slots=True)
class Probed:
    """What one library did in the twin: ``toolkit`` and ``nvcc_version`` as the library itself sees them;
    ``error`` its own words where the build failed, bounded; ``seconds`` it took."""

    library: str
    ok: bool
    seconds: float
    toolkit: str | None = None
    nvcc_version: str | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Twin:
    """What the twin needs to know of the service.

    ``expand`` turns a setting's value into the text with its specifiers replaced; ``environment`` is what the
    interpreter process would have after the change; ``probes`` maps a library to the source of its probe.
    """

    service: Service
    interpreter: str
    environment: Mapping[str, str]
    expand: Callable[[str], str]
    probes: Mapping[str, str]
    caches: Sequence[str] = ()
    timeout: float = PROOF_TIMEOUT


@dataclass(slots=True)
class _Reading:
    """What has come out of the twin so far."""

    results: list[Probed] = field(default_factory=list)
    begun: str | None = None
    noise: bytearray = field(default_factory=bytearray)

    def take(self, line: bytes) -> None:
        try:
            said: Any = json.loads(line)
        except ValueError:
            return
        if not isinstance(said, dict) or not isinstance(said.get("library"), str):
            return
        if said.get("begin"):
            self.begun = said["library"]
            return
        self.begun = None
        self.results.append(
            Probed(
                library=said["library"],
                ok=said.get("ok") is True,
                seconds=float(said.get("seconds", 0.0)),
                toolkit=said.get("toolkit"),
                nvcc_version=said.get("nvcc_version"),
                error=str(said.get("error", ""))[:_OUTPUT_LIMIT],
            )
        )


def prove(twin: Twin, report: Callable[[Probed], None] = lambda _result: None) -> Proof:
    """Run every probe in the twin. Needs root (or the user manager's own user). Raises RemedyError where the
    twin can't even be asked for; a failure inside it is part of the Proof."""
    begin = time.monotonic()
    name = f"remedy-proof-{secrets.token_hex(6)}.service"
    environment_file = write_environment(twin.environment)
    try:
        status, reading = _run(command(twin, name, environment_file), payload(twin), twin.timeout, report)
    finally:
        os.unlink(environment_file)
    why = None
    if reading.begun is not None:
        results = (*reading.results, _unfinished(reading, status, twin.timeout))
    else:
        results = tuple(reading.results)
        if status != 0 or len(results) < len(twin.probes):
            why = f"the twin ended with status {status} before it answered"
    noise = reading.noise.decode("utf-8", "replace")
    return Proof(results, why, time.monotonic() - begin, noise)


def _unfinished(reading: _Reading, status: int, timeout: float) -> Probed:
    tail = reading.noise[-4000:].decode("utf-8", "replace")
    words = f"the process ended with status {status} while it built, or after the limit of {timeout:.0f} s"
    return Probed(reading.begun or "", False, 0.0, error=f"{words}\n{tail}")


def command(twin: Twin, name: str, environment_file: str) -> list[str]:
    """The systemd-run command line of the twin: no value of the environment stands on it."""
    words = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", f"--unit={name}"]
    if twin.service.user_manager:
        words.append("--user")
    properties = [
        *sandbox(twin.service, twin.expand),
        f"EnvironmentFile={environment_file}",
        "PrivateTmp=yes",
        f"RuntimeMaxSec={twin.timeout:.0f}",
        "TimeoutStopSec=2",
        "CPUWeight=20",
        "Nice=10",
        f"MemoryMax={_memory_limit()}",
        "Description=Proof of a planned CUDA toolchain",
    ]
    for prop in properties:
        words += ["-p", prop]
    return [*words, "--", twin.interpreter, "-"]


def sandbox(service: Service, expand: Callable[[str], str]) -> Iterator[str]:
    """The service's own restrictions as systemd-run properties."""
    for name in SANDBOX:
        for setting in service.values("Service", name):
            yield f"{name}={expand(setting.value)}"
    for name, base in DIRECTORIES.items():
        for setting in service.values("Service", name):
            for folder in expand(setting.value).split():
                yield f"ReadWritePaths=-{base}/{folder.split(':', 1)[0]}"


def payload(twin: Twin) -> bytes:
    """What the interpreter reads on standard input: the driver, then its orders as a Python literal."""
    driver = resources.files("remedy.change").joinpath("twin_driver.py").read_text("utf-8")
    orders = {"probes": dict(twin.probes), "caches": list(twin.caches)}
    return f"{driver}\nmain({json.dumps(orders)!r})\n".encode()


def write_environment(environment: Mapping[str, str]) -> str:
    """The environment as a file that only root can read, in EnvironmentFile='s grammar (systemd.exec(5))."""
    base = RUN_DIRECTORY if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
    os.makedirs(base, mode=0o700, exist_ok=True)
    path = f"{base}/proof-{secrets.token_hex(8)}.env"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        for name, value in environment.items():
            file.write(f"{name}={quoted(value)}\n".encode("utf-8", "surrogateescape"))
    return path


def quoted(value: str) -> str:
    """A value in double quotes, as env-file parsing in systemd takes it back unchanged."""
    return '"' + "".join("\\" + char if char in '"\\$`' else char for char in value) + '"'


def _memory_limit() -> int:
    """Half of the memory that is available now, in bytes, but no less than 2 GiB."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return max(2 << 30, int(line.split()[1]) * 1024 // 2)
    return 2 << 30


def _run(words: Sequence[str], stdin: bytes, timeout: float, report: Callable[[Probed], None]) -> tuple[int, _Reading]:
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
    reading = _Reading()
    try:
        with process.stdin as pipe:
            pipe.write(stdin)
    except BrokenPipeError:
        pass
    try:
        _collect(process, reading, timeout + 10, report)
        status = process.wait(timeout=10)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return status, reading


def _collect(
    process: subprocess.Popen[bytes], reading: _Reading, timeout: float, report: Callable[[Probed], None]
) -> None:
    assert process.stdout and process.stderr
    until, tail = time.monotonic() + timeout, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < until:
            for key, _ in selector.select(until - time.monotonic()):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    reading.noise += data
                    del reading.noise[:-_OUTPUT_LIMIT]
                else:
                    *lines, tail = (tail + data).split(b"\n")
                    for line in lines:
                        before = len(reading.results)
                        reading.take(line)
                        for result in reading.results[before:]:
                            report(result)
