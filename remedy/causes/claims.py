"""A cause's claim from the log, joined with what the unit, systemd and jit/ say of the same cause."""

from __future__ import annotations

from remedy.causes import reading
from remedy.causes.case import Case, claim_from, weigh
from remedy.causes.entry import Cause, Claim, Weight
from remedy.causes.shared import CHECKED, NEVER_STARTED, TOLD_WHY
from remedy.causes.types import Certainty, Evidence
from remedy.unit.types import Fault
from remedy.value import replace


def combined(case: Case, cause: Cause, claim: Claim | None) -> Claim | None:
    """The claim with all its evidence; None where nothing speaks for the cause."""
    said = _said_by_systemd(case, cause)
    if said:
        claim = _joined(claim, said, Weight.DECISIVE)
    claim = _with_absence(case, cause, claim)
    claim = _with_foresight(case, cause, claim or _by_facts(case, cause))
    fault = next(iter(_faults(case, cause)), None)
    if claim is not None and fault and cause.handling == "advise":
        # The unit's own line says more exactly what is wrong, and what to write.
        advice = f"{fault.place}: {fault.mend}." if fault.mend else ""
        claim = replace(claim, summary=f"{fault.text}, so systemd starts nothing.", advice=advice)
    if claim is None or claim.weight < Weight.DECISIVE:
        claim = _named_by_check(case, cause) or claim
    if claim is not None and cause.consequence:
        return replace(claim, weight=min(claim.weight, Weight.NOTED))
    return claim


def _named_by_check(case: Case, cause: Cause) -> Claim | None:
    """What ``remedy check`` named when it stopped the start; where the start went on all the same, it failed of what
    came after."""
    checked = case.hits(CHECKED) if case.has(NEVER_STARTED) else ()
    return claim_from(tuple(hit for hit in checked if hit.groups["id"] == cause.id))


def _by_facts(case: Case, cause: Cause) -> Claim | None:
    """What facts show where there is nothing else, neither a log nor a unit: with a log, the log has the first word."""
    if cause.known_by is None or case.lines or case.state is not None or case.resolved:
        return None
    text = cause.known_by(case.facts)
    return Claim(Weight.NOTED, "possible", (case.fact(text),)) if text else None


def _joined(claim: Claim | None, facts: tuple[Evidence, ...], weight: int) -> Claim:
    if claim is None:
        return Claim(weight, "likely", facts)
    return replace(claim, weight=max(claim.weight, weight), certainty="confirmed", evidence=claim.evidence + facts)


def _faults(case: Case, cause: Cause) -> tuple[Fault, ...]:
    """The faults of the unit's text that keep it from being started. A bad line that systemd ignores, or an optional
    file, does not.
    """
    stopped = case.load_state in cause.load_states if cause.load_states else not case.environment_known
    return tuple(fault for fault in case.faults if fault.kind in cause.faults and stopped)


def _with_absence(case: Case, cause: Cause, claim: Claim | None) -> Claim | None:
    """What is not there now confirms what a failed start said; where none did, the next start will end of it."""
    missing = next((fault for fault in case.faults if fault.kind in cause.absences), None)
    if missing is None:
        return claim
    seen = (Evidence("fact", missing.text, str(missing.place)),)
    if claim is not None:
        return _joined(claim, seen, Weight.NOTED)
    state = case.state
    ran = state is not None and (state.exec_main_code != 0 or state.active_state not in ("inactive", "failed"))
    summary, advice = f"{missing.text}: a start ends there.", f"{missing.place}: {missing.mend}."
    # What was there when the program ran is not what it failed of.
    return Claim(Weight.ASIDE if ran else Weight.NOTED, "possible" if ran else "likely", seen, summary, advice)


def _said_by_systemd(case: Case, cause: Cause) -> tuple[Evidence, ...]:
    """What the manager itself states: exit statuses of its own, the unit's result and load state, its text's faults."""
    said: list[Evidence] = []
    if case.load_state in cause.load_states:
        said.append(case.fact(f"systemd says that the unit is {case.load_state}"))
    said += [Evidence("fact", fault.text, str(fault.place)) for fault in _faults(case, cause)]
    state = case.state
    if state is not None and state.active_state != "active":
        if state.exec_main_code == 1 and state.exec_main_status in cause.statuses:
            said.append(case.fact(f"the main process ended with systemd's exit status {state.exec_main_status}"))
        if state.result in cause.results and (state.result != "resources" or not case.environment_known):
            said.append(case.fact(f"systemd's result is {state.result}"))
    return tuple(said)


def _with_foresight(case: Case, cause: Cause, claim: Claim | None) -> Claim | None:
    """jit/ saw the same: confirmed. jit/ sees it alone: likely. jit/ no longer sees it: it was so at that start."""
    fatal = tuple(item for item in case.foreseen(cause.id) if item.problem.fatal)
    if not fatal:
        return _unforeseen(case, cause, claim)
    evidence = tuple(
        Evidence("fact", text, case.places.get(item.problem.variable or "", ""))
        for item in fatal[:2]
        for text in (item.problem.text, *item.problem.facts[:2])
    )
    libraries = tuple(dict.fromkeys(item.library for item in fatal))
    # An ambiguous line of a failed build is now explained.
    explains = reading.empty_sets(case) + reading.failed_builds(case)
    failed = bool(explains) and weigh(explains) == Weight.DECISIVE
    if claim is not None:
        warned = claim.weight == Weight.NOTED and any(one.kind == "log" for one in claim.evidence)
        weight = _doubtful(case) if warned and not failed else Weight.DECISIVE
        joined = _joined(claim, evidence, claim.weight)
        # What jit/ says speaks of this machine, the claim's own words of any.
        every = tuple(dict.fromkeys((*libraries, *claim.libraries)))
        ambiguous = claim.ambiguous or (warned and failed)
        return replace(joined, weight=weight, summary=fatal[0].problem.text, libraries=every, ambiguous=ambiguous)
    weight = Weight.DECISIVE if failed else _doubtful(case)
    certainty: Certainty = "possible" if weight == Weight.ASIDE else "likely"
    shown = tuple(hit.evidence() for hit in explains[:1])
    return Claim(
        weight, certainty, shown + evidence, summary=fatal[0].problem.text, libraries=libraries, ambiguous=failed
    )


def _doubtful(case: Case) -> int:
    """What was only warned of, or is foreseen alone, decides nothing: the start may have failed of something else."""
    told_why = case.hits(*TOLD_WHY)
    elsewhere = (bool(told_why) and weigh(told_why) == Weight.DECISIVE) or case.from_elsewhere()
    return Weight.ASIDE if elsewhere else Weight.NOTED


def _unforeseen(case: Case, cause: Cause, claim: Claim | None) -> Claim | None:
    """jit/ was asked and does not see the cause: other problems come first, and where there are none the toolchain
    was mended since that start."""
    if claim is None or not (case.resolved and cause.observable and case.facts.sm):
        # What jit/ does not see of a GPU that it was not told says nothing.
        return claim
    weight = min(claim.weight, Weight.NOTED)
    if any(item.problem.fatal for item in case.problems):
        return replace(claim, weight=weight)
    note = Evidence("fact", "no library would meet this now: the toolchain has changed since that start")
    return replace(claim, weight=weight, certainty="possible", evidence=(*claim.evidence, note))
