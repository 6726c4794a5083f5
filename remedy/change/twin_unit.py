"""The twin as systemd is asked for it: the service's own restrictions, the planned environment, limits of its own."""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Callable, Iterator, Mapping

from remedy.unit.types import Service

# systemd.exec(5) and systemd.resource-control(5): what decides whether a compiler can run, read and write.
# Left out on purpose: everything that creates, owns or removes directories (StateDirectory= and its kin), opens
# sockets, notifies, restarts or orders.
SANDBOX = (
    "User", "Group", "SupplementaryGroups", "DynamicUser", "UMask", "WorkingDirectory", "RootDirectory",
    "RootImage", "MountAPIVFS", "ProtectSystem", "ProtectHome", "ProtectProc", "ProcSubset", "ProtectKernelTunables",
    "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "ProtectHostname",
    "PrivateTmp", "PrivateDevices", "PrivateNetwork", "PrivateUsers", "PrivateMounts", "ReadWritePaths",
    "ReadOnlyPaths", "InaccessiblePaths", "ExecPaths", "NoExecPaths", "TemporaryFileSystem", "BindPaths",
    "BindReadOnlyPaths", "DeviceAllow", "DevicePolicy", "NoNewPrivileges", "CapabilityBoundingSet",
    "AmbientCapabilities", "AppArmorProfile", "SystemCallFilter", "SystemCallArchitectures",
    "SystemCallErrorNumber", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime",
    "RestrictSUIDSGID", "LockPersonality", "MemoryDenyWriteExecute", "LimitAS", "LimitDATA", "LimitSTACK",
    "LimitFSIZE", "LimitNOFILE", "LimitNPROC", "LimitMEMLOCK", "LimitCPU", "TasksMax",
)  # fmt: skip
#: Folders that systemd makes for the service and gives to its user (systemd.exec(5), RuntimeDirectory=).
DIRECTORIES = {"StateDirectory": "/var/lib", "CacheDirectory": "/var/cache", "LogsDirectory": "/var/log"}
Expand = Callable[[str], str]


def properties(service: Service, expand: Expand) -> Iterator[str]:
    """The service's own restrictions as systemd-run properties."""
    for name in SANDBOX:
        for setting in service.values("Service", name):
            yield f"{name}={expand(setting.value)}"
    if not _dynamic(service):
        # The twin may write these folders where they are there, and does not make, own or remove them.
        for folder in managed(service, expand):
            yield f"ReadWritePaths=-{folder}"
        return
    if not service.value("Service", "User"):
        # A dynamic user is named after its unit: under the same name the twin gets the same user.
        yield f"User={service.name.removesuffix('.service')}"
    for name in DIRECTORIES:
        for setting in service.values("Service", name):
            # Only the manager can open these to a dynamic user, and it hands them on at every start anyway.
            yield f"{name}={expand(setting.value)}"


def managed(service: Service, expand: Expand) -> Iterator[str]:
    """The folders that systemd will have made writable when the service starts."""
    for name, base in DIRECTORIES.items():
        for setting in service.values("Service", name):
            for folder in expand(setting.value).split():
                yield posixpath.join(base, folder.split(":", 1)[0])


def _dynamic(service: Service) -> bool:
    setting = service.value("Service", "DynamicUser")
    return setting is not None and setting.value.strip().lower() in ("1", "yes", "y", "true", "t", "on")


def command(service: Service, expand: Expand, name: str, environment_file: str, timeout: float) -> list[str]:
    """The systemd-run command line up to the program: no value of the environment stands on it."""
    words = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", f"--unit={name}"]
    if service.user_manager:
        words.append("--user")
    wanted = [
        *properties(service, expand),
        f"EnvironmentFile={environment_file}",
        f"RuntimeMaxSec={timeout:.0f}",
        "TimeoutStopSec=5",
        "CPUWeight=20",
        "Nice=10",
        f"MemoryMax={memory_limit()}",
        "OOMScoreAdjust=500",
        "Description=Proof of a planned CUDA toolchain",
    ]
    for one in wanted:
        words += ["-p", one]
    return [*words, "--"]


@contextlib.contextmanager
def environment_file(environment: Mapping[str, str]) -> Iterator[str]:
    """The environment in EnvironmentFile='s grammar (systemd.exec(5)), in memory that only our own user can read.

    It is no file on any disk: however we end, nothing of it is left.
    """
    handle = os.memfd_create("environment", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            for name, value in environment.items():
                file.write(f"{name}={quoted(value)}\n".encode("utf-8", "surrogateescape"))
        yield f"/proc/{os.getpid()}/fd/{handle}"
    finally:
        os.close(handle)


def quoted(value: str) -> str:
    """A value in double quotes, as env-file parsing in systemd takes it back unchanged."""
    return '"' + "".join("\\" + char if char in '"\\$`' else char for char in value) + '"'


def memory_limit() -> int:
    """Half of the memory that is available now, in bytes, but no less than 2 GiB."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return max(2 << 30, int(line.split()[1]) * 1024 // 2)
    return 2 << 30
