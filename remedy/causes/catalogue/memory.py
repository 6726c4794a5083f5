"""Memory: of the device and of the host."""

from __future__ import annotations

import re

from remedy.causes.case import Case, Hit, claim_from
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import BUILD_FAILED, OUT_OF_MEMORY_KILL
from remedy.hints import Final

_GPU_MEMORY: Final = (
    # torch names the back end; who retypes its line writes it small
    Signature("out of memory", r"\b(?i:CUDA|HIP|XPU|NPU|MUSA|MPS backend) out of memory\b"),
    # torch with the allocator of cudaMallocAsync
    Signature("would exceed allowed memory"),
    Signature("OutOfMemoryError", r"(?:torch(?:\.cuda)?\.|cuda\.(?:memory\.)?)OutOfMemoryError"),
    Signature("out of memory", r"(?i:(?:CUDA|HIP)(?: runtime| driver)? (?:error|failure))[^,;]{0,40}out of memory"),
    Signature(
        "out of memory",
        r"\b(?:CUDA|cuda(?:Error|Malloc|Memcpy|Host)\w*|cuMem\w+|GPU|VRAM|cuBLAS)\b.{0,80}out of memory",
    ),
    Signature("RESOURCE_EXHAUSTED", r"RESOURCE_EXHAUSTED: .{0,20}[Oo]ut of memory", library="jax"),
    # a heading's short form; who avoids, risks or expects one has none yet
    Signature(
        "OOM",
        r"^(?!.*(?i:\b(?:avoid|prevent|without|no|may|might|could|would|if|when|risk|fix(?:es|ed)?)\b.{0,40}\bOOM))"
        r".*\b(?:(?i:CUDA|GPU|VRAM)[ -]OOM|OOM (?:on|of) (?:the )?GPU)\b(?!-)",
    ),
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
    Signature("on startup is less than", r"on startup is less than (?!desired CPU)", library="vllm"),
    Signature("is less than desired GPU memory utilization"),
    # SGLang, and text-generation-inference at its warm-up
    Signature("ot enough memory", r"[Nn]ot enough memory(?:\. Please try| to handle| for (?:KV|Block)[ -]?[Cc]ache)"),
    Signature("nsufficient memory to allocate KV"),
    # ExLlamaV2, MLC, other makers' back ends
    *any_of(
        "device memory",
        "gpu memory",
        "GPU memory",
        "CUDA memory",
        "VRAM",
        # an advice says "if"
        pattern=r"(?i)^(?!.*\b(?:if|when)\b).*\b(?:lack of|insufficient|not? enough|out of) (?:free |available )?"
        r"(?:(?:gpu|device|cuda) memory\b|vram\b)",
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
    Signature("ailed to allocate", r"[Ff]ailed to allocate .{0,60}(?:GPU|CUDA|device(?! '?cpu)|VRAM)"),
    # mistral.rs and vLLM
    *any_of("Num GPU blocks is 0", "ut of memory while warming up", pattern=""),
    Signature("odel does not fit on ", r"odel does not fit on (?:the devices|this system|the GPU|device)"),
    Signature("_STATUS_ALLOC_FAILED", r"\bCU(?:BLAS|SPARSE|SOLVER|RAND|DNN)_STATUS_ALLOC_FAILED"),
    Signature("DEVICE_ALLOCATION_FAILED"),
    # torch, of its first call
    Signature("out of memory", r"cudaGetDeviceCount.* Error 2: out of memory"),
    Signature("load full model on GPU", library="ollama"),
    Signature("memory layout cannot be allocated with num_gpu", library="ollama"),
    # transformers, of a quantised model whose layers were spread over more than the GPU
    Signature("dispatched on the CPU or the disk", library="transformers"),
    # Vulkan's, SYCL's, Metal's and HIP's codes
    *any_of("OutOfDeviceMemory", "OUT_OF_DEVICE_MEMORY", "CallbackErrorOutOfMemory", pattern=""),
    Signature("execution failed: Insufficient Memory", library="mlx"),
    Signature("evice memory allocation of size ", r"memory allocation of size \d+ failed"),
    *any_of("hipErrorOutOfMemory", "PI_ERROR_OUT_OF_RESOURCES", "Out of memory on device", pattern=""),
    Signature("ROCm error: out of memory"),
    Signature("ut of memory error on GPU", library="paddle"),
    # TensorFlow's and ONNX Runtime's arenas
    Signature("OOM when allocating tensor", r"^(?!.*(?:device:CPU|[Aa]void))"),
    Signature("BFCArena::AllocateRawInternal", library="onnxruntime"),
    # what people's own programs say
    *any_of(
        "显存不足",
        "GPU memory is insufficient",
        "VRAM exhausted",
        "fit in",
        "too large for",
        "too big ",
        "allocate KV cache",
        pattern=r"(?i)^(?!.*\b(?:if|when|may|might|avoid)\b).*(?:显存不足|GPU memory is insufficient|VRAM exhausted"
        r"|\b(?:too (?:large|big)|not fit) (?:for|to fit in|in|into) (?:the )?(?:available )?(?:GPU|VRAM)\b(?! cache)"
        r"|(?:cannot|failed to|unable to) allocate KV cache)",
    ),
    # torch's allocator asks NVML about it, which was not allowed to answer
    Signature("CUDACachingAllocator", r"NVML_SUCCESS == \w+ INTERNAL ASSERT FAILED", library="torch"),
    Signature("Error in memory profiling. Initial free memory", library="vllm"),
    *any_of(
        "Got an OOM, unloading",
        "OOM_EXCEPTION: ",
        "Message:** Allocation on device",
        pattern="",
        library="comfyui",
    ),
    *any_of(
        "allocate enough blocks for at least one sequence",
        "maxTokensInPagedKvCache",
        pattern=r"at least (?:one|1) sequence",
        library="tensorrt-llm",
    ),
    *any_of(
        "enough memory",
        "more GPU memory",
        "GPU memory",
        pattern=r"GPU does not have enough (?:free )?memory|[Nn]ot enough memory on (?:device|GPU|cuda)"
        r"|requires more GPU memory|(?:exceeds?|does not fit in(?:to)?) (?:the )?available (?:GPU|device) memory",
    ),
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
    # who tells of the one that came after it did the killing
    Signature(
        "SIGKILL",
        # as does who names it beside the signal that was tried first
        r"^(?!.*SIGTERM).*(?<!after )(?<!survived )(?<!ending )(?<!via )(?<![Ss]ending )(?<!\) with signal )SIGKILL"
        r"(?!.*\bnew (?:server|instance|process))",
        weak=True,
    ),
    # shells, of a program that they ran in the background or from a script; a compiler's kill is a build's
    *any_of(
        "illed ",
        "zsh: killed",
        pattern=r"(?:^|: )\[?\d+\]?[ +-]*(?:\d+ +)?[Kk]illed\s+(?!(?:\S*/)?(?:cicc|nvcc|ptxas|cc1\w*|ninja)\b)[\w./~]"
        r"|^zsh: killed\s+\S",
        weak=True,
    ),
    # Go's words for it, which follow others where the program's own deadline did it
    Signature("signal: killed", r"(?:terminated|exited): signal: killed", weak=True, library="ollama"),
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
    Signature("less than desired CPU memory utilization", library="vllm"),
    Signature("MemoryError", r"^MemoryError$|\b_ArrayMemoryError: "),
    # what C++, Rust and Go end with
    Signature("std::bad_alloc", r"^(?!.*(?:cuda|out_of_memory)).*std::bad_alloc"),
    Signature("memory allocation of ", r"^memory allocation of \d+ bytes failed"),
    Signature("runtime: out of memory"),
    Signature("low on resource: memory", library="kubelet"),
    # programs that count it before they load
    *any_of(
        "enough RAM",
        "nsufficient RAM",
        "nsufficient system memory",
        "enough system memory",
        "enough memory on the host",
        pattern=r"(?i)^(?!.*\b(?:if|when|make sure|ensure)\b).*\b(?:not (?:have )?enough|insufficient) "
        r"(?:(?:system |host )?RAM\b|system memory|memory on the host)",
    ),
    # ERROR_COMMITMENT_LIMIT of Windows, in words and by number
    Signature("paging file is too small"),
    *any_of("[WinError 1455]", "(os error 1455)", pattern=""),
)
# Who watches over a machine's or a job's memory, and says so: Slurm, earlyoom, Ray, torch of its workers.
_OOM_WATCH: Final = (
    *any_of("oom-kill event", "oom_kill event", pattern=r"Detected \d+ oom.kill event"),
    Signature("ut Of Memory", r"^srun: error: \S+: tasks? [\d,-]+: Out Of Memory"),
    Signature("to process ", r"sending SIG(?:TERM|KILL) to process \d+.*\bbadness\b", library="earlyoom"),
    Signature("exceeds the memory usage threshold", library="ray"),
    Signature("killed by signal: Killed", library="torch"),
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
    hits = told + case.hits(_OOM_UNIT, *_OOM_D, _OOM_K8S, _OOM_NODE, *_OOM_WATCH) + servers
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
            *_OOM_WATCH,
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
)
