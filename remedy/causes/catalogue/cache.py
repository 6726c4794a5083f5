"""Caches of compiled kernels, and the builds that fill them."""

from __future__ import annotations

import re

from remedy.causes import rules
from remedy.causes.case import Case, Hit, claim_from, near
from remedy.causes.catalogue.rights import behind, denied_path
from remedy.causes.entry import Cause, Claim, Page, Signature, Weight, any_of
from remedy.causes.shared import (
    CACHED_MODULE,
    PERMISSION,
    RAISED,
    READ_ONLY,
    SHARED_OBJECT,
    UNDEFINED_SYMBOL,
)
from remedy.causes.types import Evidence
from remedy.hints import Final
from remedy.jit import versions
from remedy.value import replace

# torch, FlashInfer and TVM-FFI build a module before they load it: one that isn't there at all was not built in
# another process either, and no older build of it is in use.
_NEVER_BUILT: Final = (
    r"(?:cached_ops|torch_extensions|tvm-ffi|\.cache/flashinfer)/\S*\.so(?: \(deleted\))?[\"'`]?"
    r": cannot open shared object"
)
_CACHED_SO: Final = (
    r"(?:cached_ops|torch_extensions|tvm-ffi|\.cache/flashinfer|torch_compile_cache|torchinductor|\.triton/cache"
    r"|deep_gemm/cache|\.tilelang)\S*"
)

# --- jit-cache-stale ----------------------------------------------------------------------------------------------

_STALE: Final = (
    Signature("undefined symbol", _CACHED_SO + r"\.so: undefined symbol"),
    Signature(
        "cannot open shared object", r"(?:" + _CACHED_SO + r"\.so.*|lib\w+\.so[.\d]*: cannot open.*" + _CACHED_SO + r")"
    ),
    Signature("Corrupted JIT cache directory", library="deep-gemm"),
    Signature("file too short", _CACHED_SO + r".*file too short"),
    Signature("invalid ELF header", _CACHED_SO + r".*invalid ELF header"),
    Signature("wrong ELF class", _CACHED_SO),
    # a home directory that machines of different releases share
    Signature("version `", r"version [`']\w+_[\d.]+' not found \(required by \S*" + _CACHED_SO + r"\.so"),
    Signature("cached_ops", r"cached_ops\S*\.so.*(?:cannot open shared object|undefined symbol|mismatch)"),
)
# There are caches of much else: the line has to speak of kernels, or to name where they are kept.
_SAID_STALE: Final = Signature(
    "stale",
    r"stale (?:JIT |compile |kernel |flashinfer )?cache|cache (?:is|was) stale|[Cc]ache .{0,40}built (?:with"
    r"|for|by) (?:a )?(?:different|another|older)",
)
_IN_CACHE: Final = any_of(
    "_compile",
    "vllm/compilation/",
    pattern=r"torch_compile_cache/|torch_aot_compile/|vllm/compilation/caching\.py",
    weak=True,
    library="vllm",
)
# Such a frame stands in every traceback of a compiled model; these are what a graph of another version fails with.
_OUTDATED: Final = (
    Signature("Expected tensors only", weak=True),
    Signature("failed to get the hash of the compiled graph", weak=True),
    Signature(
        "No such file or directory: ",
        r"No such file or directory: '[^']*torch_(?:compile_cache|aot_compile)",
        weak=True,
    ),
    Signature("_OpNamespace", r"'_OpNamespace' '\w+' object has no attribute", weak=True),
)
_CORRUPTED: Final = Signature("corrupted compilation artifact", weak=True, library="vllm")
_UNPICKLED: Final = Signature("Ran out of input", weak=True)
_BAD_JSON: Final = Signature("JSONDecodeError", weak=True)
_TRITON_CACHE: Final = Signature("triton", r"\.triton/cache|triton/runtime/cache\.py", weak=True)


def _of_kernels(text: str) -> bool:
    return rules.speaks_of_kernels(text) or rules.is_jit_cache(text)


def _stale(case: Case) -> Claim | None:
    modules = case.hits(*CACHED_MODULE)
    missing = tuple(hit for hit in case.hits(SHARED_OBJECT) if any(near(hit, module) for module in modules))
    said = tuple(hit for hit in case.hits(*_STALE) + missing if not re.search(_NEVER_BUILT, hit.line.text))
    said += tuple(hit for hit in case.hits(_SAID_STALE) if _of_kernels(hit.line.text))
    if said:
        return claim_from(said)
    inside, told = case.hits(*_IN_CACHE), case.hits(_CORRUPTED, *_OUTDATED)
    if inside and told:
        return claim_from(told + inside[:1], certainty="likely", weight=Weight.NOTED)
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
# getpass, of Python 3.13 and later, to the libraries that name their cache after the user
_NO_USERNAME: Final = Signature("No username set in the environment")
_NO_CACHE: Final = Signature(
    # with a path, it is asked whose cache that is
    "not writ",
    r"(?:[Cc]ache|cubins?) ?(?:dir(?:ectory)?|folder|path) (?:.{0,8}?(?P<path>/[^\s'\",:]+))?.{0,60}?(?:is )?"
    r"not writ(?:e?able)",
)
_NO_TRITON_CACHE: Final = Signature("ould not create or locate cache dir", library="triton")
_NO_LOCATOR: Final = Signature("no locator available for file", library="numba")
# A file of an entry that is gone was another process's, renamed by it, or of a copied index. The cache itself can't be
# missing for who makes it with its parents: one of these is a link to nowhere.
_NO_PARENT: Final = Signature(
    "No such file or directory: ",
    r"No such file or directory: ['\"](?P<path>/(?:home|nonexistent|root)"
    r"(?!\S*(?:\btmp\.pid_|\.(?:json|cubin|ptx|so|ttir|ttgir|llir|py|o)\b|\btriton/cache/\w{16}"
    r"|/torch_(?:compile_cache|aot_compile)/\w))[^'\"]*/\.(?:cache|triton)"
    r"[^'\"]*|/[^'\"]*/\.(?:cache(?:/\w+){0,2}|triton)(?=['\"]))",
    weak=True,
)


# A link to nowhere, or a file, in the place of the folder that is made there.
_NO_FOLDER: Final = Signature(
    "File exists: ", r"File exists: ['\"](?P<path>/[^'\"]*/\.(?:cache|triton))['\"]", weak=True
)


def _is_cache(hit: Hit) -> bool:
    text, path = hit.line.text, denied_path(hit)
    if "Could not install packages" in text:
        return False
    if "nvcc'" in text or "nvcc: " in text or "bin/nvcc" in text or "step EXEC" in text:
        return False
    return rules.is_jit_cache(path) if path else rules.speaks_of_kernels(text)


def _unwritable(case: Case) -> Claim | None:
    denied = case.hits(*PERMISSION, READ_ONLY)
    placed = {hit.line.number for hit in denied if denied_path(hit)}
    # words about kernels speak for a line only where it names no path
    denied = tuple(hit for hit in denied if denied_path(hit) or hit.line.number not in placed)
    refused = tuple(hit for hit in denied if _is_cache(hit))
    closed = tuple(hit for hit in case.hits(_NO_CACHE) if rules.is_jit_cache(hit.groups.get("path", "/.cache")))
    hits = refused + closed + case.hits(_NO_NAME, _NO_USERNAME, _NO_HOME, _NO_TRITON_CACHE, _NO_LOCATOR)
    if hits:
        return claim_from(hits, behind(case, denied_path(hits[0]), hits[0].line.text))
    missing = tuple(hit for hit in case.hits(_NO_PARENT, _NO_FOLDER) if rules.is_jit_cache(hit.groups["path"]))
    return claim_from(missing, certainty="likely") if missing else None


# --- jit-cache-locked ---------------------------------------------------------------------------------------------

_WAITING: Final = (
    Signature(
        "baton", r"(?:[Ww]aiting for (?:the )?(?:lock|baton)|file_baton\.py|baton\.wait|baton release)", library="torch"
    ),
    # what lies elsewhere on NFS is no cache, nor is a source, nor what a shell's program names: "ls: ...", "jq: ..."
    Signature(
        "tale file handle",
        r"^(?!.*fatal error: )(?!(?:\S+: )?(?!ld\b)[a-z][\w.-]*: (?!.*(?:cache|jit|extension|lock)))"
        r"(?:.*?['\" ](?P<before>/[^'\" :]+)['\"]?: )?.*?tale file handle(?::? ?['\"](?P<path>[^'\"]+))?",
    ),
    Signature("ESTALE", r"(?i:cache|lock|\bjit\b).*ESTALE\b|ESTALE\b.*(?i:cache|lock|\bjit\b)"),
    Signature("Device or resource busy", r"Device or resource busy: ['\"]\S*" + _CACHED_SO),
    *any_of(
        "aiting for lock",
        "aiting for file lock",
        pattern=r"[Ww]aiting for (?:file )?lock (?:on )?\S*(?:cache|cached_ops|jit|extension)",
    ),
    Signature("Timeout", r"(?:filelock|The file lock)(?:[^'/]*'?(?P<path>/[^' ]*\.lock)|.*\.lock)"),
    *any_of(
        "lock on '",
        "lock: /",
        pattern=r"(?:Failed to acquire|[Tt]imed out after .{1,40} waiting for) .{0,40}lock(?: on|:) '?"
        r"\S*(?:tvm-ffi|cache|jit)\S*",
    ),
    # py-spy and faulthandler stacks of a process that waits
    Signature("filelock", r"acquire \(\S*filelock/", library="flashinfer"),
    Signature("stale lock file", r"compil.*stale lock file", library="megatron"),
    Signature("could not be acquired", r"file lock '?(?:(?P<path>/[^']*\.lock)|[^']*\.lock)"),
)
# Who reads data and models keeps them on NFS as well, and their frame stands right above such a line without a path.
_READERS: Final = any_of(
    "/datasets/",
    "/huggingface_hub/",
    "/transformers/",
    "/safetensors/",
    pattern=r"File \"[^\"]*/(?:datasets|huggingface_hub|transformers|safetensors)/[^\"]*\", line",
    weak=True,
)
# The file that torch's baton is, as programs name it that look before they load: ranks that build at once see it too.
_LOCK_FILE: Final = Signature("lock", r"^(?!.*\bErrno\b).*torch_extensions/(?:[^\s'\"]+/)?lock\b(?!\.)", weak=True)
_LOADING: Final = Signature(
    "JIT", r"Loading JIT ops: ?\S+|not found, using JIT backend", weak=True, library="flashinfer"
)
_LOADED: Final = Signature("Finished loading JIT ops", weak=True, library="flashinfer")
# torch's loader, from the folder that it looks at first to what it says once it holds the lock, or needs none. Those
# who call it without its words say their own before, and end that line when it returns (NVIDIA's custom_ops, ColBERT).
_ROOT: Final = any_of(
    "as PyTorch extensions root",
    "etting up PyTorch plugin",
    "COLBERT_LOAD_TORCH_EXTENSION_VERBOSE",
    pattern=r"as PyTorch extensions root|PyTorch plugin \\?\"\w+\\?\"\.\.\. *$|\bLoading \w+ extension \(set",
    weak=True,
    library="torch",
)
_WENT_ON: Final = any_of(
    "Emitting ninja build file",
    "Detected CUDA files",
    "No modifications detected for re-loaded",
    "Building extension module",
    "Loading extension module",
    pattern="",
    weak=True,
)
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
    waiting = tuple(
        hit
        for hit in case.hits(*_WAITING)
        if all(rules.is_jit_cache(path) for path in hit.groups.values() if path)
        and not any(near(frame, hit) and frame.line.number < hit.line.number for frame in case.hits(*_READERS))
    )
    if waiting:
        return claim_from(waiting, tuple(seen))
    named = case.hits(_LOCK_FILE)
    if named and not case.errors:
        return claim_from(named, tuple(seen), certainty="likely", weight=Weight.DECISIVE if seen else Weight.NOTED)
    loading, finished = case.hits(_LOADING), case.hits(_LOADED)
    open_ended = loading and (not finished or finished[-1].line.number < loading[-1].line.number)
    if open_ended and not case.errors:
        return _silent_load(case, loading[-1:], tuple(seen))
    held = case.hits(*_ROOT)
    if held and case.ends_with(held) and not (case.errors or case.has(*_WENT_ON)):
        weight = Weight.DECISIVE if seen else Weight.NOTED
        return claim_from(held[-1:], tuple(seen), certainty="likely" if seen else "possible", weight=weight)
    failed = bool(case.errors) or any(not hit.line.quiet for hit in case.hits(RAISED))
    if facts.lock_files and (seen[1:] or not failed):
        # Who waits writes no error: what failed has its own words.
        claim = claim_from((), tuple(seen), certainty="likely", weight=Weight.ASIDE if failed else Weight.DECISIVE)
        return claim and replace(claim, ambiguous=True)
    return None


def _silent_load(case: Case, loading: tuple[Hit, ...], seen: tuple[Evidence, ...]) -> Claim | None:
    """A build began and nothing was heard of it since. Versions whose locks die with their holder only take long."""
    version, silence = case.facts.flashinfer, case.facts.silent_s
    if not seen and silence is not None:
        # Somebody looked at the clock: no build of these takes less than this, and nobody waited for it in vain.
        return None
    baton = version is None or not versions.at_least(version, _BATON_UNTIL)
    if seen or (baton and version is not None):
        return claim_from(loading, seen, certainty="likely", weight=Weight.DECISIVE)
    open_ended = baton and case.ends_with(loading)
    return claim_from(loading, certainty="possible", weight=Weight.NOTED) if open_ended else None


CAUSES: Final = (
    Cause(
        id="jit-cache-stale",
        title="a cached build of another toolkit, version or GPU is in use",
        handling="mend",
        mend="stale-cache",
        toolchain=True,
        rank=53,
        summary="A module in a JIT cache was built by another toolkit, for another version or GPU, and is still used.",
        advice="`remedy fix {unit}` moves aside the stale modules only; a rebuild of each takes minutes.",
        judge=_stale,
        signatures=(
            *_STALE,
            _SAID_STALE,
            *_IN_CACHE,
            *_OUTDATED,
            _CORRUPTED,
            _UNPICKLED,
            _BAD_JSON,
            _TRITON_CACHE,
            SHARED_OBJECT,
            *CACHED_MODULE,
            UNDEFINED_SYMBOL,
        ),
        page=Page(
            meaning="Compiled kernels are kept under the service user's home and found again by name. Few caches "
            "write down which compiler made an entry, so what an old toolkit built is used after the upgrade, too.",
            origin="torch, the CUDA major, the GPU or /usr/local/cuda changed. FlashInfer 0.4.0 to 0.6.11 even goes "
            "on running the old nvcc until the module's folder is cleared, because the build file is kept.",
            recognised="A loader error of a .so below cached_ops, torch_extensions or tvm-ffi, which wants a symbol or "
            "a library that is not there; a build.ninja that names another toolkit than the one now found. A .so that "
            "is itself missing is no old build but a build that failed. vLLM's `most likely … corrupted compilation "
            "artifact` is a guess of the program and not evidence.",
            mending="The modules whose own build record disagrees with the toolkit are moved aside, and deleted once "
            "the service is healthy.",
            avoid="Don't delete all of ~/.cache: a full rebuild can take an hour, and model downloads lie there as "
            "well.",
            sources=(
                "flashinfer 0.2 to 0.7, jit/core.py and jit/env.py",
                "torch 2.6 to 2.15, utils/cpp_extension.py",
            ),
        ),
    ),
    Cause(
        id="jit-cache-unwritable",
        title="the service's user can't write the kernel cache",
        handling="mend",
        mend="cache-directory",
        toolchain=True,
        rank=51,
        summary="The service's user can't write {path}, where compiled kernels are kept.||The service's user can't "
        "write where compiled kernels are kept.",
        advice="`remedy fix {unit}` gives the service a cache folder of its own.",
        judge=_unwritable,
        signatures=(
            *(*PERMISSION, READ_ONLY, _NO_NAME, _NO_USERNAME, _NO_HOME, _NO_CACHE, _NO_TRITON_CACHE, _NO_LOCATOR),
            _NO_PARENT,
            _NO_FOLDER,
        ),
        page=Page(
            meaning="Every JIT library makes a folder below the home directory at import or at the first build: "
            "~/.triton, ~/.cache/flashinfer, ~/.cache/tvm-ffi and others. It could not be made or written.",
            origin="The unit runs as a user without a home, or with HOME=/ (DynamicUser=); root started it once and "
            "owns the folder; ProtectHome= or ProtectSystem= makes it read-only; a wheel's own cubin folder belongs "
            "to root.",
            recognised="`Permission denied` or `Read-only file system` with a path of such a cache, such as "
            "'/.triton' or '/.cache'; `getpwuid(): uid not found` from a user without a passwd entry.",
            mending="CacheDirectory= in the unit, with XDG_CACHE_HOME, TRITON_CACHE_DIR and "
            "FLASHINFER_WORKSPACE_BASE pointing to it; or the folder's owner put right.",
            avoid="Running the service as root leaves root-owned files that fail the next time.",
            sources=(
                "flashinfer 0.4 to 0.7, jit/env.py",
                "triton 3.0 to 3.9, runtime/cache.py",
                "systemd.exec(5), CacheDirectory=",
            ),
        ),
    ),
    Cause(
        id="jit-cache-locked",
        title="a lock that a killed build left makes others wait",
        handling="mend",
        mend="cache-lock",
        toolchain=True,
        rank=54,
        summary="The service waits for a lock in a kernel cache whose holder is gone.",
        advice="`remedy fix {unit}` removes the lock after making sure that no build runs.",
        judge=_locked,
        signatures=(*_WAITING, *_READERS, _LOCK_FILE, _LOADING, _LOADED, *_ROOT, *_WENT_ON, RAISED),
        page=Page(
            meaning="torch up to 2.13 marks a build by a file named `lock` in the extension's folder. Whoever finds "
            "it waits, without a limit and without a word.",
            origin="The build was killed (out of memory, a stop, a reboot) and could not remove its mark. On NFS, "
            "locks of other kinds hang or give `Stale file handle`.",
            recognised="No error at all: the last line is `Loading JIT ops` or one about a baton, CPU use is nil, "
            "and a file `lock` is older than every process.",
            mending="The lock file is removed while the service is down. Locks taken with flock or fcntl die with "
            "their process and are never the cause.",
            avoid="Don't delete locks under a running build: two compilers then write the same files.",
            sources=(
                "torch 2.6 to 2.13, utils/file_baton.py",
                "flashinfer 0.2.6 and later, filelock",
            ),
        ),
    ),
)
