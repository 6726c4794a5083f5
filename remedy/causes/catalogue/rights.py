"""What the service may not touch, and starts that were ended from outside."""

from __future__ import annotations

from remedy.causes import rules
from remedy.causes.case import Case, Hit, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import BUILD_FAILED, NVCC_RUN, PERMISSION, READ_ONLY, TIMED_OUT
from remedy.causes.telling import says_only_that
from remedy.causes.types import Evidence
from remedy.causes.waited import WAITED
from remedy.hints import Final

# systemd.exec(5), process exit codes: the steps that fail of rights, files or settings of the sandbox.
_STEPS: Final = (
    r"(?P<step>NAMESPACE|(?:STATE|CACHE|RUNTIME|LOGS|CONFIGURATION)_DIRECTORY|CAPABILITIES|SECCOMP|APPARMOR_PROFILE"
    r"|APPARMOR|SELINUX_CONTEXT|SMACK_PROCESS_LABEL|MEMORY|STDIN|STDOUT|STDERR|CHROOT|CGROUP|PAM|NETWORK"
    r"|NO_NEW_PRIVILEGES|ADDRESS_FAMILIES|CHOWN|KEYRING|CREDENTIALS|LIMITS|NICE|OOM_ADJUST|SETSCHEDULER|CPUAFFINITY"
    r"|NUMA_POLICY|BPF|IOPRIO|SECUREBITS|PERSONALITY)\b"
)
_NAMESPACE: Final = Signature("status=2", r"status=2\d\d/" + _STEPS)
_DIRECTORY_STEP: Final = Signature("Failed at step", r"Failed at step " + _STEPS)
_MOUNT: Final = Signature("set up mount namespac")
# what exec_invoke() says before it names the step
_SET_UP: Final = Signature(
    ".service: Failed to ",
    r": Failed to (?:set up (?:special execution directory|credentials|standard (?:in|out|err)|\w+ namespac|private dev"
    r"|PAM|kernel keyring|CPU|NUMA)|apply (?!.*ignoring)|restrict (?:address|filesystem)|drop (?:bset )?capab"
    r"|change SELinux context (?!.*ignoring)|disable (?:new priv|writing to exec)|adjust resource limit"
    r"|attach (?:process )?to cgroup)",
)
# ld.so, for a library on a mount with noexec, or under MemoryDenyWriteExecute=
_UNMAPPED: Final = Signature("failed to map segment from shared object")
# systemd, and systemctl status
_SYSCALL: Final = any_of("31/SYS", "signal=SYS", pattern=r"status=31/SYS|signal=SYS\b")
# the kernel's own records, and setroubleshoot's sentence for one
_DENIED_BY_LSM: Final = any_of(
    "avc:",
    "apparmor=",
    "SELinux",
    pattern=r"avc:  denied|apparmor=\"DENIED\"|SELinux (?:is preventing|prevent(?:s|ed)) \S",
)
# the kernel's record of a system call that a filter forbade, where it killed the program for that
_FORBIDDEN_CALL: Final = Signature("sig=", r"(?:type=1326|SECCOMP) .*\bsig=31\b", needs="sig=31")
_NVML_RIGHTS: Final = Signature("Insufficient Permissions", r"Insufficient Permissions")
_HUB_CACHE: Final = any_of(
    "write in your cache folder",
    "PermissionError at ",
    pattern=r"cache folder \((?P<path>[^)]+)\)|PermissionError at (?P<path2>\S+) when downloading",
)
# the kubelet, whose pod may not run as the user that its image names
_NOT_AS_ROOT: Final = Signature("container has runAsNonRoot and ")
_ADDRESS_FAMILY: Final = Signature("Address family not supported by protocol")
_NOT_PERMITTED: Final = Signature(
    "peration not permitted",
    # of the CUDA driver's and runtime's own rules a call can fall foul, too
    r"^(?!.*(?:CUDA error|_NOT_PERMITTED|ErrorNotPermitted)).*[Oo]peration not permitted(?! when stream)[^'\"/]{0,20}"
    r"['\"]?(?P<path>/[^'\",;\s]+)?",
    weak=True,
)


def denied_path(hit: Hit) -> str:
    """The path that a line says may not be touched, empty where it names none."""
    return (hit.groups.get("path") or hit.groups.get("path2") or "").strip()


def not_a_cache(hit: Hit) -> bool:
    """A refusal that is not about a JIT cache, a compiler, or systemd's own exec step."""
    text = hit.line.text
    if "step EXEC" in text or "Failed to execute" in text or "publickey" in text or "nvcc" in text:
        return False
    path = denied_path(hit)
    return not rules.is_jit_cache(path) if path else not rules.speaks_of_kernels(text)


def behind(case: Case, path: str, text: str) -> tuple[Evidence, ...]:
    """The unit's sandbox settings that can be behind a refusal of this path, or of what the line is about."""
    names: tuple[str, ...] = ("InaccessiblePaths", "ReadOnlyPaths", "DynamicUser")
    if path.startswith(("/home", "/root", "/run/user")):
        names = ("ProtectHome", "ProtectSystem", *names)
    elif path.startswith("/dev"):
        names = ("PrivateDevices", "DevicePolicy", "DeviceAllow")
    elif path.startswith(("/tmp", "/var/tmp")):
        names = ("PrivateTmp", *names)
    elif path:
        names = ("ProtectSystem", *names)
    else:
        names = ("SystemCallFilter", "MemoryDenyWriteExecute", "RestrictAddressFamilies")
    if "ead-only" in text:
        names = ("ProtectSystem", *(name for name in names if name != "ProtectSystem"))
    return tuple(case.sandbox[name] for name in names if name in case.sandbox)


_FOR_CERTAIN: Final = (
    _NAMESPACE,
    _DIRECTORY_STEP,
    _MOUNT,
    _SET_UP,
    _UNMAPPED,
    *_SYSCALL,
    _FORBIDDEN_CALL,
    *_DENIED_BY_LSM,
    _NVML_RIGHTS,
    _NOT_AS_ROOT,
    *_HUB_CACHE,
)


def _sandbox(case: Case) -> Claim | None:
    certain = case.hits(*_FOR_CERTAIN)
    if certain:
        return claim_from(certain, behind(case, "", ""))
    refused = tuple(hit for hit in case.hits(*PERMISSION, READ_ONLY) if not_a_cache(hit))
    named = tuple(hit for hit in refused if denied_path(hit))
    if named:
        return claim_from(named, behind(case, denied_path(named[0]), named[0].line.text))
    weak = refused + case.hits(_NOT_PERMITTED, _ADDRESS_FAMILY)
    return claim_from(weak, certainty="possible", weight=Weight.HINT)


_RESULT_TIMEOUT: Final = any_of(
    "result 'timeout'", "Result: timeout", pattern=r"Failed with result 'timeout'|\(Result: timeout", weak=True
)
_JOB_TIMEOUT: Final = Signature("a timeout was exceeded")
_STOPPING: Final = Signature("timed out", r"State 'stop-\w+' timed out|Stopping timed out", weak=True)


# The kubelet's startupProbe does as TimeoutStartSec= does.
_PROBE: Final = Signature("failed startup probe", weak=True)


def _start_timeout(case: Case) -> Claim | None:
    hits = case.hits(*TIMED_OUT, _JOB_TIMEOUT)
    if hits:
        return claim_from(hits)
    if case.has(_PROBE) and all(" probe" in line.text for line in case.errors):
        return claim_from(case.hits(_PROBE), certainty="likely", weight=Weight.DECISIVE)
    result = case.hits(*_RESULT_TIMEOUT)
    if result and not case.has(_STOPPING) and not case.has(*BUILD_FAILED, NVCC_RUN):
        return claim_from(result, certainty="likely", weight=Weight.DECISIVE)
    waited = case.hits(*WAITED)
    gave_up = {hit.line.number for hit in waited}
    told = (line for line in case.errors if line.number not in gave_up and " probe" not in line.text)
    # Of a unit, what systemd did is known, and another's patience is no setting of it.
    if case.state is None and case.ready is None and all(says_only_that(line.text) for line in told):
        return claim_from(
            waited, certainty="possible", weight=Weight.HINT, summary=_GAVE_UP_WAITING, advice=_MORE_PATIENCE
        )
    return None


_GAVE_UP_WAITING: Final = (
    "What started the server gave up waiting for it: it was still loading, or it failed and said why in its own log."
)
_MORE_PATIENCE: Final = (
    "Read the server's own log first. If it was only loading, allow it more time: OLLAMA_LOAD_TIMEOUT, "
    "VLLM_ENGINE_READY_TIMEOUT_S, llama-swap's healthCheckTimeout, the startup probe's failureThreshold, or the "
    "health check's start_period."
)


_FORBIDDEN: Final = (
    "See what the unit forbids with `systemctl show {unit} -p User -p ProtectHome -p ProtectSystem -p ReadWritePaths "
    "-p PrivateDevices -p DeviceAllow`"
)

CAUSES: Final = (
    Cause(
        id="sandbox-denied",
        title="the unit's sandbox or file rights keep the service from what it needs",
        handling="advise",
        rank=70,
        summary="The service may not use {path}: file rights, or a sandbox setting of the unit.||The service is kept "
        "from something it needs by file rights or a sandbox setting of the unit.",
        advice=f"{_FORBIDDEN}, and the path's rights with `namei -l {{path}}`.||{_FORBIDDEN}.",
        judge=_sandbox,
        signatures=(
            *_FOR_CERTAIN,
            _ADDRESS_FAMILY,
            _NOT_PERMITTED,
            *PERMISSION,
            READ_ONLY,
        ),
        statuses=(
            *(208, 209, 210, 218, 219, 222, 224, 225, 226, 227, 228, 229, 231, 232, 233, 235, 236, 237, 238, 239, 240),
            *(241, 243),
        ),
        page=Page(
            meaning="The program ran, asked for a file, device or system call, and was refused: by the owner and mode "
            "of a path, by a mandatory access control, or by the unit's own hardening.",
            origin="ProtectHome= hides /home and /root, where models and virtual environments often lie; "
            "ProtectSystem=strict makes everything but ReadWritePaths= read-only; PrivateDevices= or DeviceAllow= "
            "takes /dev/nvidia* away; MemoryDenyWriteExecute= and SystemCallFilter= stop JIT compilers; a new User= "
            "can't read what root downloaded.",
            recognised="`Permission denied` or `Read-only file system` with a path that is no JIT cache, exit status "
            "226/NAMESPACE, 31/SYS, or an `avc: denied` record. Where the path is a JIT cache the cause is "
            "jit-cache-unwritable, which remedy mends.",
            mending="Give the service its own place (StateDirectory=, CacheDirectory=) or add the one path to "
            "ReadWritePaths= or BindReadOnlyPaths=; hand data to the service's user with chown. For GPUs the device "
            "list needs nvidia0…, nvidiactl, nvidia-uvm and nvidia-uvm-tools.",
            avoid="Don't drop all hardening or run as root to get past one path, and don't chmod 777.",
            sources=("systemd.exec(5), Sandboxing", "systemd.resource-control(5), DeviceAllow="),
        ),
    ),
    Cause(
        id="start-timeout",
        title="TimeoutStartSec= ended a start that was going well",
        handling="mend",
        mend="more-time",
        rank=950,
        summary="systemd stopped the service because it was not ready within TimeoutStartSec=; it was still loading.",
        advice="Raise it: `systemctl edit {unit}`, `[Service]`, `TimeoutStartSec=30min`.",
        judge=_start_timeout,
        signatures=(*TIMED_OUT, _JOB_TIMEOUT, _PROBE, *WAITED, *_RESULT_TIMEOUT, _STOPPING),
        results=("timeout",),
        page=Page(
            meaning="A service of Type=notify or forking has to say that it is up within TimeoutStartSec=, 90 seconds "
            "where nothing else is set. Loading a large model takes longer. Nothing is broken.",
            origin="The model grew, the page cache is cold after a reboot, the disk is slower, or kernels are compiled "
            "for the first time (then the cause is jit-cold-start).",
            recognised="`start operation timed out. Terminating.` and the result `timeout`, with progress up to the "
            "last moment and no error before it.",
            mending="remedy sets TimeoutStartSec= from the length of the last good start, with room.",
            avoid="`infinity` hides a start that hangs. A hang has another cause: no log line and no CPU for minutes.",
            sources=("systemd.service(5), TimeoutStartSec=",),
        ),
    ),
)
