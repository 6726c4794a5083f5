"""Disk, ports, the network between GPUs: what runs out, is taken, or is out of reach."""

from __future__ import annotations

import re

from remedy.causes.case import Case, Hit, claim_from, near
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import GOES_ON
from remedy.causes.telling import says_only_that
from remedy.hints import Final

_DISK: Final = (
    Signature("o space left on device"),
    # glibc's words for ENOSPC where a service runs under another language
    Signature("设备上没有空间"),
    Signature("デバイスに空き領域がありません"),
    Signature("kein Speicherplatz mehr verfügbar"),
    Signature("No queda espacio en el dispositivo"),
    Signature("Aucun espace disponible sur le périphérique"),
    # the kernel has one number for a disk and for its table of watched files
    Signature("Errno 28", r"^(?!.*inotify).*Errno 28"),
    Signature("os error 28"),
    Signature("ENOSPC", r"^(?!.*file watchers).*ENOSPC"),
    Signature("quota exceeded", r"[Dd]isk quota exceeded"),
    Signature("error while writing generated C file"),
    Signature("Internal error: writing file", weak=True),
    Signature("ot enough free disk space"),
    Signature(
        "disk",
        r"(?i)(?:insufficient|not enough) (?:free )?(?:disk )?space|disk (?:is )?full|(?<!are )not enough free disk\b"
        r"|\b(?:do(?:es)?|did|have|has)(?:n't| not) (?:have )?enough (?:free )?disk space|\bno disk space left",
    ),
    Signature("database or disk is full"),
    Signature("file_system_monitor", r"is over \d+% full", library="ray"),
    Signature("ot enough disk space"),
    Signature("Errno 122"),
    Signature("low on resource: ", r"resource: (?:ephemeral-storage|inodes)", library="kubelet"),
    Signature("ephemeral local storage usage exceeds", library="kubelet"),
    Signature("磁盘空间不足"),
    *any_of(
        "disk space",
        "isk space is",
        "storage space",
        pattern=r"(?i)^(?!.*\b(?:if|when|avoid)\b).*(?:\b(?:ran |running )?out of disk space"
        r"|disk space is insufficient|insufficient storage space)",
    ),
    Signature("enough free space in /"),
    # Ray's raylet, without the place that it says so from
    Signature("is over ", r"is over \d+% full", library="ray"),
    # torch.save: a file that could not be written to its end
    *any_of(
        "PytorchStreamWriter failed writing",
        "inline_container",
        pattern=r"failed writing|unexpected pos",
        library="torch",
    ),
    # torch's own shared memory: /dev/shm, which docker gives 64 MB
    *any_of(
        "out of shared memory",
        "unable to write to file </torch_",
        pattern=r"workers are out of shared|</torch_",
        library="torch",
    ),
)
_SHM: Final = Signature(
    # Ray says how little there is where it goes on with less
    "/dev/shm",
    r"^(?!.*harm performance).*(?:[Ii]ncreas|[Ii]nsufficient|small|full|limit|size|bytes|[Ee]rror|[Ff]ail)",
    weak=True,
)
_SHM_FAIL: Final = Signature(
    "shm", r"(?:shared memory segment|shm_open|/torch_\d+|insufficient shared memory|bus error)", weak=True
)

_NCCL: Final = (
    Signature("NCCL", r"NCCL ?(?:[Ee]rror|failure)"),
    Signature("NCCL_ERROR_"),
    Signature("nccl", r"nccl(?:SystemError|UnhandledCudaError|InternalError|RemoteError|InvalidUsage|InvalidArgument)"),
    Signature("ncclCommInitRank", r"ncclCommInitRank.{0,40}(?:fail|error|:)"),
    # what NCCL itself calls its results, under whatever words the caller puts before them
    *any_of("unhandled system error", "unhandled cuda error", pattern="", library="nccl"),
    Signature("remote process exited or there was a network error", library="nccl"),
    Signature("report this issue to the NCCL developers", library="nccl"),
    Signature("(run with NCCL_DEBUG=", library="nccl"),
    # glog's and dmlc's check of a call's result
    Signature("ncclSuccess", r"Check failed:.*\bncclSuccess\b", library="nccl"),
    Signature("NCCL WARN"),
    # before 2.3 without its name: host, process and thread, device, source file
    Signature(" WARN ", r"\S:\d+:\d+ \[\d+\] \S+\.(?:h|cc|cu):\d+ WARN "),
    Signature("Watchdog caught collective operation timeout"),
    # where the time ran out; what its watchdog writes above, "either an error or timeout", comes with any error of CUDA
    Signature("Timeout at NCCL work", library="torch"),
    Signature("DistBackendError"),
    Signature("is setting up NCCL communicator", library="torch"),
    Signature("NCCL library", r"[Ff]ailed to load (?:the )?NCCL library", library="vllm"),
    Signature("DistStoreError"),
    Signature("connect() timed out. Original timeout was", library="torch"),
    Signature("Rendezvous", r"\bRendezvous(?:Timeout|Connection|State)Error", library="torch"),
    Signature("nvshmem initialization failed", library="nvshmem"),
    Signature("Bootstrap ", r"Bootstrap (?:plugin (?:pre)?init failed for|unable to load) '", library="nvshmem"),
    Signature("init failed for remote transport", library="nvshmem"),
    Signature(" clients joined", r"waiting for clients\. \d+/\d+ clients joined", library="torch"),
    Signature("NCCL communicator was aborted"),
    Signature("doesn't have NCCL built in", library="torch"),
    Signature("resolve hostname to a (local) address", library="torch"),
    *any_of("RendezvousConnectionError", "connection to the C10d store has failed", pattern="", library="torch"),
    Signature("Some NCCL operations have failed or timed out"),
    *any_of("peer access is not supported", "o peer-to-peer access available", pattern=""),
    *any_of(
        "NCCL ",
        "nccl",
        pattern=r"NCCL (?:All(?:Reduce|Gather)|ReduceScatter|Broadcast|GIN) (?:failed|is unavailable)"
        r"|\bnccl(?:Get|Comm|Group|All|Reduce|Broadcast|Send|Recv)\w* failed" + GOES_ON,
    ),
    Signature("DistNetworkError"),
    # c10d's own log, of which a paste may lack the exception
    *any_of("client socket has timed out", "TCP client failed to connect", pattern=r"\[c10d\]", library="torch"),
    Signature("Unable to find address for: ", library="gloo"),
    *any_of("Gloo", "gloo/transport", pattern=r"Gloo connectFullMesh failed|gloo/transport"),
    Signature("ustom_all_reduce", r"custom_all_reduce.{0,80}(?:[Ee]rror|invalid argument|failed)"),
    # torch before 2.1: a rank that never came, or went
    Signature("in store based barrier on rank", r"Timed out initializing process group", library="torch"),
    Signature("wait timeout after ", r"wait timeout after \d+ms, keys: /", library="torch"),
    Signature(
        "Socket Timeout",
        r"^(?:[\w.]*\.)?(?:Runtime|DistStore|DistNetwork|DistBackend)Error: Socket Timeout$",
        library="torch",
    ),
    # a master on another machine; on this one it is the address of IPv6 that torch tries first
    Signature(
        "client socket has failed to connect",
        r"failed to connect to \[(?!localhost|127\.|::1)[^\]]+\].*errno: 11[013]\b",
        library="torch",
    ),
    *any_of("Duplicate GPU detected", "watchdog got stuck for", pattern="", library="nccl"),
    *any_of(
        "DeepEP timeout",
        "DeepEP error: ",
        pattern=r"DeepEP (?:error: )?(?:timeout|CPU recv timeout)",
        library="deep-ep",
    ),
    *any_of(
        "connect EPS failed",
        "nvshmem setup connections failed",
        "is not accessible, exiting",
        pattern="",
        library="nvshmem",
    ),
    Signature("init failed for transport: ", library="nvshmem"),
    Signature("waitForInput: socket", r"\[c10d\] waitForInput: .*timed out after", library="torch"),
    # memory that ranks share over NVLink; the transfers of separate prefill
    *any_of(
        "SymmDeviceMemory]",
        "SymmetricMemory.rendezvous(",
        pattern=r"not support multicast|return _Symm",
        library="torch",
    ),
    Signature(
        "Process failed for slice", r"transport retry counter exceeded|local protection error", library="mooncake"
    ),
    # Ascend's
    *any_of(
        *("cclCommInitRootInfo", "HCCL function error", "HCCL error"),
        pattern=r"[Hh]cclComm|HCCL (?:function )?error(?! codes)",
    ),
    Signature("EI00", r"\bEI00\d\d: .*(?:Transport init error|socket times? ?out)", library="hccl"),
    Signature("NVLS", r"NVLS .{0,60}(?:fail|error)|multicast .{0,30}(?:fail|error)"),
)
_NCCL_LAST: Final = Signature("nccl==", r"vLLM is using nccl==|sglang is using nccl==|is using nccl==", weak=True)
_NCCL_INFO: Final = Signature("NCCL INFO", weak=True)
# How a call's result is handed up, a line for each caller. Not 1: that is an error of CUDA, which NCCL only met.
_NCCL_TRACE: Final = Signature("NCCL INFO", r"\S\.(?:h|cc|cu):\d+ (?:\(\w+\) )?-> [2-68]\b", weak=True)
# The frame that raises what NCCL answered, where a paste ends before the words.
_NCCL_FRAME: Final = Signature("NCCL_CHECK(", weak=True, library="vllm")


# torch's rendezvous says so of a port, too.
_PORT_TAKEN: Final = r"EADDRINUSE|[Aa]ddress already in use"


def _of_a_port(case: Case, hit: Hit) -> bool:
    """Whether the line is about a port, or torch's exception that tells so in the lines below its name."""
    store = "DistNetworkError" in hit.line.text and any(near(hit, port) for port in case.hits(*_PORT))
    return store or re.search(_PORT_TAKEN, hit.line.text) is not None


def _nccl(case: Case) -> Claim | None:
    hits = tuple(hit for hit in case.hits(*_NCCL) if not _of_a_port(case, hit))
    if hits:
        return claim_from(hits)
    frames = case.hits(_NCCL_FRAME)
    if case.ends_with(frames):
        return claim_from(frames[-1:], certainty="likely", weight=Weight.NOTED)
    trace = case.hits(_NCCL_TRACE)
    # Beside an error of something else it tells of a way that NCCL gave up, or of communicators taken down.
    if trace and all(says_only_that(error.text) for error in case.errors):
        return claim_from(trace, certainty="likely", weight=Weight.NOTED)
    # A hang in NCCL's set-up writes nothing more: its lines are the last ones.
    quiet = case.hits(_NCCL_LAST, _NCCL_INFO)
    if case.ends_with(quiet) and not case.errors:
        return claim_from(quiet[-2:], certainty="likely", weight=Weight.NOTED)
    return None


_PORT: Final = (
    # but for the socket of its own that NCCL's monitor of ranks does without
    Signature("ddress already in use", r"^(?!.*\bras/).*ddress already in use"),
    Signature("Errno 98"),
    Signature("os error 98"),
    Signature("EADDRINUSE"),
    *any_of(
        "Port ",
        "port ",
        "port: ",
        "Port: ",
        pattern=r"[Pp]ort:? ?(?P<port>\d{2,5}) (?:is )?(?:already |currently )?(?:in use|not available|occupied|taken"
        r"|being used|allocated|used|unavailable)",
    ),
    Signature("is not available in ", r" at (?P<port>\d{2,5}) is not available in \d+ seconds", library="sglang"),
    Signature("is used by a process already", library="sglang"),
    # llama.cpp, whose host may be a Unix socket's path; its older words, where the address is surely the machine's own
    Signature("couldn't bind HTTP server socket", r"server socket(?!, hostname: \S*/)"),
    Signature(
        "couldn't bind to server socket",
        r"hostname=(?:127\.[\d.]+|0\.0\.0\.0|localhost|::1?) port=(?P<port>\d+)",
        library="llama.cpp",
    ),
    # Triton Inference Server
    Signature("already in use", r"Socket '[^']*:(?P<port>\d+)' already in use"),
    Signature("onnection in use: (", r"onnection in use: \('[^']*', (?P<port>\d+)", library="gunicorn"),
    Signature("bind socket to random port", library="zmq"),
    Signature("port number", r"port number (?P<port>\d+) that is used by other", library="ray"),
    *any_of(
        "empty port",
        "free port",
        "available port",
        "open port",
        "unused port",
        "bind to port",
        "bind port",
        "another process is utilizing",
        "port already in use",
        "a port for",
        pattern=r"(?i)(?:can ?not|could not|couldn't|unable to|failed to) (?:find|get|allocate) (?:an? |any )?"
        r"(?:empty|free|open|unused|available) port|\bno (?:empty|free|open|unused|available) ports?\b"
        r"|could not bind (?:to )?port (?P<taken>\d{2,5})"
        r"|(?<!is the )port already in use|(?:failed|unable) to find a port for"
        r"|port `?(?P<other>\d{2,5})`?, but another process is utilizing it",
    ),
    Signature("is held by pid ", r"\bport (?P<port>\d{2,5}) is held by pid"),
    Signature(
        "ailed to bind",
        r"[Ff]ailed to bind (?!.*(?:\bcuda:|CUDA|Multicast)).{0,60}(?:port|address|:)\D{0,6}(?P<port>\d{2,5})?",
    ),
    Signature("failed to listen on any local network address"),
    # a server that asks first who is there; Ray's head
    *any_of("already running on port", "but is already running at", pattern=""),
    *any_of(
        " port ",
        "Port ",
        "端口",
        pattern=r"[Pp]ort:? (?P<busy>\d{2,5}) (?:is )?(?:busy|already (?:bound|being listened on))"
        r"|(?i:can ?not|could not|unable to|failed to) (?:bind|listen) (?:to |on )?(?:TCP )?port (?P<refused>\d{2,5})"
        r"|端口 ?(?P<occupied>\d{2,5}) ?已被占用",
    ),
    *any_of(
        "already in use",
        "is listening on port",
        "already listening on",
        pattern=r"[Aa]ddress \S+:(?P<held>\d{2,5}) (?:is )?already in use"
        r"|(?:nother|process|service) (?:\w+ )?is (?:already )?listening on (?:port )?\S{0,40}?:?(?P<heard>\d{2,5})\b",
    ),
    # text-generation-inference, of the port of its metrics
    Signature("failed to build prometheus recorder", library="tgi"),
    Signature("ddress in use"),
    Signature("AddrInUse"),
    Signature("WinError 10048"),
    # Windows keeps ranges of ports for Hyper-V, and answers so for any port within one
    Signature("access a socket in a way forbidden", r"listen tcp|exposing port|bind"),
    # gRPC's server, of every address that it tried
    Signature("No address added out of total"),
    Signature("port is already allocated"),
    Signature("Only one usage of each socket address"),
    # EADDRINUSE, not a port that this user may not take (EACCES) or an address that is not this machine's
    Signature("bind", r"^(?!.*\[Errno (?:13|99)\]).*bind on address \('[^']*', (?P<port>\d+)\)"),
)


CAUSES: Final = (
    Cause(
        id="disk-full",
        title="no space or no inodes left",
        handling="advise",
        rank=20,
        summary="A file system has no space or no inodes left.",
        advice="`df -h; df -i` on the paths in the log; $TMPDIR and the caches count too.",
        signatures=(*_DISK, _SHM, _SHM_FAIL),
        page=Page(
            meaning="A write failed because the file system, a quota, or its inodes are used up. Compilers then fail "
            "in odd ways, because their intermediate files are cut short.",
            origin="Model downloads, kernel caches, core dumps, logs; a small /tmp or /dev/shm; PrivateTmp= shares "
            "the disk of /tmp.",
            recognised="`No space left on device`, `[Errno 28]`, `error while writing generated C file`.",
            mending="Free or add space where the path in the line lies; TMPDIR to a larger disk.",
            avoid="An `Internal error` of ptxas or a missing object file beside it is not the toolchain's fault.",
            sources=("write(2), ENOSPC", "df(1)"),
        ),
    ),
    Cause(
        id="port-in-use",
        title="the port is taken",
        handling="advise",
        rank=75,
        summary="Port {port} is taken by another process.||The service's port is taken by another process.",
        advice="`ss -ltnp 'sport = :{port}'` names the process.||`ss -ltnp` names the process that holds it.",
        signatures=_PORT,
        page=Page(
            meaning="Another process listens on the address that the service wants.",
            origin="A previous instance that has not ended (GPU processes can take long to die), a second unit with "
            "the same port, or a program started by hand.",
            recognised="`[Errno 98] … address already in use`. vLLM prints `Application startup complete.` before it.",
            mending="Stop the other, or choose another port. KillMode=control-group makes sure that a stop ends all "
            "worker processes.",
            avoid="In a series of failed restarts it is often the last of several faults.",
            sources=("bind(2), EADDRINUSE", "ss(8)"),
        ),
    ),
    Cause(
        id="nccl-failure",
        title="NCCL can't set up communication between GPUs",
        handling="advise",
        rank=56,
        summary="NCCL could not set up or keep up the communication between GPUs.",
        advice="`systemctl edit {unit}`, `[Service]`, `Environment=NCCL_DEBUG=INFO`, and start once; then look at "
        "NCCL_SOCKET_IFNAME, NCCL_P2P_DISABLE, /dev/shm and the limits on locked memory.",
        judge=_nccl,
        signatures=(*_NCCL, *_PORT, _NCCL_LAST, _NCCL_INFO, _NCCL_TRACE, _NCCL_FRAME),
        page=Page(
            meaning="Tensor and pipeline parallel servers exchange data through NCCL. Its set-up, or an exchange, "
            "failed or hangs.",
            origin="GPUs that can't reach one another's memory, IOMMU or ACS in virtual machines, the wrong network "
            "interface, a small /dev/shm, a rank that died of another cause.",
            recognised="`NCCL error`, `ncclSystemError`, a watchdog's collective timeout; or silence after `is using "
            "nccl==`.",
            mending="NCCL_DEBUG=INFO names the failing call. A rank that died first has its own error further up.",
            avoid="`libnccl-net.so: cannot open shared object file` is normal: that plugin is optional.",
            sources=("NCCL user guide, troubleshooting",),
        ),
    ),
)
