"""The builds that fill a kernel cache: killed, slow, or short of a file that had to be fetched."""

from __future__ import annotations

import re

from remedy.causes import fetched, rules
from remedy.causes.build_killed import BUILD_KILLED, COMPILERS
from remedy.causes.case import Case, Hit, claim_from, near
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import BUILD_FAILED, JIT_AT_WORK, NVCC_RUN, OUT_OF_MEMORY_KILL, TIMED_OUT
from remedy.causes.telling import says_only_that
from remedy.causes.types import Certainty
from remedy.causes.waited import WAITED
from remedy.hints import Final

# --- jit-build-out-of-memory --------------------------------------------------------------------------------------

_KILLED: Final = Signature("Killed", r"^(?:> ?)?Killed\s*$", weak=True)
# What make, ninja and pip say of the file or the wheel that they are at: the shell's word next to it is about that.
_AT_WORK_ON: Final = (
    *any_of("Building C", "Linking C", pattern=r"\[ *\d+(?:%|/\d+)\] (?:Building|Linking) C\w* ", weak=True),
    # with its number, or as it is said again where it failed
    Signature("nvcc", r"^(?:\[\d+/\d+\] \S*nvcc |\S*nvcc\s.*\s-c\s)", weak=True),
    Signature("Building wheel for", r"wheel for (?!.*\bdone\b)", weak=True),
)
# The shell's word behind the line that a program had begun, where that was about a build.
_KILLED_AMID: Final = Signature(
    "Killed",
    r"(?i:compil|\bjit\b|setting up cuda|building .{0,40}(?:extension|wheel|module)|kernels).*[).…%\]] ?Killed\s*$",
    weak=True,
)
_CODE_137: Final = any_of(
    "exit",
    "code=",
    pattern=r"(?:exit(?:ed)? (?:status|code|with)(?: status| code)?|code=)[ :=(]*137\b",
    weak=True,
    needs="137",
)


def _build_killed(case: Case) -> Claim | None:
    victims = tuple(
        hit for hit in case.hits(*OUT_OF_MEMORY_KILL) if re.fullmatch(COMPILERS, hit.groups["victim"].strip())
    )
    hits = case.hits(*BUILD_KILLED) + victims
    if hits:
        return claim_from(tuple(sorted(hits, key=lambda hit: hit.line.number)))
    failed = case.hits(*BUILD_FAILED)
    # What is killed behind the end of a build was no part of it: vLLM ends its processes so.
    killed = tuple(hit for hit in case.hits(_KILLED) if failed and hit.line.number < failed[-1].line.number)
    killed += case.hits(*_CODE_137)
    if killed and failed:
        return claim_from(killed + failed, certainty="likely")
    at_work = case.hits(*_AT_WORK_ON)
    amid = case.hits(_KILLED_AMID)
    amid += tuple(hit for hit in case.hits(_KILLED) if any(near(hit, work) for work in at_work))
    return claim_from(amid, certainty="likely", weight=Weight.NOTED) if amid else None


# --- jit-cold-start -----------------------------------------------------------------------------------------------

_BUILDING: Final = (
    Signature("nvcc", r"^\[\d+/\d+\] \S*nvcc ", weak=True),
    Signature("ninja", r"^\[\d+/\d+\] (?:c\+\+|\S*nvcc|\S*cuda)", weak=True),
    Signature(
        "JIT",
        # what a build lacks, or that it fails, is said of one that did not get under way
        r"(?i)^(?!.*\b(?:missing|disabled|fails?|failed|failure|broken|breaks)\b).*"
        r"(?:(?:start|begin|entering|doing|running|trigger).{0,20}JIT|JIT[- ](?:compil|build|warm)"
        r"|compil\w+ .{0,30}\bJIT\b|Building JIT|extension \(JIT\))",
        weak=True,
    ),
    Signature(
        "ompil",
        # the operating system's kernel has modules as well
        r"^(?!.*\b(?:disabled|will not)\b)(?!.*\bfail(?:s|ed|ing)? to (?:compile|build)\b).*"
        r"(?:begins to compile kernel|[Cc]ompiling .{0,60}(?:kernel|(?<!kernel )module|op)s?\b|[Kk]ernels? (?!module)"
        r".{0,30}(?:compil|build)|compiling (?:flashinfer|CUTLASS|deep_?gemm|kernels))",
        weak=True,
    ),
    Signature("DeepGEMM warmup", weak=True, library="deep-gemm"),
    Signature(
        "DeepGEMM",
        r"^(?!.*\bdisabled\b).*DeepGEMM.*(?:JIT|[Cc]ompil|[Pp]re-?compil|warm)",
        weak=True,
        library="deep-gemm",
    ),
    Signature("utotun", r"[Aa]utotun(?:ing|e process|er(?!\.))", weak=True),
    Signature("arm up", r"[Ww]arm(?:ing)? up .{0,40}(?:kernel|DeepGEMM|compile)", weak=True),
)
# Words of one who tells of a failure, though no line of the log is an error by its form.
_TOLD_OF_FAILURE: Final = any_of(
    "missing", "fails", "failed", "failure", pattern=r"\b(?:missing|fails|failed|failure)\b", weak=True
)
# vLLM names the processes that failed; none failed when it only ran out of patience. Some releases name none even of
# one that raised an exception.
_NO_CORE_FAILED: Final = Signature("Failed core proc(s): {}", weak=True, library="vllm")
_GAVE_UP: Final = (
    *TIMED_OUT,
    *WAITED,
    _NO_CORE_FAILED,
    Signature("did not become healthy", r"did not become healthy .*within \d+", weak=True),
    Signature("iveness probe failed", weak=True),
    Signature("eadiness probe failed", weak=True),
    Signature("tartup probe failed", weak=True),
    Signature("unhealthy", weak=True),
    # Monit (src/validate.c) and Pacemaker, which restart what does not answer in time
    Signature("failed protocol test", weak=True),
    Signature("Result of start operation", r"Result of start operation for .*: Timed Out", weak=True),
    Signature(
        "imed out",
        r"(?i)(?:health|engine|start-?up|server|startup|initiali[sz]ation|worker|ready).{0,60}timed out"
        r"|timed out (?:waiting|after)",
        weak=True,
    ),
    Signature(
        "imeout",
        # systemd's own watchdog waits for a service that has come up (systemd.service(5), WatchdogSec=)
        r"(?i)(?:health|engine|start-?up|server|ready|watchdog(?! timeout \(limit )|execute_model|RPC).{0,60}timeout"
        r"|timeout.{0,60}(?:engine|server|start|ready|worker)",
        weak=True,
    ),
    Signature("result 'timeout'", weak=True),
    Signature("compilation timeout", weak=True, library="deep-gemm"),
)


# How long a build was, once that is minutes: said by vLLM and SGLang when it is over.
_MINUTES: Final = r"(?:[3-9]\d\d|\d{4,})(?:\.\d+)? ?s"
# Said before a build of unknown length, or by it.
_LONG: Final = (
    *any_of(
        "torch.compile took",
        "torch.compile takes",
        "ompiling a graph for",
        pattern=r"(?:torch\.compile|[Cc]ompiling a graph for .{1,60}) (?:takes|took) " + _MINUTES,
        weak=True,
        library="vllm",
    ),
    Signature("init engine (", r"init engine \(.{1,80}\) took " + _MINUTES, weak=True, library="vllm"),
    Signature("Graph capturing finished", r"finished in " + _MINUTES, weak=True, library="vllm"),
    Signature("apture cuda graph end", r"[Tt]ime elapsed: " + _MINUTES, weak=True, library="sglang"),
    Signature("JIT Pre-Compile session", weak=True, library="deep-gemm"),
    Signature("cold cache", weak=True, library="flashinfer"),
    Signature("DeepGEMM warmup:", weak=True, library="deep-gemm"),
    Signature("nvcc ", r"^\[\d+/\d+\] \S*nvcc ", weak=True),
    *any_of(
        "long time",
        "minutes",
        " mins",
        pattern=r"(?i)(?:jit|compil|kernel|setting up (?:cuda|pytorch plugin)|building extension).{0,120}"
        r"(?:may|can|will|might|typically) .{0,20}(?:long time|minutes|mins)",
        weak=True,
    ),
)
_KILLED_BY_9: Final = any_of(
    "exit",
    "returncode",
    pattern=r"(?:exit ?code|exits? with return code|exited with|returncode)\W{1,4}-9\b",
    weak=True,
    needs="-9",
)


# vLLM, of workers that it has not heard of for a minute
_UNHEARD: Final = Signature("available shared memory broadcast block found", weak=True, library="vllm")


def _cold(case: Case) -> Claim | None:
    building, gave_up, long = case.hits(*_BUILDING, *_LONG), _gave_up(case), case.hits(*_LONG)
    if case.has(*BUILD_FAILED):
        return None
    if not gave_up and _ended_by_itself(case):
        return None
    if building and gave_up:
        timed_out = case.state is not None and case.state.result == "timeout"
        certainty: Certainty = "confirmed" if timed_out else "likely"
        return claim_from(building[-2:] + gave_up[:2], certainty=certainty, weight=Weight.DECISIVE)
    if long and not case.errors:
        # Who was killed was not stopped by one who waited: systemd and supervisors end a start with SIGTERM.
        weight = Weight.HINT if case.has(*_KILLED_BY_9) else Weight.NOTED
        return claim_from(long[-2:], certainty="possible", weight=weight)
    idle = building or case.hits(_UNHEARD)
    if idle and not case.errors:
        return claim_from(idle[-2:], certainty="possible", weight=Weight.HINT)
    return _nothing_wrong(case)


def _gave_up(case: Case) -> tuple[Hit, ...]:
    """The lines by which somebody who waited gave up; none where a process of the service says why it failed."""
    said_why = any(not says_only_that(line.text) for line in case.errors)
    return case.hits(*(one for one in _GAVE_UP if not (said_why and one is _NO_CORE_FAILED)))


def _ended_by_itself(case: Case) -> bool:
    """Whether the program gave up, not somebody who waited for it: then something is wrong, whatever it built."""
    state = case.state
    return state is not None and state.active_state == "failed" and state.result in ("exit-code", "core-dump")


def _nothing_wrong(case: Case) -> Claim | None:
    """A log without a single error, a toolchain that serves GPU and torch, a library that compiles at start."""
    facts = case.facts
    if case.state is not None and case.state.result in ("", "success"):
        # Nothing gave up: the service runs, finished its work or was stopped.
        return None
    sound = rules.nvcc_serves(facts, flashinfer=True) and facts.torch_cuda and not rules.majors_differ(facts)
    if not case.lines or case.errors or case.ready or not facts.flashinfer or not sound:
        return None
    if case.has(*_TOLD_OF_FAILURE):
        return None
    nvcc = rules.dotted(facts.nvcc or ())
    text = f"nvcc {nvcc} suits GPU and torch, and FlashInfer {facts.flashinfer} compiles at its first start"
    return claim_from((), (case.fact(text, "nvcc"),), certainty="possible", weight=Weight.HINT)


CAUSES: Final = (
    Cause(
        id="jit-build-out-of-memory",
        title="compilers were killed for lack of memory",
        handling="mend",
        mend="fewer-jobs",
        toolchain=True,
        rank=38,
        summary="The kernel or a memory limit killed a compiler during a build: too many ran at once.",
        advice="`remedy fix {unit}` sets MAX_JOBS to what the memory allows (about 8 GiB a job for CUTLASS kernels).",
        judge=_build_killed,
        signatures=(
            *BUILD_KILLED,
            _KILLED_AMID,
            *OUT_OF_MEMORY_KILL,
            _KILLED,
            *_AT_WORK_ON,
            *_CODE_137,
            *BUILD_FAILED,
        ),
        page=Page(
            meaning="ninja starts one compiler a CPU. Large templates take gigabytes each, and the kernel, or the "
            "unit's MemoryMax=, ends one of them.",
            origin="Many cores, little memory, weights already loaded into host memory, or several ranks that build "
            "at once.",
            recognised="`FAILED: [code=137]`, `Killed` behind cicc or cc1plus, or the kernel's `Out of memory: "
            "Killed process … (cicc)`. If the victim is the server itself the cause is oom-killed.",
            mending="MAX_JOBS (and nvcc's own threads) fitted to the memory that is free; the modules built ahead, "
            "in the twin, while the service is down.",
            avoid="Swap makes it slow instead of failing; a bigger MemoryMax= only helps where that was the limit.",
            sources=(
                "flashinfer 0.2 to 0.7, jit/cpp_ext.py, MAX_JOBS",
                "systemd.resource-control(5), MemoryMax=",
            ),
        ),
    ),
    Cause(
        id="jit-cold-start",
        title="nothing is wrong but time: kernels are being built",
        handling="mend",
        mend="cold-start",
        rank=945,
        summary="Kernels are being compiled for the first time; something gave up waiting for it.",
        advice="`remedy fix {unit}` builds them ahead of the start and raises TimeoutStartSec=.",
        judge=_cold,
        although_up=True,
        signatures=(*_BUILDING, *_LONG, *_GAVE_UP, *_KILLED_BY_9, _UNHEARD, *BUILD_FAILED, *JIT_AT_WORK, NVCC_RUN),
        page=Page(
            meaning="The toolchain is right and at work. After an upgrade, or with an empty cache, the first start "
            "compiles dozens of kernels, and that takes from minutes to an hour.",
            origin="A new version (caches are kept by version), a cleared or moved cache, a container whose home is "
            "not kept, PrivateTmp= that empties /tmp, a wheel with prebuilt kernels of another release that is "
            "ignored.",
            recognised="Compile commands to the last line, no error, and then a supervisor's timeout.",
            mending="Prewarming: the modules are built in the twin unit before the service is stopped; and a start "
            "timeout that allows for it.",
            avoid="Restarting it again and again: each kill loses the module that was being built.",
            sources=(
                "flashinfer 0.4.1 and later, jit/env.py (the version in the path)",
                "systemd.service(5), TimeoutStartSec=",
            ),
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
        judge=fetched.not_fetched,
        signatures=fetched.SIGNATURES,
        page=Page(
            meaning="FlashInfer fetches TensorRT-LLM's and cuDNN's prebuilt kernels and their headers from NVIDIA's "
            "server the first time. Without them the build lacks headers, too.",
            origin="No route to the internet, a proxy that the unit's environment doesn't name, a server that is "
            "down, or a download that was cut short and is kept.",
            recognised="`BatchedGemmEnums.h: No such file or directory`: that header is downloaded, no package has "
            "it. Or the last line is a fetch of a cubin.",
            mending="HTTPS_PROXY in the unit, the files copied from a machine that has them, or the flashinfer-cubin "
            "package whose version equals FlashInfer's.",
            avoid="CUDA development packages don't contain these headers.",
            sources=("flashinfer 0.3 to 0.7, artifacts.py and jit/cubin_loader.py",),
        ),
    ),
)
