"""What was to be fetched for a kernel, or for its build, and did not come."""

from __future__ import annotations

import re

from remedy.causes.case import Case, claim_from
from remedy.causes.entry import Claim, Signature, Weight, any_of
from remedy.causes.shared import HUB_UNREACHED
from remedy.causes.telling import speaks_of_compilers
from remedy.hints import Final

_DOWNLOAD: Final = (
    Signature("BatchedGemmEnums.h"),
    Signature(
        "trtllmGen",
        r"(?:No such file|not found|cannot open).*trtllmGen\w*|trtllmGen\S*\.h\S*(?:: No such| file not found)",
    ),
    Signature(
        "edge.urm",
        r"(?i)(?:error|fail|refused|timed? ?out|unreachable|resolv|max retries|HTTPSConnectionPool).*edge\.urm"
        # a colon or the like behind the address: without it, what follows at a distance is another line's
        r"|edge\.urm\S*(?: |(?<=[:;,)'\"\]>]) .*)(?:error|fail|refused|timed? ?out|unreachable)",
    ),
    Signature(
        "ubin",
        r"(?:[Ff]ailed|[Uu]nable|[Cc]ould not|[Cc]annot|[Ee]rror).{0,40}\b(?:download|fetch|get|load"
        r"|retriev)\w* .{0,40}cubin",
    ),
    Signature(
        "artifact",
        r"(?:[Ff]ailed|[Uu]nable|[Cc]ould not).{0,30}(?:download|fetch)(?! (?:the )?model\b).{0,60}"
        r"(?:artifact|kernel|cubin)",
    ),
    Signature(
        "hecksum",
        r"[Cc]hecksum .{0,30}(?:mismatch|fail).{0,80}(?:cubin|flashinfer)|(?:cubin"
        r"|flashinfer).{0,80}[Cc]hecksum (?:mismatch|fail)",
    ),
    Signature("FLASHINFER_NO_DOWNLOAD"),
    Signature(
        "checksums.txt",
        r"(?:[Ff]ailed to get|[Ii]nvalid) checksums\.txt|checksums\.txt not found",
        library="flashinfer",
    ),
    Signature("downloaded with matched sha256", library="flashinfer"),
    Signature("sha256 mismatch", r"sha256 mismatch .*(?:cubin|flashinfer)", library="flashinfer"),
    Signature("Max retries reached. Download failed", library="flashinfer"),
    Signature("Try clearing the cache: rm -rf", r"Header \S+ .*cubin", library="flashinfer"),
    Signature("acquire lock", r"Failed to acquire lock .*cubin"),
    Signature("install the matching flashinfer-cubin", library="flashinfer"),
    Signature("kernels from the Hub", r"[Ff]ailed to load .{1,40}kernels from the Hub", library="diffusers"),
)


# Hugging Face's prebuilt kernels, by the organisation that holds them or by the package that fetches them.
_HUB_KERNEL: Final = any_of("kernels-community/", "hf_kernels", "/kernels/utils.py", pattern="", weak=True)
# A fetch that hangs or dies leaves its announcement as the last word.
_FETCHING: Final = Signature("etching", r"Fetching (?:cubin )?\S.* from https?://", weak=True, library="flashinfer")
_DOWNLOADING: Final = Signature("ownloading cubin", r"Downloading cubin:? https?://", weak=True)
# What failed below it, and not of the fetch, tells that the program had gone on.
_FAILED_SINCE: Final = re.compile(r"(?i)\bfail(?:ed|ure)\b|error\b")
# Parts of a build: Triton's LLVM and ptxas, the wheel that flash-attn looks for first, sources that CMake clones.
_PART: Final = any_of(
    "ownloading and extracting http",
    "Guessing wheel URL",
    "unable to access 'http",
    "ailed to clone repository: '",
    pattern=r"extracting https?://|wheel URL"
    r"|'https?://\S*(?:cutlass|cccl|cub|flash-attention|FlashMLA|DeepGEMM|DeepEP|qutlass|triton|flashinfer|vllm)\b",
    weak=True,
)
_NO_WAY: Final = any_of(
    "urlopen error",
    "HTTP Error ",
    "unable to access 'http",
    "ailed to clone repository: '",
    pattern=r"urlopen error (?!\[Errno 2\])|HTTP Error \d|unable to access|clone repository",
    weak=True,
)
# Lines from the announcement to the failure, with a traceback between them.
_FETCH_LINES: Final = 80


def _part_not_fetched(case: Case) -> Claim | None:
    """A part that a build was to fetch, unless the build went on and failed of something else."""
    parts = [hit.line.number for hit in case.hits(*_PART)]
    hits = tuple(
        hit for hit in case.hits(*_NO_WAY) if any(0 <= hit.line.number - number <= _FETCH_LINES for number in parts)
    )
    later = (line for line in (*case.errors, case.last) if line and hits and line.number > hits[-1].line.number)
    if not hits or any(speaks_of_compilers(line.text) for line in later):
        return None
    return claim_from(
        hits,
        certainty="likely",
        weight=Weight.NOTED,
        summary="A build tried to download a part of itself and could not.",
        advice="Let the build reach the address in the log once (HTTPS_PROXY in its environment counts), or install a "
        "wheel that needs no build.",
    )


def not_fetched(case: Case) -> Claim | None:
    """Prebuilt kernels, or a part of a build, that did not come."""
    said = case.hits(*_DOWNLOAD)
    if not said and case.has(*_HUB_KERNEL):
        said = case.hits(*HUB_UNREACHED)
    if said:
        return claim_from(said)
    begun = case.hits(_FETCHING, _DOWNLOADING)
    if not case.ends_with(begun) or (case.last and _FAILED_SINCE.search(case.last.text)):
        return _part_not_fetched(case)
    return claim_from(begun[-1:], certainty="likely", weight=Weight.NOTED)


SIGNATURES: Final = (*_DOWNLOAD, *_HUB_KERNEL, *HUB_UNREACHED, _FETCHING, _DOWNLOADING, *_PART, *_NO_WAY)
