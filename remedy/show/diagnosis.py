"""The diagnosis, for people and for programs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from remedy.causes.types import Diagnosis, Evidence, Finding, PartialFacts
from remedy.facts.types import Gpu, JitCache, Missing, UnitState
from remedy.hints import Any
from remedy.jit.types import Resolution
from remedy.road import Look
from remedy.show.host import typed
from remedy.show.text import advice, beside, bold, dotted, plain, rows, wrap
from remedy.unit.types import Variable

SCHEMA = 1
_WITHOUT_MARKS = dict.fromkeys(map(ord, "-T:Z"))
# Causes whose facts are those that the chain shows.
TOLD_BY_CHAIN = frozenset({"nvcc-too-old", "nvcc-too-new", "nvcc-torch-mismatch"})
# Log lines of one finding that are worth a screen at 2 a.m.; all of them are in the JSON.
_SHOWN_LINES = 3
# Characters of a line that are shown: of a longer one its beginning and its end.
_LONG_LINE, _LINE_BEGIN, _LINE_END = 320, 200, 100


def diagnosis_json(look: Look) -> dict[str, Any]:
    """The object of ``diagnose --json``."""
    return {
        "schema": SCHEMA,
        "unit": look.service.name,
        "state": state_json(look.snapshot.state),
        "causes": causes_json(look.diagnosis),
        "libraries": [library_json(resolution) for resolution in look.resolutions],
        "caches": [cache_json(cache) for cache in look.snapshot.caches if cache.exists],
        "missing_facts": [{"fact": missing.fact, "why": missing.why} for missing in look.snapshot.missing],
    }


def state_json(state: UnitState | None) -> dict[str, Any]:
    """What the manager says of the unit; empty where it was not asked."""
    if state is None:
        return {}
    return {
        "active_state": state.active_state,
        "sub_state": state.sub_state,
        "result": state.result,
        "n_restarts": state.n_restarts,
        "invocation": state.invocation,
    }


def causes_json(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """The causes, root first."""
    return [
        {
            "id": finding.id,
            "root": finding.root,
            "certainty": finding.certainty,
            "toolchain": finding.toolchain,
            "summary": finding.summary,
            "evidence": [
                {"kind": evidence.kind, "text": evidence.text, "source": evidence.source}
                for evidence in finding.evidence
            ],
            "libraries": list(finding.libraries),
            "mendable": finding.mendable,
            "advice": finding.advice,
        }
        for finding in diagnosis.findings
    ]


def library_json(resolution: Resolution) -> dict[str, Any]:
    """One JIT library's answer."""
    return {
        "name": resolution.library,
        "version": resolution.version,
        "toolkit": resolution.toolkit,
        "found_by": resolution.found_by,
        "nvcc_version": dotted(resolution.nvcc_version) if resolution.nvcc_version else None,
        "requires": requires_text(resolution),
        "satisfied": resolution.satisfied,
        "cache": resolution.cache,
    }


def cache_json(cache: JitCache) -> dict[str, Any]:
    """One JIT cache that exists; ``size`` in bytes, null where it has too many files to count."""
    return {
        "library": cache.library,
        "path": cache.path,
        "size": cache.size,
        "owner": cache.owner,
        "writable": cache.writable,
        "entries": len(cache.entries),
        "locks": list(cache.locks),
    }


def requires_text(resolution: Resolution) -> str:
    """What a library demands of nvcc, in one clause: ``nvcc >= 12.9 for 120f``; empty where it demands nothing."""
    requires = resolution.requires
    words = []
    if requires.nvcc_minimum:
        words.append(f"nvcc >= {dotted(requires.nvcc_minimum)}")
    if requires.nvcc_below and resolution.nvcc_version and resolution.nvcc_version >= requires.nvcc_below:
        words.append(f"nvcc < {dotted(requires.nvcc_below)}")
    text = ", ".join(words)
    if requires.targets:
        text = f"{text or 'nvcc'} for {' '.join(sorted(requires.targets))}"
    return text


def explained_json(diagnosis: Diagnosis, facts: PartialFacts) -> dict[str, Any]:
    """The object of ``explain - --json``: the shape of ``diagnose --json``, with what a log alone can tell."""
    return {
        "schema": SCHEMA,
        "unit": facts.unit,
        "state": {},
        "causes": causes_json(diagnosis),
        "libraries": [],
        "missing_facts": [{"fact": "log", "why": diagnosis.unread}] if diagnosis.unread else [],
    }


def explained_text(diagnosis: Diagnosis, columns: int = 80) -> str:
    """What a log shows: the root cause, the lines that show it, what else was seen."""
    root = diagnosis.root
    title = f"{bold(wrap(plain(root.summary), columns=columns))}\n  cause: {root.id} ({root.certainty})"
    pairs = [(one.kind, place_after(plain(one.text), one.source)) for one in root.evidence if one.kind != "log"]
    parts = [
        title,
        log_text([one for one in root.evidence if one.kind == "log"], columns),
        "Known beside it\n" + rows(pairs, columns) if pairs else "",
        others_text(diagnosis.findings[1:], columns, runs=root.id == "healthy") if diagnosis.findings[1:] else "",
    ]
    if root.id == "unknown":
        parts.append("Next\n  remedy diagnose UNIT    on the machine itself: it sees more than the log")
    elif root.id != "healthy":
        told = advice(plain(root.advice), columns) + "\n" if root.advice else ""
        parts.append(f"Next\n{told}  remedy explain {root.id}")
    return "\n\n".join(part for part in parts if part)


def diagnosis_text(look: Look, columns: int = 80, *, next_step: bool = True) -> str:
    """The verdict in one sentence, then why, then what to do next."""
    root = look.diagnosis.root
    parts = [verdict_text(look.service.name, root, columns)]
    if root.id != "healthy":
        parts.append(why_text(look, root, columns))
    others = look.diagnosis.findings[1:]
    if others:
        parts.append(others_text(others, columns, runs=root.id == "healthy"))
    state = look.snapshot.state
    # A service that runs shows by that what it has; where it does not, nothing found is not nothing there.
    if look.snapshot.missing and (root.id != "healthy" or state is None or state.active_state != "active"):
        parts.append(missing_text(look.snapshot.missing, columns))
    if next_step:
        parts.append(next_text(look.service.name, look.diagnosis, columns))
    return "\n\n".join(part for part in parts if part)


def verdict_text(unit: str, root: Finding, columns: int) -> str:
    """One sentence, and what it is called."""
    sentence = wrap(f"{unit}: {plain(root.summary)}", columns=columns)
    if root.id == "healthy":
        return bold(sentence)
    return f"{bold(sentence)}\n  cause: {root.id} ({root.certainty})"


def why_text(look: Look, root: Finding, columns: int) -> str:
    """The chain from the GPU to the line that chose the compiler, then what the log says."""
    pairs = chain(look, root) if root.toolchain else []
    if not (pairs and root.id in TOLD_BY_CHAIN):
        # What the verdict says word for word is not said again where the chain has its place.
        facts = [one for one in root.evidence if one.kind != "log" and not (pairs and one.text == root.summary)]
        pairs += [
            ("" if number else "fact", place_after(plain(one.text), one.source)) for number, one in enumerate(facts)
        ]
    text = "Why\n" + rows(pairs, columns) if pairs else ""
    lines = log_text([evidence for evidence in root.evidence if evidence.kind == "log"], columns)
    return "\n\n".join(part for part in (text, lines) if part)


def place_after(text: str, source: str) -> str:
    """A fact and where it stands."""
    return f"{text} ({source})" if source and source not in text else text


def chain(look: Look, root: Finding) -> list[tuple[str, str]]:
    """GPU, what the libraries need, which nvcc they found through which line, and torch: label and text."""
    pairs = [("GPU", gpus_text(look.snapshot.gpus))] if look.snapshot.gpus else []
    hit = [resolution for resolution in look.resolutions if resolution.library in root.libraries]
    for resolution in hit:
        needs = requires_text(resolution)
        if needs:
            label = "" if any(label == "needs" for label, _ in pairs) else "needs"
            pairs.append((label, f"{needs} ({resolution.library} {resolution.version})"))
    # What a library takes without looking is not found where it is not there.
    there = root.id not in ("nvcc-not-found", "cuda-home-invalid")
    taken = [one for one in hit if one.nvcc or one.toolkit]
    for text in dict.fromkeys(found_text(one, look.launch.environment) for one in taken):
        pairs.append(("found" if there else "takes", text))
    interpreter = look.snapshot.interpreter
    if interpreter and interpreter.torch:
        built = f", built for CUDA {interpreter.torch_cuda}" if interpreter.torch_cuda else ", built without CUDA"
        pairs.append(("torch", f"{interpreter.torch}{built}"))
    return pairs


def found_text(resolution: Resolution, environment: Mapping[str, Variable]) -> str:
    """The nvcc that a library found, by which step of its lookup, and the line that set it."""
    what = resolution.nvcc or resolution.toolkit
    version = f"nvcc {dotted(resolution.nvcc_version)}: " if resolution.nvcc_version else ""
    through = f", through {resolution.found_by}" if resolution.found_by else ""
    variable = environment.get(resolution.variable or resolution.found_by)
    place = f", set in {variable.source}" if variable and variable.source.line else ""
    return f"{version}{what}{through}{place}"


def gpus_text(gpus: Sequence[Gpu]) -> str:
    """The GPUs in one line, equal ones counted together."""
    kinds: dict[tuple[str, tuple[int, int] | None], int] = {}
    for gpu in gpus:
        kinds[(gpu.name, gpu.capability)] = kinds.get((gpu.name, gpu.capability), 0) + 1
    texts = []
    for (name, capability), count in kinds.items():
        of = f"{count} x " if count > 1 else ""
        texts.append(f"{of}{plain(name)}, compute capability {dotted(capability)}")
    return "; ".join(texts)


def log_text(evidence: Iterable[Evidence], columns: int) -> str:
    """Log lines with their time; a line is shown once."""
    seen: dict[str, str] = {}
    for line in evidence:
        text = plain(line.text).strip()
        # A traceback shows the source line before the message that it made.
        if not text.startswith("raise "):
            seen.setdefault(text, time_of(line.source))
    shown = list(seen.items())[:_SHOWN_LINES]
    if not shown:
        return ""
    return "The log says\n" + rows([(time, _shortened(text)) for text, time in shown], columns)


def _shortened(text: str) -> str:
    """A compiler's command line fills a screen; how it begins and ends is enough to find it in the log."""
    return text if len(text) <= _LONG_LINE else f"{text[:_LINE_BEGIN].rstrip()} [...] {text[-_LINE_END:].lstrip()}"


def time_of(source: str) -> str:
    """The local time of day in a journal line's source, as journalctl shows it, or the number of a log's line, counted
    from the end where it is negative; any other source as it is."""
    if source.startswith("log:"):
        return f"line {source[4:].split()[0]}"
    word = next((word for word in source.split() if word.endswith("Z") and "T" in word), None)
    seconds = _since_epoch(word) if word else None
    return source if seconds is None else time.strftime("%H:%M:%S", time.localtime(seconds))


def _since_epoch(utc: str) -> int | None:
    """The seconds of ``2026-12-02T08:27:11Z``; None for anything else. The import of datetime takes as long as all
    the rest of the text."""
    if len(utc) != 20 or not utc.translate(_WITHOUT_MARKS).isdecimal():
        return None
    year, month, day = int(utc[:4]), int(utc[5:7]), int(utc[8:10])
    # Years that begin in March have their leap day at the end, and months of 153 days in five.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719469
    return days * 86400 + int(utc[11:13]) * 3600 + int(utc[14:16]) * 60 + int(utc[17:19])


def others_text(findings: Sequence[Finding], columns: int, *, runs: bool = False) -> str:
    """What else was found: symptoms of the root, and faults that would come next; behind a service that runs, only
    the latter."""
    pairs = [(finding.id, plain(finding.summary)) for finding in findings]
    title = "Waits for the next start with a cold cache" if runs else "Also seen (follows from it, or comes next)"
    return f"{title}\n{rows(pairs, columns)}"


def missing_text(missing: Sequence[Missing], columns: int) -> str:
    """The facts that could not be had."""
    return "Not known\n" + rows([(fact.fact, plain(fact.why)) for fact in missing], columns)


def next_text(unit: str, diagnosis: Diagnosis, columns: int) -> str:
    """The one thing to do next."""
    root = diagnosis.root
    preview = typed(f"remedy fix {unit} --dry-run")
    if root.id == "healthy":
        waits = any(finding.mendable for finding in diagnosis.findings[1:])
        return f"Next\n{beside(preview, 'shows what can be done before that', columns)}" if waits else ""
    if root.mendable:
        shown = beside(preview, "shows the mend, changes nothing", columns)
        return f"Next\n{shown}\n  {typed(f'remedy fix {unit}')}"
    told = typed(plain(root.advice)) or f"remedy explain {root.id}"
    return f"Next\n{advice(told, columns)}"
