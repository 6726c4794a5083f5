"""Caches of compiled kernels, and the builds that fill them."""

from __future__ import annotations

from typing import Final

from remedy.causes import rules
from remedy.causes.case import Case, Hit, claim_from
from remedy.causes.catalogue.rights import denied_path
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight
from remedy.causes.shared import (
    BUILD_FAILED,
    JIT_AT_WORK,
    NVCC_RUN,
    OUT_OF_MEMORY_KILL,
    PERMISSION,
    READ_ONLY,
    SHARED_OBJECT,
    TIMED_OUT,
    UNDEFINED_SYMBOL,
)

_CACHED_SO: Final = r"(?:cached_ops|torch_extensions|tvm-ffi|\.cache/flashinfer|torch_compile_cache|torchinductor|\.triton/cache|deep_gemm/cache|\.tilelang)\S*"

# --- jit-cache-stale ----------------------------------------------------------------------------------------------

_STALE: Final = (
    Signature("undefined symbol", _CACHED_SO + r"\.so: undefined symbol"),
    Signature("cannot open shared object", r"(?:" + _CACHED_SO + r"\.so.*|lib\w+\.so[.\d]*: cannot open.*" + _CACHED_SO + r")"),
    Signature("file too short", _CACHED_SO + r".*file too short"),
    Signature("invalid ELF header", _CACHED_SO + r".*invalid ELF header"),
    Signature("wrong ELF class", _CACHED_SO),
    Signature("cached_ops", r"cached_ops\S*\.so.*(?:cannot open shared object|undefined symbol|mismatch)"),
    Signature("stale", r"stale (?:JIT |compile |kernel |flashinfer )?cache|cache (?:is|was) stale|[Cc]ache .{0,40}built (?:with|for|by) (?:a )?(?:different|another|older)"),
)  # fmt: skip
_IN_CACHE: Final = Signature("torch_compile_cache", r"File \"[^\"]*torch_compile_cache/", weak=True, library="vllm")
_IN_MODULE: Final = Signature(
    "cached_ops", r"File \"[^\"]*cached_ops/|Loading .*cached_ops", weak=True, library="flashinfer"
)
_CORRUPTED: Final = Signature("corrupted compilation artifact", weak=True, library="vllm")
_UNPICKLED: Final = Signature("Ran out of input", weak=True)
_BAD_JSON: Final = Signature("JSONDecodeError", weak=True)
_TRITON_CACHE: Final = Signature("triton", r"\.triton/cache|triton/runtime/cache\.py", weak=True)


def _stale(case: Case) -> Claim | None:
    said = case.hits(*_STALE)
    if said:
        return claim_from(said)
    inside = case.hits(_IN_CACHE)
    if inside:
        return claim_from(inside + case.hits(_CORRUPTED), certainty="likely", weight=Weight.NOTED)
    if case.has(_UNPICKLED, _BAD_JSON) and case.has(_TRITON_CACHE, _CORRUPTED):
        return claim_from(case.hits(_UNPICKLED, _BAD_JSON), certainty="likely")
    guess = case.hits(_CORRUPTED)
    if guess:
        return claim_from(guess, certainty="possible", weight=Weight.HINT)
    return None


# --- jit-cache-unwritable -----------------------------------------------------------------------------------------

_NO_NAME: Final = Signature("getpwuid", r"getpwuid\(\): uid not found: (?P<uid>\d+)")
_NO_HOME: Final = Signature(
    "ome directory", r"(?:[Cc]ould not|[Cc]annot|[Uu]nable to) determine (?:the )?home directory"
)
_NO_CACHE: Final = Signature(
    "cache", r"(?:[Cc]ache|cubins?) ?(?:dir(?:ectory)?|folder|path) .{0,60}(?:is )?not writ(?:e?able)"
)
_NO_PARENT: Final = Signature(
    "No such file or directory: ",
    r"No such file or directory: ['\"](?P<path>/(?:home|nonexistent|root)[^'\"]*/\.(?:cache|triton)[^'\"]*)",
    weak=True,
)


def _is_cache(hit: Hit) -> bool:
    text, path = hit.line.text, denied_path(hit)
    if "nvcc'" in text or "bin/nvcc" in text or "step EXEC" in text:
        return False
    return rules.is_jit_cache(path) if path else rules.speaks_of_kernels(text)


def _unwritable(case: Case) -> Claim | None:
    refused = tuple(hit for hit in case.hits(*PERMISSION, READ_ONLY) if _is_cache(hit))
    hits = refused + case.hits(_NO_NAME, _NO_HOME, _NO_CACHE)
    if hits:
        return claim_from(hits)
    missing = tuple(hit for hit in case.hits(_NO_PARENT) if rules.is_jit_cache(hit.groups["path"]))
    return claim_from(missing, certainty="likely") if missing else None


# --- jit-cache-locked ---------------------------------------------------------------------------------------------

_WAITING: Final = (
    Signature(
        "baton", r"(?:[Ww]aiting for (?:the )?(?:lock|baton)|file_baton\.py|baton\.wait|baton release)", library="torch"
    ),
    Signature("tale file handle"),
    Signature("aiting for lock", r"[Ww]aiting for (?:file )?lock (?:on )?\S*(?:cache|cached_ops|jit|extension)"),
    Signature("Timeout", r"(?:filelock|The file lock).*\.lock"),
    Signature("could not be acquired", r"file lock '?[^']*\.lock"),
)
_LOADING: Final = Signature("Loading JIT ops", r"Loading JIT ops: ?(?P<module>\S+)", library="flashinfer")
_LOADED: Final = Signature("Finished loading JIT ops", weak=True, library="flashinfer")
#: FlashInfer up to 0.2.5 builds through torch's loader, whose lock is a file that outlives a killed build.
_BATON_UNTIL: Final = "0.2.6"
_SILENCE: Final = 300.0


def _locked(case: Case) -> Claim | None:
    facts = case.facts
    seen = []
    if facts.lock_files:
        seen.append(case.fact("lock file " + ", ".join(facts.lock_files[:2]), "lock_files"))
    if facts.silent_s is not None and facts.silent_s >= _SILENCE:
        seen.append(case.fact(f"silent for {facts.silent_s:.0f} s", "silent_s"))
    waiting = case.hits(*_WAITING)
    if waiting:
        return claim_from(waiting, tuple(seen))
    loading, finished = case.hits(_LOADING), case.hits(_LOADED)
    open_ended = loading and (not finished or finished[-1].line.number < loading[-1].line.number)
    if open_ended and not case.errors:
        from remedy.jit import versions

        baton = facts.flashinfer is None or not versions.at_least(facts.flashinfer, _BATON_UNTIL)
        if facts.lock_files or (baton and not facts.flashinfer is None) or seen:
            return claim_from(loading[-1:], tuple(seen), certainty="likely", weight=Weight.DECISIVE)
        return claim_from(loading[-1:], certainty="possible", weight=Weight.HINT)
    if facts.lock_files and (seen[1:] or not case.errors):
        return claim_from((), tuple(seen), certainty="likely", weight=Weight.DECISIVE)
    return None


# --- jit-build-out-of-memory --------------------------------------------------------------------------------------

_COMPILERS: Final = r"(?:cicc|nvcc|ptxas|cudafe\+\+|cc1plus|cc1|ninja|ld|fatbinary|clang|ptxas-blackwell)"
_BUILD_KILLED: Final = (
    Signature("137", r"(?:FAILED: \[code=137\]|ninja.*(?:exit status|status) 137)"),
    Signature("Kill", r"Killed signal terminated program " + _COMPILERS + r"|'" + _COMPILERS + r"' died due to signal 9"),
    Signature("illed", r"^(?:/bin/)?(?:sh: )?(?:line )?(?:\d+: )*(?:\d+ )?Killed\s+\S*" + _COMPILERS + r"\b"),
    Signature("died due to signal 9"),
    Signature("virtual memory exhausted"),
    Signature("emory allocation failure", r"(?:nvcc|ptxas|cicc).*[Mm]emory allocation failure"),
    Signature("out of memory allocating", r"(?:cc1plus|cicc|ptxas|cudafe).*out of memory allocating"),
    Signature("Cannot allocate memory", r"(?:nvcc|ninja|cicc|cc1plus|c\+\+|fork).*Cannot allocate memory"),
    Signature("LLVM ERROR: out of memory"),
)  # fmt: skip
_KILLED: Final = Signature("Killed", r"^Killed\s*$", weak=True)
_CODE_137: Final = Signature("137", r"(?:exit(?:ed)? (?:status|code|with)|code=)[ :=(with)]*137\b", weak=True)


def _build_killed(case: Case) -> Claim | None:
    import re

    victims = tuple(
        hit for hit in case.hits(OUT_OF_MEMORY_KILL) if re.fullmatch(_COMPILERS, hit.groups["victim"].strip())
    )
    hits = case.hits(*_BUILD_KILLED) + victims
    if hits:
        return claim_from(tuple(sorted(hits, key=lambda hit: hit.line.number)))
    killed = case.hits(_KILLED, _CODE_137)
    failed = case.hits(*BUILD_FAILED)
    return claim_from(killed + failed, certainty="likely") if killed and failed else None


# --- jit-cold-start -----------------------------------------------------------------------------------------------

_BUILDING: Final = (
    Signature("nvcc", r"^\[\d+/\d+\] \S*nvcc ", weak=True),
    Signature("ninja", r"^\[\d+/\d+\] (?:c\+\+|\S*nvcc|\S*cuda)", weak=True),
    Signature("JIT", r"(?i)(?:start|begin|entering|doing|running|trigger).{0,20}JIT|JIT[- ](?:compil|build|warm)|compil\w+ .{0,30}\bJIT\b|Building JIT|Loading JIT ops", weak=True),
    Signature("ompil", r"[Cc]ompiling .{0,60}(?:kernel|module|op)s?\b|[Kk]ernels? .{0,30}(?:compil|build)|compiling (?:flashinfer|CUTLASS|deep_?gemm|kernels)", weak=True),
    Signature("DeepGEMM warmup", weak=True, library="deep_gemm"),
    Signature("DeepGEMM", r"DeepGEMM.*(?:JIT|[Cc]ompil|[Pp]re-?compil|warm)", weak=True, library="deep_gemm"),
    Signature("utotun", r"[Aa]utotun(?:ing|e process|er)", weak=True),
    Signature("arm up", r"[Ww]arm(?:ing)? up .{0,40}(?:kernel|DeepGEMM|compile)", weak=True),
)  # fmt: skip
_GAVE_UP: Final = (
    TIMED_OUT,
    Signature("did not become healthy", r"did not become healthy .*within \d+", weak=True),
    Signature("iveness probe failed", weak=True),
    Signature("eadiness probe failed", weak=True),
    Signature("tartup probe failed", weak=True),
    Signature("unhealthy", weak=True),
    Signature("imed out", r"(?i)(?:health|engine|start-?up|server|startup|initiali[sz]ation|worker|ready).{0,60}timed out|timed out (?:waiting|after)", weak=True),
    Signature("imeout", r"(?i)(?:health|engine|start-?up|server|ready|watchdog|execute_model|RPC).{0,60}timeout|timeout.{0,60}(?:engine|server|start|ready|worker)", weak=True),
    Signature("result 'timeout'", weak=True),
)  # fmt: skip


def _cold(case: Case) -> Claim | None:
    building = case.hits(*_BUILDING)
    gave_up = case.hits(*_GAVE_UP)
    if case.has(*BUILD_FAILED):
        return None
    if building and gave_up:
        return claim_from(building[-2:] + gave_up[:2], certainty="likely", weight=Weight.DECISIVE)
    if building and not case.errors:
        return claim_from(building[-2:], certainty="possible", weight=Weight.NOTED)
    return _nothing_wrong(case)


def _nothing_wrong(case: Case) -> Claim | None:
    """A log without a single error, a toolchain that serves GPU and torch, a library that compiles at start."""
    facts = case.facts
    sound = rules.nvcc_serves(facts, flashinfer=True) and facts.torch_cuda and not rules.majors_differ(facts)
    if not case.lines or case.errors or case.ready or not facts.flashinfer or not sound:
        return None
    text = f"nvcc {rules.dotted(facts.nvcc or ())} suits GPU and torch, and FlashInfer {facts.flashinfer} compiles at start"
    return claim_from((), (case.fact(text, "nvcc"),), certainty="possible", weight=Weight.HINT)


# --- artifact-download-failed -------------------------------------------------------------------------------------

_DOWNLOAD: Final = (
    Signature("BatchedGemmEnums.h"),
    Signature("trtllmGen", r"(?:No such file|not found|cannot open).*trtllmGen\w*|trtllmGen\S*\.h\S*(?:: No such| file not found)"),
    Signature("edge.urm", r"(?i)(?:error|fail|refused|timed? ?out|unreachable|resolv|max retries|HTTPSConnectionPool|Fetching).*edge\.urm"),
    Signature("ubin", r"(?:[Ff]ailed|[Uu]nable|[Cc]ould not|[Cc]annot|[Ee]rror).{0,40}(?:download|fetch|get|load|retriev)\w* .{0,40}cubin"),
    Signature("ubin", r"(?:download|Fetching) cubin .*https?://"),
    Signature("artifact", r"(?:[Ff]ailed|[Uu]nable|[Cc]ould not).{0,30}(?:download|fetch).{0,60}(?:artifact|kernel|cubin)"),
    Signature("hecksum", r"[Cc]hecksum .{0,30}(?:mismatch|fail).{0,80}(?:cubin|flashinfer)|(?:cubin|flashinfer).{0,80}[Cc]hecksum (?:mismatch|fail)"),
    Signature("FLASHINFER_NO_DOWNLOAD"),
    Signature("acquire lock", r"Failed to acquire lock .*cubin"),
)  # fmt: skip


def _page(meaning: str, origin: str, recognised: str, mending: str, avoid: str, *sources: str) -> Page:
    return Page(meaning, origin, recognised, mending, avoid, sources)


CAUSES: Final = (
    Cause(
        id="jit-cache-stale",
        title="a cached build of another toolkit, version or GPU is in use",
        handling="mend",
        toolchain=True,
        rank=53,
        summary="A module in a JIT cache was built by another toolkit, for another version or GPU, and is still used.",
        advice="`remedy fix {unit}` moves aside the stale modules only; a rebuild of each takes minutes.",
        judge=_stale,
        signatures=(
            *_STALE,
            _IN_CACHE,
            _IN_MODULE,
            _CORRUPTED,
            _UNPICKLED,
            _BAD_JSON,
            _TRITON_CACHE,
            SHARED_OBJECT,
            UNDEFINED_SYMBOL,
        ),  # fmt: skip
        page=_page(
            "Compiled kernels are kept under the service user's home and found again by name. Few caches write down "
            "which compiler made an entry, so what an old toolkit built is used after the upgrade, too.",
            "torch, the CUDA major, the GPU or /usr/local/cuda changed. FlashInfer 0.4.0 to 0.6.11 even goes on "
            "running the old nvcc until the module's folder is cleared, because the build file is kept.",
            "A loader error that names a .so below cached_ops, torch_extensions or tvm-ffi; a build.ninja that names "
            "another toolkit than the one now found. vLLM's `most likely … corrupted compilation artifact` is a guess "
            "of the program and not evidence.",
            "The modules whose own build record disagrees with the toolkit are moved aside, and deleted once the "
            "service is healthy.",
            "Don't delete all of ~/.cache: a full rebuild can take an hour, and model downloads lie there as well.",
            "flashinfer 0.2 to 0.7, jit/core.py and jit/env.py",
            "torch 2.6 to 2.14, utils/cpp_extension.py",
        ),
    ),
    Cause(
        id="jit-cache-unwritable",
        title="the service's user can't write the kernel cache",
        handling="mend",
        toolchain=True,
        rank=51,
        summary="The service's user can't write {path}, where compiled kernels are kept.||The service's user can't "
        "write where compiled kernels are kept.",
        advice="`remedy fix {unit}` gives the service a cache folder of its own.",
        judge=_unwritable,
        signatures=(*PERMISSION, READ_ONLY, _NO_NAME, _NO_HOME, _NO_CACHE, _NO_PARENT),
        page=_page(
            "Every JIT library makes a folder below the home directory at import or at the first build: ~/.triton, "
            "~/.cache/flashinfer, ~/.cache/tvm-ffi and others. It could not be made or written.",
            "The unit runs as a user without a home, or with HOME=/ (DynamicUser=); root started it once and owns the "
            "folder; ProtectHome= or ProtectSystem= makes it read-only; a wheel's own cubin folder belongs to root.",
            "`Permission denied` or `Read-only file system` with a path of such a cache, such as '/.triton' or "
            "'/.cache'; `getpwuid(): uid not found` from a user without a passwd entry.",
            "CacheDirectory= in the unit, with XDG_CACHE_HOME, TRITON_CACHE_DIR and FLASHINFER_WORKSPACE_BASE pointing "
            "to it; or the folder's owner put right.",
            "Running the service as root leaves root-owned files that fail the next time.",
            "flashinfer 0.4 to 0.7, jit/env.py",
            "triton 3.0 to 3.9, runtime/cache.py",
            "systemd.exec(5), CacheDirectory=",
        ),
    ),
    Cause(
        id="jit-cache-locked",
        title="a lock that a killed build left makes others wait",
        handling="mend",
        toolchain=True,
        rank=54,
        summary="The service waits for a lock in a kernel cache whose holder is gone.",
        advice="`remedy fix {unit}` removes the lock after making sure that no build runs.",
        judge=_locked,
        signatures=(*_WAITING, _LOADING, _LOADED),
        page=_page(
            "torch up to 2.13 marks a build by a file named `lock` in the extension's folder. Whoever finds it waits, "
            "without a limit and without a word.",
            "The build was killed (out of memory, a stop, a reboot) and could not remove its mark. On NFS, locks of "
            "other kinds hang or give `Stale file handle`.",
            "No error at all: the last line is `Loading JIT ops` or one about a baton, CPU use is nil, and a file `lock` "
            "is older than every process.",
            "The lock file is removed while the service is down. Locks taken with flock or fcntl die with their process "
            "and are never the cause.",
            "Don't delete locks under a running build: two compilers then write the same files.",
            "torch 2.6 to 2.13, utils/file_baton.py",
            "flashinfer 0.2.6 and later, filelock",
        ),
    ),
    Cause(
        id="jit-build-out-of-memory",
        title="compilers were killed for lack of memory",
        handling="mend",
        toolchain=True,
        rank=38,
        summary="The kernel or a memory limit killed a compiler during a build: too many ran at once.",
        advice="`remedy fix {unit}` sets MAX_JOBS to what the memory allows (about 8 GiB a job for CUTLASS kernels).",
        judge=_build_killed,
        signatures=(*_BUILD_KILLED, OUT_OF_MEMORY_KILL, _KILLED, _CODE_137, *BUILD_FAILED),
        page=_page(
            "ninja starts one compiler a CPU. Large templates take gigabytes each, and the kernel, or the unit's "
            "MemoryMax=, ends one of them.",
            "Many cores, little memory, weights already loaded into host memory, or several ranks that build at once.",
            "`FAILED: [code=137]`, `Killed` behind cicc or cc1plus, or the kernel's `Out of memory: Killed process … "
            "(cicc)`. If the victim is the server itself the cause is oom-killed.",
            "MAX_JOBS (and nvcc's own threads) fitted to the memory that is free; the modules built ahead, in the twin, "
            "while the service is down.",
            "Swap makes it slow instead of failing; a bigger MemoryMax= only helps where that was the limit.",
            "flashinfer 0.2 to 0.7, jit/cpp_ext.py, MAX_JOBS",
            "systemd.resource-control(5), MemoryMax=",
        ),
    ),
    Cause(
        id="jit-cold-start",
        title="nothing is wrong but time: kernels are being built",
        handling="mend",
        rank=945,
        summary="Kernels are being compiled for the first time; something gave up waiting for it.",
        advice="`remedy fix {unit}` builds them ahead of the start and raises TimeoutStartSec=.",
        judge=_cold,
        signatures=(*_BUILDING, *_GAVE_UP, *BUILD_FAILED, *JIT_AT_WORK, NVCC_RUN),
        page=_page(
            "The toolchain is right and at work. After an upgrade, or with an empty cache, the first start compiles "
            "dozens of kernels, and that takes from minutes to an hour.",
            "A new version (caches are kept by version), a cleared or moved cache, a container whose home is not "
            "kept, PrivateTmp= that empties /tmp, a wheel with prebuilt kernels of another release that is ignored.",
            "Compile commands to the last line, no error, and then a supervisor's timeout.",
            "Prewarming: the modules are built in the twin unit before the service is stopped; and a start timeout "
            "that allows for it.",
            "Restarting it again and again: each kill loses the module that was being built.",
            "flashinfer 0.4.1 and later, jit/env.py (the version in the path)",
            "systemd.service(5), TimeoutStartSec=",
        ),
    ),
    Cause(
        id="artifact-download-failed",
        title="a prebuilt kernel file could not be fetched",
        handling="advise",
        rank=49,
        summary="A library tried to download prebuilt kernels and could not.",
        advice="Let the service reach the address in the log once, or install flashinfer-cubin of exactly FlashInfer's "
        "version; FLASHINFER_CUBIN_DIR names a folder filled by hand.",
        signatures=_DOWNLOAD,
        page=_page(
            "FlashInfer fetches TensorRT-LLM's and cuDNN's prebuilt kernels and their headers from NVIDIA's server the "
            "first time. Without them the build lacks headers, too.",
            "No route to the internet, a proxy that the unit's environment doesn't name, a server that is down, or a "
            "download that was cut short and is kept.",
            "`BatchedGemmEnums.h: No such file or directory`: that header is downloaded, no package has it. Or the last "
            "line is a fetch of a cubin.",
            "HTTPS_PROXY in the unit, the files copied from a machine that has them, or the flashinfer-cubin package "
            "whose version equals FlashInfer's.",
            "CUDA development packages don't contain these headers.",
            "flashinfer 0.3 to 0.7, artifacts.py and jit/cubin_loader.py",
        ),
    ),
)
