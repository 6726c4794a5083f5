"""Memory, disk, ports, the network between GPUs: what runs out or is taken."""

from __future__ import annotations

import re

from remedy.causes.case import Case, Hit, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import BUILD_FAILED, OUT_OF_MEMORY_KILL
from remedy.hints import Final

_GPU_MEMORY: Final = (
    Signature("CUDA out of memory"),
    Signature("OutOfMemoryError", r"(?:torch(?:\.cuda)?\.|cuda\.(?:memory\.)?)OutOfMemoryError"),
    Signature("out of memory", r"(?i:(?:CUDA|HIP)(?: runtime| driver)? (?:error|failure))[^,;]{0,40}out of memory"),
    Signature(
        "out of memory",
        r"\b(?:CUDA|cuda(?:Error|Malloc|Memcpy|Host)\w*|cuMem\w+|GPU|VRAM|cuBLAS)\b.{0,80}out of memory",
    ),
    Signature("RESOURCE_EXHAUSTED", r"RESOURCE_EXHAUSTED: .{0,20}[Oo]ut of memory", library="jax"),
    Signature("cudaErrorMemoryAllocation"),
    Signature("emory allocation ", r"(?:CUDA|GPU|VRAM|[Dd]evice) memory allocation (?:error|fail)"),
    Signature("CUDA_ERROR_OUT_OF_MEMORY"),
    Signature("cudaMalloc failed: out of memory"),
    Signature("o available memory for the cache blocks"),
    Signature(
        "KV cache",
        r"(?:larger than|exceeds?|greater than|[Nn]ot enough) .{0,80}KV cache"
        r"|KV cache .{0,80}(?:larger|not enough|insufficient)",
    ),
    Signature("kv cache", r"(?i)to serve at least one request .*kv cache|not enough .{0,30}kv cache"),
    Signature("on startup is less than", library="vllm"),
    Signature("is less than desired GPU memory utilization"),
    # SGLang, and text-generation-inference at its warm-up
    Signature("Not enough memory", r"Not enough memory(?:\. Please try| to handle)"),
    # ExLlamaV2, MLC, other makers' back ends
    *any_of(
        "device memory",
        "gpu memory",
        "GPU memory",
        "VRAM",
        # an advice says "if"
        pattern=r"(?i)^(?!.*\b(?:if|when)\b).*\b(?:lack of|insufficient|not? enough|out of) (?:free |available )?"
        r"(?:(?:gpu|device) memory\b|vram\b)",
    ),
    # TensorRT's builder and its runtime
    Signature("OutOfMemory", r"\[TRT\].*\bOutOfMemory\b", library="tensorrt"),
    Signature("could not be allocated", r"GPU memory \(\d+ bytes\) could not be allocated", library="tensorrt"),
    Signature("Not enough space for mamba", library="sglang"),
    Signature("HBM is free", r"needs ~?[\d.]+ ?GB but only .* HBM is free", library="sglang"),
    Signature(
        "mem-fraction-static", r"(?:[Nn]ot enough|does not fit|[Ii]ncrease|[Rr]educe|memory).{0,80}mem-fraction-static"
    ),
    Signature(
        "buffer",
        # llama.cpp's buffers by the back end's name: CPU, CPU_Mapped, CPU_REPACK are host memory
        r"^(?!.*ggml_backend_cpu).*(?:unable|failed) to allocate (?:(?!CPU)\w+ )?(?:pp )?buffers?"
        r"|allocating [\d.]+ MiB on device \d+: cudaMalloc failed",
    ),
    Signature("ailed to allocate", r"[Ff]ailed to allocate .{0,60}(?:GPU|CUDA|device|VRAM)"),
    Signature("_STATUS_ALLOC_FAILED", r"\bCU(?:BLAS|SPARSE|SOLVER|RAND)_STATUS_ALLOC_FAILED"),
    Signature("DEVICE_ALLOCATION_FAILED"),
    # torch, of its first call
    Signature("out of memory", r"cudaGetDeviceCount.* Error 2: out of memory"),
    Signature("load full model on GPU", library="ollama"),
    Signature("memory capacity is unbalanced"),
)

_OOM_RESULT: Final = Signature(
    "oom-kill",
    r"Failed with result 'oom-kill'|\(Result: oom-kill|oom-kill:(?:.*\btask=(?P<asked>[^,]+))?|result=oom-kill",
)
_OOM_UNIT: Final = Signature("killed by the OOM killer")
# The kernel's report but for its last line, which a paste may lack: who asked for memory, the limit's statistics, who
# was reaped.
_OOM_REPORT: Final = any_of(
    "invoked oom-killer",
    "Memory cgroup stats for",
    "oom_reaper",
    pattern=r"(?P<asked>\S+) invoked oom-killer|Memory cgroup stats for"
    r"|oom_reaper: reaped process \d+ \((?P<victim>[^)]*)\)",
)
_OOM_RAY: Final = Signature("OOM killer due to high memory usage", weak=True)
# systemd-oomd's own lines, of which a terminal cuts the long ones, and the manager's.
_OOM_D: Final = (
    Signature("memory pressure", r"[Kk]illed (?:\S+ )?due to memory pressure|systemd-oomd .*[Kk]illed"),
    Signature("due to memory used", r"[Kk]illed \S+ due to memory used"),
    Signature("illed /", r"(?:^|oomd\[\d+\]: )Killed /\S+\.slice\b"),
    Signature("systemd-oomd killed"),
)
_OOM_K8S: Final = Signature("OOMKilled")
_OOM_NODE: Final = Signature(
    "node running low on memory", r"killed due to the node running low on memory|running low on memory"
)
_OOM_CGROUP: Final = Signature("emory cgroup out of memory")
_SIGKILL: Final = Signature("9/KILL", r"status=9/KILL", weak=True)
_EXIT_137: Final = Signature(
    "xit", r"[Ee]xit(?:ed)?[ _]?(?:with )?(?:[Cc]ode|[Ss]tatus)?[\"']?[:=]? ?\(?137\b", weak=True, needs="137"
)
_MINUS_9: Final = (
    Signature("signal=KILL", weak=True),
    Signature("SIGKILL", r"(?<!after )(?<!survived )(?<!ending )(?<!via )(?<!\) with signal )SIGKILL", weak=True),
    *any_of(
        "exit",
        "returncode",
        "signal",
        pattern=r"(?:exit ?code|exited with|exits with return code|signal|returncode)[ :=]*-9\b",
        weak=True,
        needs="-9",
    ),
)
# SGLang ends itself and its children so once one of them failed (kill_process_tree); systemd, who won't stop in time.
_KILLED_BY_OTHERS: Final = any_of(
    "sigquit from a child", "with signal SIGKILL", "timed out. Killing", pattern="", weak=True
)
_HOST_MEMORY: Final = (
    Signature("DefaultCPUAllocator"),
    # memory that may not be locked (RLIMIT_MEMLOCK: mlock(2), RDMA's registrations) is not memory that there is not
    Signature("annot allocate memory", r"\[Errno 12\]|^(?!.*(?:insert module|\bmlock|\bibv_)).*Cannot allocate memory"),
    Signature("ggml_aligned_malloc: insufficient memory"),
    Signature("buffer", r"(?:unable|failed) to allocate CPU\w* buffer|ggml_backend_cpu\w*: failed to allocate buffer"),
    Signature("equires more system memory"),
    Signature("ot enough host memory", library="sglang"),
    Signature("MemoryError", r"^MemoryError$|\b_ArrayMemoryError: "),
    # what C++, Rust and Go end with
    Signature("std::bad_alloc", r"^(?!.*(?:cuda|out_of_memory)).*std::bad_alloc"),
    Signature("memory allocation of ", r"^memory allocation of \d+ bytes failed"),
    Signature("runtime: out of memory"),
    Signature("low on resource: memory", library="kubelet"),
)
_COMPILERS: Final = r"(?:cicc|nvcc|ptxas|cudafe\+\+|cc1plus|cc1|ninja|ld|fatbinary|clang)"


def _of_compiler(hit: Hit) -> bool:
    program = hit.groups.get("asked") or hit.groups.get("victim", "")
    return re.fullmatch(_COMPILERS, program.strip()) is not None


def _oom_killed(case: Case) -> Claim | None:
    kills = case.hits(*OUT_OF_MEMORY_KILL)
    servers = tuple(hit for hit in kills if not _of_compiler(hit))
    if kills and not servers:
        return None
    told = tuple(hit for hit in case.hits(_OOM_RESULT) if not _of_compiler(hit))
    hits = told + case.hits(_OOM_UNIT, *_OOM_D, _OOM_K8S, _OOM_NODE) + servers
    if not kills:
        hits += case.hits(_OOM_CGROUP) + tuple(hit for hit in case.hits(*_OOM_REPORT) if not _of_compiler(hit))
    if hits:
        return claim_from(tuple(sorted(hits, key=lambda hit: hit.line.number)))
    if case.has(_OOM_RAY):
        return claim_from(case.hits(_OOM_RAY), certainty="possible", weight=Weight.NOTED)
    memory = case.hits(*_HOST_MEMORY)
    if memory:
        return claim_from(memory, certainty="likely")
    killed = case.hits(*_MINUS_9) + (() if case.has(*_KILLED_BY_OTHERS) else case.hits(_SIGKILL, _EXIT_137))
    if killed and not case.has(*BUILD_FAILED):
        return claim_from(killed, certainty="possible", weight=Weight.HINT)
    return None


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
    Signature("disk", r"(?i)(?:insufficient|not enough) (?:free )?(?:disk )?space|disk (?:is )?full"),
    Signature("database or disk is full"),
    Signature("file_system_monitor", r"is over \d+% full", library="ray"),
    Signature("ot enough disk space"),
    Signature("Errno 122"),
    Signature("low on resource: ", r"resource: (?:ephemeral-storage|inodes)", library="kubelet"),
)
_SHM: Final = Signature("/dev/shm", r"/dev/shm", weak=True)
_SHM_FAIL: Final = Signature(
    "shm", r"(?:shared memory segment|shm_open|/torch_\d+|insufficient shared memory|bus error)", weak=True
)

_NCCL: Final = (
    Signature("NCCL", r"NCCL (?:[Ee]rror|failure)"),
    Signature("NCCL_ERROR_"),
    Signature("nccl", r"nccl(?:SystemError|UnhandledCudaError|InternalError|RemoteError|InvalidUsage|InvalidArgument)"),
    Signature("ncclCommInitRank", r"ncclCommInitRank.{0,40}(?:fail|error|:)"),
    Signature("NCCL WARN"),
    Signature("Watchdog caught collective operation timeout"),
    Signature("DistBackendError"),
    Signature("is setting up NCCL communicator", library="torch"),
    Signature("NCCL library", r"[Ff]ailed to load (?:the )?NCCL library", library="vllm"),
    Signature("DistStoreError"),
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
    Signature("peer access is not supported"),
    Signature("DistNetworkError"),
    *any_of("Gloo", "gloo/transport", pattern=r"Gloo connectFullMesh failed|gloo/transport"),
    Signature("ustom_all_reduce", r"custom_all_reduce.{0,80}(?:[Ee]rror|invalid argument|failed)"),
    Signature("NVLS", r"NVLS .{0,60}(?:fail|error)|multicast .{0,30}(?:fail|error)"),
)
_NCCL_LAST: Final = Signature("nccl==", r"vLLM is using nccl==|sglang is using nccl==|is using nccl==", weak=True)
_NCCL_INFO: Final = Signature("NCCL INFO", weak=True)
# The frame that raises what NCCL answered, where a paste ends before the words.
_NCCL_FRAME: Final = Signature("NCCL_CHECK(", weak=True, library="vllm")


# torch's rendezvous says so of a port, too.
_PORT_TAKEN: Final = r"EADDRINUSE|[Aa]ddress already in use"


def _nccl(case: Case) -> Claim | None:
    hits = tuple(hit for hit in case.hits(*_NCCL) if not re.search(_PORT_TAKEN, hit.line.text))
    if hits:
        return claim_from(hits)
    frames = case.hits(_NCCL_FRAME)
    if case.ends_with(frames):
        return claim_from(frames[-1:], certainty="likely", weight=Weight.NOTED)
    # A hang in NCCL's set-up writes nothing more: its lines are the last ones.
    quiet = case.hits(_NCCL_LAST, _NCCL_INFO)
    if case.ends_with(quiet) and not case.errors:
        return claim_from(quiet[-2:], certainty="likely", weight=Weight.NOTED)
    return None


_PORT: Final = (
    Signature("ddress already in use"),
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
    Signature("couldn't bind HTTP server socket"),
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
        pattern=r"(?i)(?:can ?not|could not|couldn't|unable to|failed to) (?:find|get|allocate) (?:an? |any )?"
        r"(?:empty|free|open|unused|available) port|\bno (?:empty|free|open|unused|available) ports?\b"
        r"|could not bind (?:to )?port (?P<taken>\d{2,5})"
        r"|port `?(?P<other>\d{2,5})`?, but another process is utilizing it",
    ),
    Signature("ailed to bind", r"[Ff]ailed to bind .{0,60}(?:port|address|:)\D{0,6}(?P<port>\d{2,5})?"),
    Signature("failed to listen on any local network address"),
    Signature("port is already allocated"),
    Signature("Only one usage of each socket address"),
    # EADDRINUSE, not a port that this user may not take (EACCES) or an address that is not this machine's
    Signature("bind", r"^(?!.*\[Errno (?:13|99)\]).*bind on address \('[^']*', (?P<port>\d+)\)"),
)


CAUSES: Final = (
    Cause(
        id="gpu-out-of-memory",
        title="device memory is not enough",
        handling="advise",
        rank=55,
        summary="The GPU's memory is not enough for the model, its cache, or what else runs on it.",
        advice="`nvidia-smi` shows who holds memory; then lower --mem-fraction-static or --gpu-memory-utilization, the "
        "context length, or raise tensor parallelism.",
        signatures=_GPU_MEMORY,
        page=Page(
            meaning="Weights, KV cache, activations and CUDA graphs must fit into device memory together.",
            origin="The model is too large for the GPUs given, another process (often the previous instance) still "
            "holds memory, the context length is too high, or the fraction reserved is too greedy.",
            recognised="`torch.OutOfMemoryError: CUDA out of memory`, `No available memory for the cache blocks`.",
            mending="End what else uses the GPU; fewer or smaller sequences, quantised weights, more GPUs.",
            avoid="It is no toolchain fault, and no fault of host memory either.",
            sources=("torch, CUDA memory management notes",),
        ),
    ),
    Cause(
        id="oom-killed",
        title="the kernel or systemd-oomd killed the service",
        handling="advise",
        rank=57,
        summary="The service was killed because the machine, or its memory limit, ran out of host memory.",
        advice="`journalctl -k -g 'Out of memory'` names victim and size; then MemoryMax=, fewer workers, or more RAM.",
        judge=_oom_killed,
        signatures=(
            *OUT_OF_MEMORY_KILL,
            _OOM_RESULT,
            _OOM_UNIT,
            *_OOM_REPORT,
            _OOM_RAY,
            *_OOM_D,
            _OOM_K8S,
            _OOM_NODE,
            _OOM_CGROUP,
            _SIGKILL,
            _EXIT_137,
            *_MINUS_9,
            *_KILLED_BY_OTHERS,
            *_HOST_MEMORY,
            *BUILD_FAILED,
        ),
        results=("oom-kill",),
        page=Page(
            meaning="Host memory ran out, and a process of the unit was ended with SIGKILL. No program can log that.",
            origin="Loading weights through host memory on several ranks at once, a page cache that can't be "
            "dropped, a low MemoryMax=, a leak over weeks.",
            recognised="`Failed with result 'oom-kill'`, `killed by the OOM killer`, the kernel's `Killed process … "
            "(python3)`. If the victim is a compiler the cause is jit-build-out-of-memory. A plain `Killed` in vLLM's "
            "own shutdown is none.",
            mending="More memory or a smaller footprint; OOMPolicy= and OOMScoreAdjust= choose the victim.",
            avoid="The restart that follows often fails for another reason (a cold kernel cache): mend both.",
            sources=("systemd.service(5), OOMPolicy=", "systemd-oomd.service(8)"),
        ),
    ),
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
        signatures=(*_NCCL, _NCCL_LAST, _NCCL_INFO, _NCCL_FRAME),
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
