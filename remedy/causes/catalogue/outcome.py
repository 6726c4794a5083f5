"""Where nothing is wrong, and where something is that has no entry."""

from __future__ import annotations

from remedy.causes.case import Case
from remedy.causes.entry import Cause, Claim, Page
from remedy.hints import Final


def _never(_case: Case) -> Claim | None:
    """The engine names these two itself, when no other cause claims the case."""
    return None


CAUSES: Final = (
    Cause(
        id="healthy",
        title="nothing is wrong",
        handling="none",
        rank=990,
        summary="Nothing is wrong: the service came up.",
        advice="Nothing to do.",
        judge=_never,
        page=Page(
            meaning="The service runs, or nothing that would stop it was found. A fault that waits for the next start "
            "may be named beside it: a warm cache can hide a compiler that could not build the same kernels again.",
            origin="A start that went well.",
            recognised="The unit is active and no failing line follows its coming up; in a pasted log, one of the "
            "lines with which servers say that they are ready stands after the last failure.",
            mending="Nothing needs to be mended. Where a waiting fault is named, `remedy fix --dry-run UNIT` shows "
            "what would put it right before the next restart makes it felt.",
            avoid="`active (running)` alone is no proof of health: a service of Type=simple counts as started as soon "
            "as its process exists.",
            sources=("systemd.service(5), Type=",),
        ),
    ),
    Cause(
        id="unknown",
        title="something is wrong that remedy does not know",
        handling="advise",
        rank=999,
        summary="Something fails that remedy does not know, and no error line says what.",
        advice="Read the log from its earliest error on: `journalctl -u {unit} -b --no-pager`.",
        judge=_never,
        page=Page(
            meaning="Nothing that was seen names a cause. remedy says so rather than guess: a wrong verdict on the "
            "toolchain costs a change of it, and an evening.",
            origin="A fault that has no entry here, or a log that holds only the end of the story. `Engine core "
            "initialization failed`, `Received sigquit from a child process`, `ninja: build stopped` and `returned "
            "non-zero exit status 1` close every failure; what they close stands above them.",
            recognised="No telling line was found, or only lines that many faults produce, and no fact that decides "
            "between them.",
            mending="The earliest error line is shown, since in a series of errors the first is the cause more often "
            "than the last. More of the log, from the start of that invocation, and the facts of the machine "
            "(`remedy snapshot UNIT`) may decide it.",
            avoid="Don't reinstall the driver or a toolkit on suspicion.",
        ),
    ),
)
