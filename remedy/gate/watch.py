"""Follows one start of a service to a verdict: subscribed before anyone acts, woken by events."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator
from types import TracebackType

from remedy.facts.types import LogLine
from remedy.gate import processes
from remedy.gate.bus import BusError, UnitBus, UnitProperties
from remedy.gate.health import Health
from remedy.gate.journal import JournalFollower
from remedy.gate.pace import Pace, Report
from remedy.gate.phases import progress_of
from remedy.gate.pulse import Pulse
from remedy.gate.ratelimit import limit
from remedy.gate.types import Expectation, Progress, State, Verdict
from remedy.gate.words import Words

# Seconds between two looks into the journal's files while a start is watched: journald's own wake-ups are up to
# 250 ms late, and a verdict is promised within 100 ms of the line that decides it.
_GLANCE = 0.03
# Seconds after the deciding event in which the failed process's last lines are still on their way to the journal; at
# most, where a traceback has been announced and its exception is still to come.
_TRICKLE = 0.04
_LONGEST_TRICKLE = 0.06
# Lines taken in at a time: a service that logs faster than we read must not hide the manager's word.
_LINES_A_TURN = 2000
# Seconds that a counted step forward (weights, kernels, graphs) is good for, where nobody chose the timeout.
_STEP_PATIENCE = 300.0
_RECONNECT = 10.0
_ACTIVE = ("active", "reloading", "refreshing")
# For these types "active" is the service's own word; for the others it only says that exec worked.
_SPEAKING = ("notify", "notify-reload", "dbus", "oneshot")
_BAD_JOBS = ("timeout", "dependency", "invalid", "assert", "unsupported", "collected", "once")


class Watch:
    """A watch on one unit. Make it before the start is asked for, then call ``run``.

    ``adopt`` follows the start that is already under way, or the next one where the unit is inactive; of a unit that
    has failed, that failure is the verdict. Raises RemedyError where the manager can't be reached; a journal that can't
    be read costs only the log lines.
    """

    def __init__(self, unit: str, expect: Expectation, *, user: bool = False, adopt: bool = False) -> None:
        self.expect = expect
        self._user = user
        self.bus = UnitBus(unit, user=user)
        self.before = self.bus.properties()
        # A start that was under way is cancelled by ours: the end of its job says nothing.
        self._foreign_job = 0 if adopt else self.bus.job()
        self._waits = adopt and self.before.active_state == "inactive"
        adopt = adopt and not self._waits
        self._own = self.before.invocation if adopt else ""
        self.journal = JournalFollower(self.bus.unit, user=user, invocation=self._own or None)
        self.health = Health(expect)
        self._words = Words(expect)
        self._limit = limit(*self.bus.log_limit())
        self._running = self._started = adopt
        self._ready_seen = self._ready_line = False
        self._settle_at: float | None = None
        self._settled = False
        self._late = 0.0
        self._restarts = self.before.n_restarts
        self._jobs_done = int(adopt and not self.bus.job())
        self._more_lines = False
        self._begin_at(time.monotonic())
        self._step: tuple[str, int | None] = ("", None)
        self._stopped: str | None = None
        self._handle = -1

    def _begin_at(self, now: float) -> None:
        """The deadline and all patience count from now; the time that has passed, from the start that is followed."""
        self._begin = now
        before = self.before
        if self._started and not self._waits and 0 < before.left_inactive < now:
            ended = before.active_state == "failed" and before.left_inactive < before.entered_inactive
            self._begin = before.left_inactive + (now - before.entered_inactive if ended else 0.0)
        self._step_at = now
        self._pulse = Pulse(now, self.expect)
        self._until = now + self.expect.timeout

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unsubscribe and stop following the journal."""
        self.journal.close()
        self.bus.close()
        self.health.probe.close()

    def stop(self, reason: str) -> None:
        """End the watch as undecided at its next event; safe to call from a signal handler."""
        self._stopped = reason

    def run(self, report: Report) -> Verdict:
        """Wait for the verdict. ``report`` is called with lines and phases, at a bounded pace."""
        now = time.monotonic()
        self._begin_at(now)
        self._pace = Pace(report, self.expect.expected)
        if self.journal.why:
            self._pace.tell(Progress("log", 0.0, f"the log lines can't be followed: {self.journal.why}"), now)
        if self._waits:
            self._pace.tell(Progress("waiting", 0.0), now)
        with selectors.DefaultSelector() as selector:
            self._handle = self.bus.fileno()
            selector.register(self._handle, selectors.EVENT_READ, "bus")
            selector.register(self.health.probe, selectors.EVENT_READ, "probe")
            if self.journal.open:
                selector.register(self.journal, selectors.EVENT_READ, "journal")
            # What happened between making the watch and now has already been signalled.
            verdict = self._guarded(selector, self._on_bus)
            while verdict is None:
                verdict = self._guarded(selector, lambda: self._turn(selector))
        self._pace.end()
        return verdict

    def _guarded(self, selector: selectors.BaseSelector, part: Callable[[], Verdict | None]) -> Verdict | None:
        """The bus went away in the middle (its daemon was restarted): subscribe anew, and take the state as it is."""
        try:
            return part()
        except BusError:
            selector.unregister(self._handle)
            self.bus.close()
        until = time.monotonic() + _RECONNECT
        while True:
            try:
                self.bus = UnitBus(self.bus.unit, user=self._user)
                self._handle = self.bus.fileno()
                selector.register(self._handle, selectors.EVENT_READ, "bus")
                return self._on_bus()
            except BusError as error:
                if time.monotonic() >= until:
                    return self._verdict("undecided", error.message, "stopped")
                time.sleep(0.1)

    def _turn(self, selector: selectors.BaseSelector) -> Verdict | None:
        events = {key.data for key, _ in selector.select(self._wait())}
        if self._stopped is not None:
            return self._verdict("undecided", self._stopped, "stopped")
        if "journal" in events:
            self.journal.woken()
        verdict = self._on_journal()
        # Signals that came while a property was asked for lie in libsystemd's queue, not in the descriptor.
        while verdict is None and self.bus.drain():
            verdict = self._on_bus()
        if verdict is None and "probe" in events:
            verdict = self._on_answer()
        return verdict or self._on_time()

    def _wait(self) -> float:
        now = time.monotonic()
        if self._more_lines:
            return 0.0
        times = [self._until, now + _GLANCE]
        times += [at for at in (self._settle_at, self.health.due) if at is not None]
        return max(0.0, min(times) - now)

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin

    # --- the manager's word

    def _on_bus(self) -> Verdict | None:
        state = self.bus.properties()
        if not self._own and state.invocation and state.invocation != self.before.invocation:
            self._own, self._running, self._started = state.invocation, True, True
            if self._waits:
                self._begin_at(time.monotonic())
            self._restarts = min(self._restarts, state.n_restarts)
        elif self._started and not self._running and state.active_state not in ("inactive", "failed"):
            self._running = True
        verdict = self._failed_job(state) or self._ended(state)
        if verdict is None and self._running and state.active_state in _ACTIVE:
            return self._on_active(state)
        return verdict

    def _failed_job(self, state: UnitProperties) -> Verdict | None:
        while self.bus.jobs:
            number, result = self.bus.jobs.pop(0)
            if number == self._foreign_job:
                continue
            if result in _BAD_JOBS:
                return self._failure(str, f"systemd ended the start job with result '{result}'", "job")
            if result == "failed":
                return self._failure(self._words.why, _failed(state), "job")
            if result == "canceled":
                return self._verdict("undecided", "someone cancelled the start job", "job")
            if not self._started and (result == "skipped" or not state.condition_result):
                return self._failure(str, "a Condition…= of the unit is not met, so systemd did not start it", "job")
            self._jobs_done += 1
        return None

    def _is_anew(self, state: UnitProperties) -> bool:
        """Whether another start than the one that is watched is what systemd speaks of."""
        return state.invocation not in ("", self._own)

    def _ended(self, state: UnitProperties) -> Verdict | None:
        if not self._running:
            return None
        if state.sub_state.startswith("auto-restart") or state.n_restarts > self._restarts:
            # Once the next start has begun, systemd has forgotten how the last one ended.
            how = f" (Result: {state.result})" if state.result != "success" else ""
            words = f"the service ended{how} and systemd restarts it"
            return self._failure(self._words.why, words, "restart")
        if self._is_anew(state):
            return self._verdict("undecided", "someone started the service anew", "state")
        if state.active_state in ("failed", "inactive"):
            job = self.bus.job_type()
            # A job that is over has been told of before this answer, and may wait in the queue.
            self.bus.take_in()
            verdict = self._failed_job(state)
            if verdict is not None:
                return verdict
            if self._jobs_done > 1 or job == "stop":
                # A whole restart may have gone by since the state was read.
                words = "started the service anew" if self._is_anew(self.bus.properties()) else "stopped the service"
                return self._verdict("undecided", f"someone {words}", "state")
            if self._jobs_done and job:
                # Between the two halves of someone's restart: the new invocation will tell.
                return None
        if state.active_state == "failed":
            return self._failure(self._words.why, _failed(state), "state")
        awaited = (self._words.has_ready_line or self.health.asks) and not self.expect.elsewhere
        if state.sub_state == "exited" and state.type != "oneshot" and awaited and not self._members():
            # RemainAfterExit= keeps a unit active of which nothing is left.
            return self._failure(self._words.why, "the service's processes have all ended", "state")
        if state.active_state == "inactive":
            if state.type == "oneshot" and state.result == "success":
                return self._verdict("healthy", "the oneshot service finished", "state")
            return self._failure(self._words.why, "the service ended by itself before it was ready", "state")
        return None

    def _on_active(self, state: UnitProperties) -> Verdict | None:
        if self._settled:
            return self._healthy()
        if state.type in _SPEAKING or not (self._words.has_ready_line or self.health.asks):
            self._on_ready()
        elif not self._ready_seen:
            self.health.again(time.monotonic(), blind=True)
        return None

    # --- the service's word

    def _lines(self, at_most: int) -> Iterator[LogLine]:
        self._more_lines = False
        for number, line in enumerate(self.journal.lines(), start=1):
            if not (line.invocation and line.invocation == self.before.invocation != self._own):
                self._words.kept.add(line)
                self._limit.take(line)
                yield line
            if number >= at_most:
                self._more_lines = True
                return

    def _on_journal(self) -> Verdict | None:
        for line in self._lines(_LINES_A_TURN):
            now = time.monotonic()
            self._pulse.alive(now)
            progress = progress_of(line.text, self._elapsed())
            if progress is not None and (progress.phase, progress.done) != self._step:
                self._step, self._step_at = (progress.phase, progress.done), now
            self._pace.tell(progress or Progress("log", self._elapsed(), line.text), now)
            if line.from_manager:
                continue
            if self._words.fatal(line.text):
                return self._failure(self._words.why_fatal, line.text, "line")
            if not self._ready_seen and self._words.ready(line.text):
                self._ready_line = True
                if self._own == self.before.invocation:
                    # Long ago, where the unit was up when the watch began: that is how long the start took.
                    self._late = max(0.0, time.time() - line.realtime / 1e6)
                self._on_ready()
        return None

    def _on_ready(self) -> None:
        if self._ready_seen:
            return
        self._ready_seen = True
        if self.health.asks:
            self._put_question()
        else:
            self._settle()

    def _settle(self) -> None:
        if self._settle_at is None:
            self._settle_at = time.monotonic() + self.expect.settle

    def _left(self) -> float:
        return max(1.0, self._until - time.monotonic())

    def _ask(self) -> None:
        """The next question is due. Before the ready line only the service's own port is asked."""
        if not self._ready_seen and not self._listens():
            self.health.due = None
            self.health.again(time.monotonic(), blind=True)
        else:
            self._put_question()

    def _put_question(self) -> None:
        self.health.ask(self._left())
        if self.health.awaits_token:
            self._pulse.awaits_token(self._members())

    def _listens(self) -> bool:
        """Another service on the same port must not answer for this one."""
        mine = None if self.expect.elsewhere else processes.listens(self.health.place, self._members())
        # Where that can't be seen the ready line is waited for, if there can be one.
        return mine if mine is not None else not self._words.has_ready_line or self.journal.why is not None

    def _on_answer(self) -> Verdict | None:
        now = time.monotonic()
        self._pulse.alive(now)
        answer, broken = self.health.take(now, blind=not self._ready_seen)
        if answer is not None:
            self._pace.tell(Progress("health", self._elapsed(), self.health.last), now)
        if broken is not None:
            return self._failure(str, broken, "health")
        if self.health.done:
            self._settle()
        return None

    # --- time

    def _on_time(self) -> Verdict | None:
        now = time.monotonic()
        self._pace.flush(now)
        if self._settle_at is not None and not self._settled and now >= self._settle_at:
            return self._after_settling()
        if self.health.due is not None and now >= self.health.due:
            self._ask()
        if now >= self._until and not self._gets_on(now):
            return self._too_late()
        return self._hung(now)

    def _after_settling(self) -> Verdict | None:
        self._settled, self._settle_at = True, None
        return self._healthy() if self.bus.properties().active_state in _ACTIVE else self._on_bus()

    def _healthy(self) -> Verdict:
        parts = ["the ready line was logged"] if self._ready_line else []
        words = ", ".join([*parts, *self.health.said()]) or "the unit is active"
        self._begin += self._late
        return self._verdict("healthy", words, "health" if self.health.answered else "line")

    def _gets_on(self, now: float) -> bool:
        """Whether a start that nobody gave a limit is still counting up: then it gets more time."""
        if not self.expect.soft or now - self._step_at >= _STEP_PATIENCE or not self._step[0]:
            return False
        self._until = self._step_at + _STEP_PATIENCE
        return True

    def _too_late(self) -> Verdict:
        state = self.bus.properties()
        if self._waits and not self._own:
            return self._verdict("undecided", f"the service was not started within {self._elapsed():.0f} s", "timeout")
        words = f"not ready after {self._elapsed():.0f} s"
        if state.active_state == "activating" and self._settled:
            words += f"; the service answers, but systemd still waits for it (Type={state.type})"
        else:
            words += "".join(f"; {part}" for part in self.health.unanswered(processes.ports(self._members())))
        unseen = self.journal.why or self._limit.why
        if unseen and self._words.has_ready_line:
            words += f"; a ready line could not have been seen: {unseen}"
        return self._verdict("undecided", words, "timeout")

    def _members(self) -> tuple[int, ...]:
        return processes.members(self.bus.properties().control_group)

    def _hung(self, now: float) -> Verdict | None:
        if not self._running or self.expect.elsewhere:
            return None
        why = self._pulse.hung(now, self._members)
        if why and self._limit.why and self._words.has_ready_line:
            # It may be ready, and silent since.
            why = f"{why}; a ready line could not have been seen: {self._limit.why}"
            return self._verdict("undecided", why, "hang")
        return self._failure(str, why, "hang") if why else None

    # --- the end

    def _failure(self, why: Callable[[str], str], what: str, decided_by: str) -> Verdict:
        """``why`` makes the reason out of what happened, once the last lines are there."""
        begin = time.monotonic()
        while (passed := time.monotonic() - begin) < _LONGEST_TRICKLE:
            if passed >= _TRICKLE and not self._words.awaits_more(what):
                break
            time.sleep(0.01)
            for _ in self._lines(_LINES_A_TURN):
                pass
        return self._verdict("failed", why(what), decided_by)

    def _verdict(self, state: State, reason: str, decided_by: str) -> Verdict:
        return Verdict(state, reason, decided_by, self._elapsed(), self._words.kept.lines(), self._own)


def _failed(state: UnitProperties) -> str:
    return f"the service failed (Result: {state.result}, status {state.exec_main_status})"
