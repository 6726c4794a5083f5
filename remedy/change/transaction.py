"""A plan carried out: every step's intent on the disk before its act; kept when the service is healthy, else undone."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from remedy.change import boot, evidence, service, steps
from remedy.change.history import refuse_unfinished
from remedy.change.interrupts import Interrupted, Interrupts
from remedy.change.ledger import STATE_DIR, Ledger
from remedy.change.lock import Lock
from remedy.change.steps import Site, describe
from remedy.change.types import Done, End, Event, Hooks, Intent, Outcome, OutcomeName, Phase, Report
from remedy.change.wayback import WayBack
from remedy.errors import Exit, Refused, RemedyError
from remedy.gate.types import Progress, Verdict
from remedy.plan.types import BuildToolkit, EditFile, InstallPackages, Plan, RestartUnit


class ProofFailed(Exception):
    """The planned environment did not compile, link and load a kernel."""


def apply(
    plan: Plan,
    hooks: Hooks,
    report: Report,
    *,
    state_dir: Path = STATE_DIR,
    keep_packages: bool = False,
    interrupts: Interrupts | None = None,
) -> Outcome:
    """Carry a plan out. Raises Refused where nothing was touched; any other end is an Outcome.

    A start that fails, an error on the way, or a signal (SIGINT, SIGTERM, SIGHUP) leads back to the state before.
    ``interrupts`` are the caller's, where it notes signals already.
    """
    if not plan.steps:
        return Outcome("nothing-to-do", Exit.DONE, cause=plan.cause)
    need_root()
    report = heard(report)
    noting = Interrupts() if interrupts is None else contextlib.nullcontext(interrupts)
    with Lock(state_dir, f"remedy fix {plan.unit}") as lock, noting as interrupts:
        refuse_unfinished(state_dir)
        try:
            boot.announce(state_dir)
            ledger = Ledger.create(state_dir, plan, keep_packages=keep_packages)
        except OSError as error:
            boot.clear(state_dir)
            raise Refused(
                f"{state_dir}: {error.strerror}", hint="the ledger must be on the disk before a change"
            ) from error
        lock.note(f"remedy fix {plan.unit}, transaction {ledger.id}")
        change = _Change(ledger, hooks, report, interrupts)
        try:
            change.check()
            boot.prepare(state_dir, ledger)
        except BaseException as error:
            shutil.rmtree(ledger.folder, ignore_errors=True)
            boot.clear(state_dir)
            if isinstance(error, Interrupted):
                return Outcome("interrupted", Exit.INTERRUPTED, cause=plan.cause, reason=f"{error} before any change")
            if isinstance(error, (OSError, RemedyError)) and not isinstance(error, Refused):
                raise Refused(f"nothing was touched: {error}", hint=getattr(error, "hint", None)) from error
            raise
        outcome = change.run()
        if ledger.end is not None:
            boot.clear(state_dir)
        return outcome


def need_root() -> None:
    """Raise Refused for anyone but root."""
    if os.geteuid() != 0:
        raise Refused("only root can change the machine", hint="sudo remedy …")


def heard(report: Report) -> Report:
    """A terminal that is gone, or a pipe that is closed, changes nothing about the outcome."""

    def safe(event: Event) -> None:
        with contextlib.suppress(Exception):
            report(event)

    return safe


class _Change:
    """One plan on its way."""

    def __init__(self, ledger: Ledger, hooks: Hooks, report: Report, interrupts: Interrupts) -> None:
        self._ledger = ledger
        self._plan = ledger.plan
        self._hooks = hooks
        self._report = report
        self._interrupts = interrupts
        self._site = Site(ledger.folder, ledger.id, self._tell, interrupts)
        self._number = 0

    def check(self) -> None:
        """Look at everything that will be touched. Raises Refused where a step could not be done or undone."""
        for number, step in enumerate(self._plan.steps):
            self._interrupts.check()
            steps.look(step, number, self._site)
            if isinstance(step, RestartUnit):
                # Where a start can't be watched, none is begun.
                with self._hooks.watch():
                    pass

    def run(self) -> Outcome:
        """Go forward, and back where that fails."""
        try:
            verdict = self._forward()
        except Interrupted as error:
            return self._back("interrupted", Exit.INTERRUPTED, f"interrupted by {error}")
        except ProofFailed as error:
            return self._back("refused", Exit.REFUSED, f"the proof failed: {error}")
        except (RemedyError, OSError) as error:
            if self._interrupts.pending is not None:
                # The signal also reached a program that was just being started, and that failed of it.
                return self._back("interrupted", Exit.INTERRUPTED, f"interrupted by {self._interrupts.pending}")
            if isinstance(error, Refused):
                return self._back("refused", Exit.REFUSED, str(error))
            return self._back("rolled-back", Exit.ROLLED_BACK, str(error))
        except Exception as error:
            return self._back("rolled-back", Exit.ROLLED_BACK, f"remedy itself failed: {error!r}")
        if verdict is not None and verdict.state != "healthy":
            with contextlib.suppress(OSError):
                self._ledger.append(Phase("failed-start", verdict.reason))
            diagnosis = evidence.keep(self._ledger.folder, self._plan, self._hooks, verdict)
            cause = diagnosis.root.id if diagnosis else None
            return self._back("rolled-back", Exit.ROLLED_BACK, evidence.why(verdict, diagnosis), verdict, cause)
        return self._keep(verdict)

    def _forward(self) -> Verdict | None:
        verdict: Verdict | None = None
        proven = prewarmed = False
        for number, step in enumerate(self._plan.steps):
            self._interrupts.check()
            if not proven and not isinstance(step, (InstallPackages, BuildToolkit)):
                self._prove()
                proven = True
            if not prewarmed and isinstance(step, (EditFile, RestartUnit)):
                self._prewarm()
                prewarmed = True
            self._number = number
            self._step_event(describe(step), "begin")
            before = steps.look(step, number, self._site)
            self._ledger.append(Intent(number, before))
            if isinstance(step, RestartUnit):
                verdict = self._restart(step)
            else:
                steps.do(step, before, self._site)
            self._ledger.append(Done(number, "do"))
            self._step_event(describe(step), "done")
        return verdict

    def _prove(self) -> None:
        if self._hooks.prove is None:
            return
        self._report(Event("proof", "compile, link and load a kernel under the planned environment", "begin"))
        with self._interrupts.raising():
            why = self._hooks.prove(lambda text: self._report(Event("proof", text)))
        self._report(Event("proof", why or "proven", "failed" if why else "done"))
        if why:
            raise ProofFailed(why)

    def _prewarm(self) -> None:
        if self._hooks.prewarm is None:
            return
        self._report(Event("prewarm", "build kernels ahead of the restart", "begin"))
        with self._interrupts.raising():
            why = self._hooks.prewarm(self._report)
        self._report(Event("prewarm", why or "built", "failed" if why else "done"))
        if why:
            raise ProofFailed(why)

    def _restart(self, step: RestartUnit) -> Verdict:
        if step.daemon_reload:
            service.daemon_reload()
        with self._hooks.watch() as watch:
            service.reset_failed(step.unit)
            service.enqueue("restart", step.unit)
            with self._interrupts.raising():
                verdict = watch.run(self._progress)
        state = "done" if verdict.state == "healthy" else "failed"
        self._report(Event("verdict", verdict.reason, state, verdict=verdict))  # type: ignore[arg-type]
        return verdict

    def _keep(self, verdict: Verdict | None) -> Outcome:
        """From here on the change is only ever finished."""
        try:
            self._ledger.append(Phase("healthy", verdict.reason if verdict else ""))
        except OSError as error:
            return self._back("rolled-back", Exit.ROLLED_BACK, f"the ledger can't be written: {error}")
        left = finish(self._ledger, self._site)
        reason = verdict.reason if verdict else ""
        return Outcome("healthy", Exit.DONE, self._ledger.id, self._plan.cause, reason, verdict, left)

    def _back(
        self, name: OutcomeName, code: int, reason: str, verdict: Verdict | None = None, cause: str | None = None
    ) -> Outcome:
        left = WayBack(self._ledger, self._report, self._hooks).go(reason)
        if left:
            name, code = "rollback-incomplete", Exit.ROLLBACK_INCOMPLETE
        with contextlib.suppress(OSError):
            self._ledger.close(End(name, reason, left))
        return Outcome(name, code, self._ledger.id, cause or self._plan.cause, reason, verdict, left)

    def _progress(self, progress: Progress) -> None:
        self._report(Event("progress", progress.line, progress=progress))

    def _step_event(self, text: str, state: str) -> None:
        event = Event("step", text, state, self._number + 1, len(self._plan.steps))  # type: ignore[arg-type]
        self._report(event)

    def _tell(self, text: str, percent: float | None) -> None:
        fraction = None if percent is None else percent / 100
        self._report(Event("step", text, "running", self._number + 1, len(self._plan.steps), fraction))


def finish(ledger: Ledger, site: Site) -> tuple[str, ...]:
    """The change stays: remove what was kept for the way back, and close the ledger."""
    left: list[str] = []
    for number, before in ledger.intents().items():
        try:
            left += steps.keep(ledger.plan.steps[number], before, site)
        except (RemedyError, OSError) as error:
            left.append(f"{describe(ledger.plan.steps[number])}: what was kept of before could not be removed: {error}")
    # Where this can't be written, recover writes it: what comes after the phase is only cleaning up.
    with contextlib.suppress(OSError):
        ledger.close(End("healthy", "", tuple(left)))
    return tuple(left)
