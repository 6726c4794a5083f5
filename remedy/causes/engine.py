"""From lines and facts to a diagnosis: every cause makes its claim, the one that explains most is the root."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from remedy.causes import catalogue
from remedy.causes.case import Case, by_signatures
from remedy.causes.entry import Cause, Claim, Weight
from remedy.causes.scan import Scan, Scanner
from remedy.causes.types import Diagnosis, Evidence, Finding, PartialFacts
from remedy.facts.types import Snapshot
from remedy.jit.types import Resolution
from remedy.unit.types import Launch, Service

Found = tuple[Cause, Claim]


def explain(lines: Iterable[str], facts: PartialFacts | None = None) -> Diagnosis:
    """The causes in a log, given what is known beside it. Lazy in ``lines``; never empty."""
    return judge(case_of(scanner().scan(lines), facts or PartialFacts()))


def diagnose(
    service: Service, launch: Launch | None, snapshot: Snapshot, resolutions: Sequence[Resolution]
) -> Diagnosis:
    """What is wrong with a unit: its own text, its journal, this machine and what each JIT library will meet here."""
    from remedy.causes import digest

    return digest.diagnose(service, launch, snapshot, resolutions)


def scanner() -> Scanner:
    """A scanner for the signatures of all causes."""
    return Scanner(signature for cause in catalogue.causes() for signature in cause.signatures)


def case_of(scan: Scan, facts: PartialFacts) -> Case:
    """A case from a log and facts alone."""
    return Case(
        facts=facts,
        found={signature: tuple(hits) for signature, hits in scan.found.items()},
        lines=scan.lines,
        errors=tuple(scan.errors),
        last=scan.last,
        ready=scan.ready,
    )


def judge(case: Case) -> Diagnosis:
    """All findings of a case, root first."""
    found = _claims(case)
    if not found:
        return Diagnosis((_otherwise(case),))
    root, symptoms = found[0], found[1:]
    findings = [_finding(*root, root=True)]
    findings += [_finding(*other, root=False) for other in symptoms if other[1].weight > Weight.HINT]
    return Diagnosis(tuple(findings))


def _claims(case: Case) -> list[Found]:
    """Every claim, the one that explains most first: by weight, then causal rank, then place in the log."""
    found: list[Found] = []
    for cause in catalogue.causes():
        claim = (cause.judge or by_signatures)(case, cause)
        if claim is not None:
            found.append((cause, _filled(case, cause, claim)))
    return sorted(found, key=lambda item: (-item[1].weight, item[0].rank))


def _filled(case: Case, cause: Cause, claim: Claim) -> Claim:
    """With the words that the signatures captured put into summary and advice."""
    words: dict[str, str] = {}
    for hit in case.hits(*cause.signatures):
        for name, value in hit.groups.items():
            words.setdefault(name, value)
    return replace(
        claim,
        summary=fill(claim.summary or cause.summary, words),
        advice=fill(claim.advice or cause.advice, words),
    )


def fill(template: str, words: dict[str, str]) -> str:
    """The template with its words, or what stands after ``||`` where a word is missing."""
    full, _, plain = template.partition("||")
    if "{" not in full:
        return full.strip()
    try:
        return full.format_map(words).strip()
    except (KeyError, ValueError, IndexError):
        return (plain or full).strip()


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
    if case.ready is not None:
        healthy = catalogue.by_id("healthy")
        seen = (Evidence("log", case.ready.text.strip(), case.ready.source),)
        return _finding(healthy, Claim(Weight.NOTED, "likely", seen, healthy.summary, healthy.advice), root=True)
    unknown = catalogue.by_id("unknown")
    shown = tuple(Evidence("log", line.text.strip(), line.source) for line in case.errors[:2])
    summary = unknown.summary
    if shown:
        summary = f"Something fails that remedy does not know; the earliest error line is: {shown[0].text[:160]}"
    return _finding(unknown, Claim(Weight.HINT, "possible", shown, summary, unknown.advice), root=True)
