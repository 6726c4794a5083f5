"""From lines and facts to a diagnosis: every cause makes its claim, the one that explains most is the root."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from remedy.causes import acted, catalogue, claims, passed
from remedy.causes.case import Case, by_signatures
from remedy.causes.entry import Cause, Claim, Signature, Weight
from remedy.causes.scan import Scan, Scanner
from remedy.causes.shared import CHECKED, FELL_BACK, NEVER_STARTED, NOT_IMPORTED, SHUT_DOWN
from remedy.causes.telling import says_only_that
from remedy.causes.types import Diagnosis, Evidence, Finding, PartialFacts
from remedy.facts.types import LogLine, Snapshot
from remedy.hints import TYPE_CHECKING, Final
from remedy.jit.types import Resolution
from remedy.unit.types import Fault, Launch, Service
from remedy.value import replace

if TYPE_CHECKING:
    from remedy.facts.log_ends import Gap

Found = tuple[Cause, Claim]

_CERTAINTIES: Final = ("confirmed", "likely", "possible")
#: Roots that say little of why the service fails: an earlier invocation may say more.
_LATE: Final = ("start-limit-hit", "port-in-use", "unknown")
#: What is said of a unit that did not fail, by its ActiveState=.
_UNFAILED: Final = {
    "active": "Nothing is wrong: the service is running.",
    "reloading": "Nothing is wrong: the service is reloading.",
    "activating": "The service is starting, and nothing is wrong so far.",
    "inactive": "Nothing wrong was found; the service is not running.",
    "deactivating": "Nothing wrong was found; the service is stopping.",
}


def explain(lines: Iterable[str], facts: PartialFacts | None = None) -> Diagnosis:
    """The causes in a log, given what is known beside it. Lazy in ``lines``; never empty."""
    return judge(_case_of(_pasted_scanner().scan(lines), facts))


def explain_blocks(blocks: Iterable[bytes | Gap], facts: PartialFacts | None = None) -> Diagnosis:
    """``explain`` for a log in blocks of bytes, cut anywhere: for logs of gigabytes, of which both ends are read."""
    scan = _pasted_scanner().scan_blocks(blocks)
    diagnosis = replace(judge(_case_of(scan, facts)), unread=_unread(scan))
    if scan.last is None and diagnosis.root.id == "unknown":
        nothing = replace(diagnosis.root, summary="The log is empty: there is no line to read a cause from.")
        return replace(diagnosis, findings=(nothing,))
    return diagnosis


def _unread(scan: Scan) -> str:
    from remedy.facts.log_ends import HEAD, TAIL

    parts = []
    if scan.unread:
        parts.append(f"{scan.unread / (1 << 20):.0f} MiB between its first {HEAD >> 20} and last {TAIL >> 20} MiB")
    if scan.passed_over:
        parts.append(f"{scan.passed_over} lines among very many that look like errors")
    counted = "; lines behind them are counted from the end, -1 is the last" if scan.unread else ""
    return f"of the log, {' and '.join(parts)} were not read{counted}" if parts else ""


def keeps_from_starting(service: Service) -> tuple[str, Fault] | None:
    """The id of the cause, and the fault, by which systemd starts nothing: of the unit's own text, or of what it names
    and is not there; None where it has none."""
    for cause in catalogue.causes():
        stopped = service.load_state in cause.load_states if cause.load_states else service.environment is None
        kinds = (*cause.faults, *cause.absences) if stopped else cause.absences
        fault = next((fault for fault in service.faults if fault.kind in kinds), None)
        if fault is not None:
            return cause.id, fault
    return None


def diagnose(
    service: Service, launch: Launch | None, snapshot: Snapshot, resolutions: Sequence[Resolution]
) -> Diagnosis:
    """What is wrong with a unit: its own text, its journal, this machine and what each JIT library will meet here.

    The last invocation decides; where it says only that a start was refused or a port taken, the earlier ones are
    asked as well, for in a series of restarts the later faults are not the first. So they are while systemd restarts
    the service again and again, and this start has not yet got further than the last one.
    """
    from remedy.causes import digest

    case = digest.case_of(service, launch, snapshot, resolutions)
    last, earlier = digest.invocations(snapshot.journal, snapshot.state)
    now = _with_journal(case, last)
    if earlier and digest.repeats(now, earlier):
        failed = judge(_with_journal(digest.as_failed(case), (*earlier, *last)))
        return _with_evidence(failed, digest.restarts(snapshot.state))
    found = judge(now)
    running = snapshot.state is not None and snapshot.state.active_state == "active"
    if earlier and not running and found.root.id in _LATE:
        then = _with_journal(case, (*earlier, *last))
        before = judge(then)
        if before.root.id not in _LATE:
            return before
        return _with_earliest_error(found, then) if found.root.id == "start-limit-hit" else found
    return found


def _with_earliest_error(found: Diagnosis, case: Case) -> Diagnosis:
    """What the starts before failed of, where remedy does not know it: a refused start alone tells nobody anything."""
    errors = sorted(case.errors, key=lambda line: says_only_that(line.text))
    root, *others = found.findings
    said = tuple(Evidence("log", line.text.strip(), line.source) for line in errors[:1])
    return replace(found, findings=(replace(root, evidence=(*said, *root.evidence)), *others))


def _with_evidence(found: Diagnosis, evidence: Evidence) -> Diagnosis:
    root, *symptoms = found.findings
    return replace(found, findings=(replace(root, evidence=(*root.evidence, evidence)), *symptoms))


def _with_journal(case: Case, journal: Sequence[LogLine]) -> Case:
    from remedy.causes import digest

    return digest.with_log(case, scanner().scan(line.text for line in journal), journal)


def scanner(*also: Signature) -> Scanner:
    """A scanner for the signatures of all causes, and for others."""
    return Scanner(
        (
            *(signature for cause in catalogue.causes() for signature in cause.signatures),
            CHECKED,
            NEVER_STARTED,
            SHUT_DOWN,
            NOT_IMPORTED,
            *FELL_BACK,
            *acted.SIGNATURES,
            *also,
        )
    )


def _pasted_scanner() -> Scanner:
    """A scanner for a log of which nothing else is known: for the facts in it as well."""
    from remedy.causes import harvest

    return scanner(*harvest.SIGNATURES)


def _case_of(scan: Scan, facts: PartialFacts | None) -> Case:
    """A case from a log and facts alone."""
    from remedy.causes import harvest

    found = {signature: tuple(hits) for signature, hits in scan.found.items()}
    known, places = harvest.completed(facts or PartialFacts(), found)
    return Case(
        facts=known,
        found=found,
        places=places,
        lines=scan.lines,
        errors=tuple(scan.errors),
        last=scan.last,
        ready=scan.ready,
        died=scan.died,
    )


def judge(case: Case) -> Diagnosis:
    """All findings of a case, root first."""
    found = _claims(case)
    if not found or _is_up(case, found):
        return _without_root(case, found)
    root, symptoms = found[0], found[1:]
    if root[1].weight == Weight.ASIDE:
        return Diagnosis((_otherwise(case), *(_finding(*other, root=False) for other in found)))
    cause, claim = root
    if cause.toolchain and not claim.of_log and case.silent_on_compilers():
        # Nothing links the failure to what is foreseen: it may have come of that, no more.
        claim = replace(claim, certainty="possible")
    findings = [_finding(cause, claim, root=True)]
    findings += [_finding(*other, root=False) for other in symptoms if other[1].weight != Weight.HINT]
    return Diagnosis(tuple(findings))


def _is_up(case: Case, found: list[Found]) -> bool:
    """Whether the service runs in spite of what was found: it is active, and no failing line follows its coming up.

    Being active alone is no proof (systemd.service(5): Type=simple counts as started at once).
    """
    if case.state is not None and case.state.active_state != "active":
        return False
    if case.state is None and any(cause.although_up and claim.weight > Weight.HINT for cause, claim in found):
        # A log is pasted because something in it is not well; a start that took long is.
        return False
    failing = [(cause, claim) for cause, claim in found if claim.weight == Weight.DECISIVE and claim.last_line > 0]
    if case.state is None and _shut_down(case) and failing and not any(cause.toolchain for cause, _ in failing):
        # Several processes write into one log: which was ready last may be another than the one that failed.
        return False
    if case.ready is not None:
        return case.came_up and all(claim.last_line < case.ready.number for _, claim in failing)
    return case.state is not None and not failing and not _may_be_starting(case)


def _shut_down(case: Case) -> bool:
    """Whether the server's own words of its end follow those of its coming up."""
    ends = case.hits(SHUT_DOWN)
    return bool(ends) and case.ready is not None and ends[-1].line.number > case.ready.number


# Seconds after which a service that is active and never said that it is ready is taken to be so.
_LONG_START: Final = 1800.0


def _may_be_starting(case: Case) -> bool:
    """Whether the service is active only in systemd's eyes: weights are loading, and a library will fail after them."""
    doomed = any(one.problem.fatal for one in case.problems)
    since = case.state.active_for if case.state else None
    return doomed and since is not None and since < _LONG_START


def _without_root(case: Case, found: list[Found]) -> Diagnosis:
    """Nothing stops the service now; what would stop it at its next start is named all the same."""
    latent = [
        replace(_finding(*item, root=False), certainty="possible")
        for item in found
        if item[0].toolchain and (item[1].weight > Weight.HINT or not item[1].of_log)
    ]
    return Diagnosis((_otherwise(case), *latent))


def _claims(case: Case) -> list[Found]:
    """Every claim, the one that explains most first: by weight, certainty, then causal rank."""
    made: list[Found] = []
    for cause in catalogue.causes():
        claim = claims.combined(case, cause, cause.judge(case) if cause.judge else by_signatures(case, cause))
        if claim is not None:
            made.append((cause, claim))
    made = acted.since(case, made)
    # What else the log tells of, if only in passing: it stands at that, not at what it was warned of or will meet.
    others = tuple(
        said
        for one, said in made
        if said.weight > Weight.HINT and said.of_log and not (one.toolchain or one.consequence)
    )
    found = [(cause, _filled(case, cause, passed.aside(case, cause, claim, others))) for cause, claim in made]
    return sorted(found, key=lambda item: (-item[1].weight, _CERTAINTIES.index(item[1].certainty), item[0].rank))


def _filled(case: Case, cause: Cause, claim: Claim) -> Claim:
    """With the words that the signatures captured, and those of the unit, put into summary and advice."""
    words = dict(case.words)
    for hit in case.hits(*cause.signatures):
        for name, value in hit.groups.items():
            # The end of a sentence is no part of a name, and Python's None is none.
            if (said := value.rstrip(".,:;")) not in ("", "None"):
                words.setdefault(name, said)
    words["unit"] = _unit(case) or words.get("unit", "UNIT")
    return replace(
        claim,
        summary=fill(claim.summary or cause.summary, words),
        advice=fill(claim.advice or cause.advice, words),
    )


def _unit(case: Case) -> str:
    """The unit's name where it is known. Facts from elsewhere may hold a line of the unit in its place."""
    unit = case.facts.unit or ""
    return "" if "=" in unit else unit


def fill(template: str, words: Mapping[str, str]) -> str:
    """The template with its words, or what stands after ``||`` where one of them was not captured. Texts that come
    from elsewhere may hold braces of their own: only words in braces are looked at.
    """
    if "{" not in template:
        return template.strip()
    first, _, plain = template.partition("||")
    wanted = re.findall(r"\{(\w+)\}", first)
    chosen = first if not plain or all(word in words for word in wanted) else plain
    return re.sub(r"\{(\w+)\}", lambda found: words.get(found[1], found[0]), chosen).strip()


def _finding(cause: Cause, claim: Claim, *, root: bool) -> Finding:
    return Finding(
        id=cause.id,
        root=root,
        certainty=claim.certainty,
        toolchain=cause.toolchain if claim.toolchain is None else claim.toolchain,
        summary=claim.summary,
        evidence=claim.evidence,
        libraries=claim.libraries,
        mendable=cause.handling == "mend",
        advice=claim.advice,
    )


def _otherwise(case: Case) -> Finding:
    """Nothing claimed the case: it is well, or it is something that remedy does not know."""
    healthy, unknown = catalogue.by_id("healthy"), catalogue.by_id("unknown")
    # A service that systemd restarts again and again is "activating", and its result tells that it fails.
    failing = case.state is not None and case.state.result not in ("", "success")
    state = "failed" if failing else case.state.active_state if case.state else ""
    if case.ready is not None and case.came_up and state in ("", "active", "activating", "reloading"):
        seen = (Evidence("log", case.ready.text.strip(), case.ready.source),)
        return _finding(healthy, Claim(Weight.NOTED, "likely", seen, healthy.summary, healthy.advice), root=True)
    if state in _UNFAILED:
        seen = (case.fact(f"the unit is {state}"),)
        since = case.state.active_for if case.state else None
        young = state == "active" and since is not None and since < _LONG_START
        said = f"Nothing is wrong so far: the service is active, for {since:.0f} s now." if young else _UNFAILED[state]
        return _finding(healthy, Claim(Weight.NOTED, "likely", seen, said, healthy.advice), root=True)
    # Stable: what only says that something failed goes behind what says why, and the order of the log stays.
    errors = sorted(case.errors, key=lambda line: says_only_that(line.text))
    shown = tuple(Evidence("log", line.text.strip(), line.source) for line in errors[:2])
    summary, advice = unknown.summary, fill(unknown.advice, {"unit": _unit(case) or "UNIT"})
    if shown:
        summary = f"Something fails that remedy does not know; the earliest error line is: {shown[0].text[:160]}"
    return _finding(unknown, Claim(Weight.HINT, "possible", shown, summary, advice), root=True)
