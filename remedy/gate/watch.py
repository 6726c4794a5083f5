"""Follows one start of a service to a verdict: subscribed before anyone acts, woken by events alone."""

from __future__ import annotations

import re
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType

from remedy.facts.types import LogLine
from remedy.gate.bus import UnitBus, UnitProperties
from remedy.gate.journal import JournalFollower
from remedy.gate.phases import progress_of
from remedy.gate.probe import Probe
from remedy.gate.types import Expectation, Progress, State, Verdict

# Lines kept for the diagnosis of a failed start: the first, where the root cause stands, and the last.
_FIRST, _LAST = 2000, 4000
# Seconds between two looks into the journal's files while a start is watched: journald's own wake-ups are up to
# 250 ms late, and a verdict is promised within 100 ms of the line that decides it.
_GLANCE = 0.05
# Seconds after the deciding event in which the failed process's last lines are still on their way to the journal.
_TRICKLE = 0.06
_HEALTH_RETRY = 0.25
# Without a ready line to wait for, the address itself has to be asked now and then.
_BLIND_RETRY = 2.0
# Seconds without a line, processor time or a finished request before a start counts as hung.
_SHORTEST_HANG = 600.0
_HANG_SAMPLE = 15.0
_IDLE_SHARE = 0.002

Report = Callable[[Progress], None]


class Watch:
    """A watch on one unit. Make it before the start is asked for, then call ``run``.

    ``adopt`` follows the start that is already under way. Raises RemedyError where the manager can't be reached;
    a journal that can't be read costs only the log lines.
    """

    def __init__(self, unit: str, expect: Expectation, *, user: bool = False, adopt: bool = False) -> None:
        self.unit = unit
        self.expect = expect
        self.bus = UnitBus(unit, user=user)
        self.before = self.bus.properties()
        self._own = self.before.invocation if adopt else ""
        self.journal = JournalFollower(unit, user=user, invocation=self._own or None)
        self.probe = Probe()
        self._ready = [re.compile(pattern) for pattern in expect.ready]
        self._fatal = [re.compile(pattern) for pattern in expect.fatal]
        self._first: list[LogLine] = []
        self._last: deque[LogLine] = deque(maxlen=_LAST)
        self._begin = time.monotonic()
        self._running = adopt
        self._ready_seen = False
        self._health: str | None = None
        self._answered = False
        self._generated = False
        self._settle_at: float | None = None
        self._probe_at: float | None = None
        self._restarts = self.before.n_restarts
        self._last_life = self._begin
        self._last_cpu = 0
        self._sampled = self._begin
        self._stopped: str | None = None

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
        self.probe.close()

    def log(self) -> tuple[LogLine, ...]:
        """The lines of this start that were kept."""
        return (*self._first, *self._last)

    def stop(self, reason: str) -> None:
        """End the watch as undecided at its next event; safe to call from a signal handler."""
        self._stopped = reason

    def run(self, report: Report) -> Verdict:
        """Wait for the verdict. ``report`` is called with each telling line and phase."""
        self._begin = self._last_life = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self.bus, selectors.EVENT_READ, "bus")
            selector.register(self.probe, selectors.EVENT_READ, "probe")
            selector.register(self.journal, selectors.EVENT_READ, "journal")
            # What happened between making the watch and now has already been signalled.
            verdict = self._on_bus()
            while verdict is None:
                verdict = self._turn(selector, report)
        return verdict

    def _turn(self, selector: selectors.BaseSelector, report: Report) -> Verdict | None:
        events = {key.data for key, _ in selector.select(self._wait())}
        if self._stopped is not None:
            return self._verdict("undecided", self._stopped, "stopped")
        if "journal" in events:
            self.journal.woken()
        verdict = self._on_journal(report)
        if verdict is not None:
            return verdict
        if "bus" in events and self.bus.drain():
            verdict = self._on_bus()
            if verdict is not None:
                return verdict
        if "probe" in events:
            verdict = self._on_answer(report)
            if verdict is not None:
                return verdict
        return self._on_time()

    def _wait(self) -> float:
        now = time.monotonic()
        times = [self._begin + self.expect.timeout, now + _GLANCE]
        times += [at for at in (self._settle_at, self._probe_at) if at is not None]
        return max(0.0, min(times) - now)

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin

    # --- the manager's word

    def _on_bus(self) -> Verdict | None:
        state = self.bus.properties()
        if not self._own and state.invocation and state.invocation != self.before.invocation:
            self._own, self._running = state.invocation, True
            self._restarts = min(self._restarts, state.n_restarts)
        verdict = self._failed_job() or self._ended(state)
        if verdict is not None:
            return verdict
        if self._running and state.active_state == "active":
            self._on_active(state)
        return None

    def _failed_job(self) -> Verdict | None:
        while self.bus.jobs:
            _job, _unit, result = self.bus.jobs.pop(0)
            if result in ("timeout", "canceled", "dependency", "invalid", "assert", "unsupported"):
                return self._failure(f"systemd ended the start job with result '{result}'", "job")
            if result == "failed":
                state = self.bus.properties()
                return self._failure(f"the start job failed (Result: {state.result})", "job")
            if result == "skipped" or not self.bus.properties().condition_result:
                return self._failure("a Condition…= of the unit is not met, so systemd did not start it", "job")
        return None

    def _ended(self, state: UnitProperties) -> Verdict | None:
        if not self._running:
            return None
        restarted = state.invocation != self._own and state.invocation != ""
        if state.sub_state.startswith("auto-restart") or restarted or state.n_restarts > self._restarts:
            return self._failure(f"the service ended (Result: {state.result}) and systemd restarts it", "restart")
        if state.active_state == "failed":
            words = f"the service failed (Result: {state.result}, status {state.exec_main_status})"
            return self._failure(words, "state")
        if state.active_state == "inactive":
            if state.type == "oneshot" and state.result == "success":
                return self._verdict("healthy", "the oneshot service finished", "state")
            return self._failure("the service ended by itself before it was ready", "state")
        return None

    def _on_active(self, state: UnitProperties) -> None:
        # For these types "active" is the service's own word; for the others it only says that exec worked.
        if state.type in ("notify", "notify-reload", "dbus", "oneshot") or not (self._ready or self.expect.health_url):
            self._on_ready()
        elif not self._ready and self._probe_at is None and not self.probe.busy:
            self._probe_at = time.monotonic() + _BLIND_RETRY

    # --- the service's word

    def _lines(self) -> Iterator[LogLine]:
        for line in self.journal.lines():
            if line.invocation and line.invocation == self.before.invocation != self._own:
                continue
            if len(self._first) < _FIRST:
                self._first.append(line)
            else:
                self._last.append(line)
            yield line

    def _on_journal(self, report: Report) -> Verdict | None:
        for line in self._lines():
            self._last_life = time.monotonic()
            progress = progress_of(line.text, self._elapsed())
            report(progress or Progress("log", self._elapsed(), line.text))
            if line.from_manager:
                continue
            if any(pattern.search(line.text) for pattern in self._fatal):
                return self._failure(f"the service logged: {line.text.strip()[:200]}", "line")
            if not self._ready_seen and any(pattern.search(line.text) for pattern in self._ready):
                self._on_ready()
        return None

    def _on_ready(self) -> None:
        if self._ready_seen:
            return
        self._ready_seen = True
        if self.expect.health_url:
            self.probe_now()
        else:
            self._settle_at = time.monotonic() + self.expect.settle

    def probe_now(self) -> None:
        """Ask the next question: first for health, then for one generated token."""
        self._probe_at = None
        if self.probe.busy:
            return
        if not self._answered and self.expect.health_url:
            self.probe.ask(self.expect.health_url)
        elif self.expect.generate_url and not self._generated:
            # The first request can still build kernels, so it gets as long as the start itself.
            self.probe.ask(self.expect.generate_url, self.expect.generate_body, timeout=self._left())

    def _left(self) -> float:
        return max(1.0, self.expect.timeout - self._elapsed())

    def _on_answer(self, report: Report) -> Verdict | None:
        answer = self.probe.take()
        if answer is None:
            return None
        self._last_life = time.monotonic()
        if self._answered:
            return self._on_generated(answer.good, answer.status, answer.why)
        report(Progress("health", self._elapsed(), f"{answer.url} {answer.why}"))
        self._health = answer.why
        if not answer.good:
            retry = _HEALTH_RETRY if self._ready_seen else _BLIND_RETRY
            self._probe_at = time.monotonic() + retry
            return None
        self._answered = True
        if self.expect.generate_url:
            self.probe_now()
        else:
            self._settle_at = time.monotonic() + self.expect.settle
        return None

    def _on_generated(self, good: bool, status: int | None, why: str) -> Verdict | None:
        self._generated = True
        # 4xx says that the server wants another request (a chat template, a key): it is alive and answers.
        if good or (status is not None and 400 <= status < 500):
            self._settle_at = time.monotonic() + self.expect.settle
            return None
        if status is None and self._elapsed() < self.expect.timeout:
            self._generated = False
            self._probe_at = time.monotonic() + 1.0
            return None
        return self._failure(f"/health answers, but a request for one token {why}", "health")

    # --- time

    def _on_time(self) -> Verdict | None:
        now = time.monotonic()
        if self._settle_at is not None and now >= self._settle_at:
            return self._verdict("healthy", self._why_healthy(), "health" if self._answered else "line")
        if self._probe_at is not None and now >= self._probe_at:
            self.probe_now()
        if now - self._begin >= self.expect.timeout:
            where = f"; {self.expect.health_url} {self._health}" if self._health else ""
            words = f"not ready after {self.expect.timeout:.0f} s{where}"
            return self._verdict("undecided", words, "timeout")
        return self._hung(now)

    def _why_healthy(self) -> str:
        parts = []
        if self._ready_seen and self._ready:
            parts.append("the ready line was logged")
        if self._answered:
            parts.append(f"{self.expect.health_url} answers")
        if self._generated:
            parts.append("a token was generated")
        return ", ".join(parts) or "the unit is active"

    def _hung(self, now: float) -> Verdict | None:
        patience = max(_SHORTEST_HANG, 2 * (self.expect.expected or 0.0))
        if not self._running or now - max(self._last_life, self._sampled) < _HANG_SAMPLE:
            return None
        self._sampled = now
        cpu = self.bus.properties().cpu_usage_ns
        if cpu - self._last_cpu > _IDLE_SHARE * 1e9 * _HANG_SAMPLE:
            self._last_life = now
        self._last_cpu = cpu
        if now - self._last_life < patience:
            return None
        words = f"no log line and no processor time for {now - self._last_life:.0f} s"
        return self._failure(words, "hang")

    # --- the end

    def _failure(self, reason: str, decided_by: str) -> Verdict:
        until = time.monotonic() + _TRICKLE
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.01))
            for _ in self._lines():
                pass
        return self._verdict("failed", reason, decided_by)

    def _verdict(self, state: State, reason: str, decided_by: str) -> Verdict:
        return Verdict(state, reason, decided_by, self._elapsed(), self.log(), self._own)
