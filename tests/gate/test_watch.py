"""Starts of every kind, watched on a booted machine: real systemd, real journal, real ports."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.lab.machine import Machine

pytestmark = pytest.mark.machine

READY = "The server is fired up and ready to roll!"
PROGRAM = ("/opt/remedy-venv/bin/python", "-m", "tests.gate.scene")
PORT = 31000
URL = f"http://127.0.0.1:{PORT}"
#: Promised are 100 ms; the rest is for a machine that does other things.
LATE = 0.3


def stub(*words: object) -> str:
    return "ExecStart=/usr/bin/python3 -u /srv/remedy/tests/gate/stub.py " + shlex.join(map(str, words))


def expect(**more: Any) -> dict[str, Any]:
    return {"ready": ["ready to roll"], "timeout": 20.0, "settle": 0.3, **more}


def served(**more: Any) -> dict[str, Any]:
    return expect(health_url=f"{URL}/health", generate_url=f"{URL}/generate", generate_body="{}", **more)


def watch(machine: Machine, *lines: str, name: str = "gate.service", **orders: Any) -> dict[str, Any]:
    """Write a unit, start it under a watch, and return what the watch said; the unit is stopped."""
    text = "[Unit]\nStartLimitIntervalSec=0\n" + "".join(f"{line}\n" for line in ("[Service]", *lines))
    machine.write(f"/etc/systemd/system/{name}", text)
    machine.exec(["systemctl", "daemon-reload"])
    orders = {"act": "restart", "expect": expect(), **orders}
    done = machine.exec([*PROGRAM, name, json.dumps(orders)], check=False)
    machine.exec(f"systemctl kill -s KILL {name}; systemctl stop {name}; systemctl reset-failed {name}", check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_a_ready_line_health_and_a_token(machine: Machine) -> None:
    unit = stub("say", "Load weight begin", "wait", 0.2, "serve", PORT, 200, 200, "say", READY, "stay")
    said = watch(machine, unit, expect=served())
    assert (said["state"], said["by"]) == ("healthy", "health"), said
    assert "the ready line was logged" in said["reason"] and "a token was generated" in said["reason"]
    assert said["phases"] == ["weights", "ready-line", "health", "health"]
    assert said["elapsed"] < 3


@pytest.mark.parametrize(
    ("generate", "state", "reason"),
    [
        (500, "failed", "a request for one token answered 500"),
        (401, "healthy", "a request for one token answered 401"),
        (503, "undecided", "answered 503"),
    ],
)
def test_health_is_not_enough(machine: Machine, generate: int, state: str, reason: str) -> None:
    unit = stub("serve", PORT, 200, generate, "say", READY, "stay")
    said = watch(machine, unit, expect=served(timeout=3.0))
    assert said["state"] == state and reason in said["reason"], said


@pytest.mark.parametrize(("status", "words"), [(503, "answered 503"), (0, "not ready after 3 s")])
def test_an_address_that_never_becomes_healthy(machine: Machine, status: int, words: str) -> None:
    unit = stub("serve", PORT, status, 200, "say", READY, "stay")
    said = watch(machine, unit, expect=served(timeout=3.0))
    assert (said["state"], said["by"]) == ("undecided", "timeout") and words in said["reason"], said
    assert 2.9 < said["elapsed"] < 4.5


FAILURES = {
    "exit": ([stub("say", "boom", "wait", 0.2, "exit", 3)], "state", "status 3"),
    "exit 0": ([stub("say", "bye", "exit", 0)], "state", "ended by itself"),
    "203/EXEC": (["ExecStart=/opt/nothing/here"], "state", "status 203"),
    "200/CHDIR": (["WorkingDirectory=/opt/none", stub("stay")], "state", "status 200"),
    "217/USER": (["User=nobody-at-all", stub("stay")], "state", "status 217"),
    "restarts": (["Restart=always", "RestartSec=0", stub("wait", 0.1, "exit", 1)], "restart", "restarts it"),
    "restarts later": (["Restart=always", "RestartSec=30", stub("exit", 1)], "restart", "restarts it"),
    "oneshot": (["Type=oneshot", stub("exit", 1)], "state", "status 1"),
    "notify ends": (["Type=notify", stub("wait", 0.1, "exit", 1)], "state", "status 1"),
    "notify timeout": (["Type=notify", "TimeoutStartSec=1", "TimeoutStopSec=1", stub("stay")], "state", "timeout"),
    "pre": (["ExecStartPre=/bin/false", stub("stay")], "state", "exit-code"),
    "forking": (["Type=forking", 'ExecStart=/bin/sh -c "exit 4"'], "state", "exit-code"),
    "a signal": ([stub("say", "x", "stay")], "state", "signal"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_start_that_fails(machine: Machine, kind: str) -> None:
    lines, by, words = FAILURES[kind]
    more = {"then": "systemctl kill -s SEGV gate"} if kind == "a signal" else {}
    said = watch(machine, *lines, **more)
    assert said["state"] == "failed" and said["by"] in (by, "job") and words in said["reason"], said
    assert said["late"] < LATE, said


def test_a_fatal_line_ends_the_wait_though_the_process_lingers(machine: Machine) -> None:
    unit = stub("say", "all is well", "wait", 0.3, "say", "Scheduler hit an exception: x", "say", "after", "stay")
    said = watch(machine, unit, expect=expect(fatal=["Scheduler hit an exception"]))
    assert (said["state"], said["by"]) == ("failed", "line") and "Scheduler hit" in said["reason"], said
    assert said["late"] < LATE and said["elapsed"] < 3
    assert said["log"][-1] == "after"


def test_ready_is_not_healthy_when_it_crashes_at_once(machine: Machine) -> None:
    unit = stub("serve", PORT, 200, 200, "say", READY, "wait", 0.4, "exit", 1)
    said = watch(machine, unit, expect=served(settle=2.0))
    assert said["state"] == "failed" and "status 1" in said["reason"], said


def test_startup_complete_and_then_the_port_is_taken(machine: Machine) -> None:
    """Another service answers /health on the same port meanwhile."""
    bind = "[Errno 98] error while attempting to bind on address ('127.0.0.1', 31000): address already in use"
    other = f"systemd-run -q --unit=other python3 /srv/remedy/tests/gate/stub.py serve {PORT} 200 200 stay; sleep 0.4"
    unit = stub("wait", 0.3, "say", "Application startup complete.", "wait", 0.4, "say", bind, "stay")
    wanted = served(ready=["Application startup complete"], fatal=["error while attempting to bind"], settle=2.0)
    said = watch(machine, unit, expect=wanted, before=other)
    assert said["state"] == "failed" and "bind on address" in said["reason"], said
    unit = stub("say", "loading", "stay")
    said = watch(machine, unit, expect=served(ready=[], timeout=3.0))
    assert said["state"] == "undecided" and "health" not in said["phases"], said
    machine.exec(["systemctl", "stop", "other"])


GOOD = {
    "notify": (["Type=notify", "NotifyAccess=all", stub("wait", 0.3, "notify", "stay")], expect(ready=[])),
    "oneshot": (["Type=oneshot", stub("wait", 0.2, "exit", 0)], expect(ready=[])),
    "oneshot remains": (["Type=oneshot", "RemainAfterExit=yes", stub("exit", 0)], expect(ready=[])),
    "forking": (["Type=forking", 'ExecStart=/bin/sh -c "sleep 60 &"'], expect(ready=[])),
    "no word": ([stub("stay")], expect(ready=[])),
    "only a port": ([stub("wait", 0.3, "serve", PORT, 200, 200, "stay")], served(ready=[])),
    "a line without a port": ([stub("say", READY, "stay")], expect()),
    "no journal": ([stub("serve", PORT, 200, 200, "say", READY, "stay"), "StandardOutput=null"], served()),
    "rate limited": (
        [
            "LogRateLimitBurst=2",
            "LogRateLimitIntervalSec=60",
            stub(*("say", "x") * 5, "say", READY, "serve", PORT, 200, 200, "stay"),
        ],
        served(),
    ),
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_start_that_is_good(machine: Machine, kind: str) -> None:
    lines, wanted = GOOD[kind]
    said = watch(machine, *lines, expect=wanted)
    assert said["state"] == "healthy", said


def test_a_notify_service_that_answers_but_never_says_ready(machine: Machine) -> None:
    unit = stub("serve", PORT, 200, 200, "say", READY, "stay")
    said = watch(machine, "Type=notify", unit, expect=served(timeout=3.0))
    assert said["state"] == "undecided" and "Type=notify" in said["reason"], said


@pytest.mark.parametrize(("verb", "words"), [("stop", "stopped"), ("restart", "anew")])
def test_someone_else_acts(machine: Machine, verb: str, words: str) -> None:
    said = watch(machine, stub("say", "loading", "stay"), then=f"systemctl {verb} gate", after=0.6)
    assert said["state"] == "undecided" and words in said["reason"], said


def test_a_start_job_that_someone_cancels(machine: Machine) -> None:
    said = watch(machine, "Type=notify", stub("stay"), then="systemctl stop gate", after=0.6)
    assert said["state"] == "undecided" and "cancelled" in said["reason"], said


def test_a_start_that_replaces_one_under_way(machine: Machine) -> None:
    """The job of the start that was there before is cancelled by ours."""
    lines = ("Type=notify", "NotifyAccess=all", stub("say", "loading", "wait", 0.6, "notify", "stay"))
    said = watch(machine, *lines, expect=expect(ready=[]), before="systemctl start --no-block gate; sleep 0.2")
    assert said["state"] == "healthy", said


def test_a_condition_that_is_not_met(machine: Machine) -> None:
    said = watch(machine, stub("stay"), "[Unit]", "ConditionPathExists=/none")
    assert (said["state"], said["by"]) == ("failed", "job") and "Condition" in said["reason"], said


def test_a_dependency_that_fails(machine: Machine) -> None:
    machine.write("/etc/systemd/system/needed.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    said = watch(machine, stub("stay"), "[Unit]", "Requires=needed.service", "After=needed.service")
    assert (said["state"], said["by"]) == ("failed", "job") and "dependency" in said["reason"], said


def test_lines_of_the_start_before_decide_nothing(machine: Machine) -> None:
    fatal = "Scheduler hit an exception"
    script = f"""trap 'echo {fatal}; sleep 0.3; exit 0' TERM; [ -e /run/second ] && {{ echo ready to roll; sleep 60; }}
touch /run/second; sleep 60 & wait"""
    unit = f'ExecStart=/bin/sh -c "{script}"'.replace("\n", "; ")
    said = watch(
        machine, unit, expect=expect(fatal=[fatal]), before="rm -f /run/second; systemctl start gate; sleep 0.3"
    )
    assert said["state"] == "healthy", said
    assert "ready to roll" in said["log"] and fatal not in said["log"]


def test_a_start_under_way_is_adopted(machine: Machine) -> None:
    unit = stub("say", "first words", "wait", 1, "serve", PORT, 200, 200, "say", READY, "stay")
    said = watch(machine, unit, expect=served(), act="", adopt=True, before="systemctl start gate; sleep 0.5")
    assert said["state"] == "healthy" and "first words" in said["log"], said
    said = watch(machine, unit, expect=served(timeout=5), act="", adopt=True, then="systemctl start gate")
    assert said["state"] == "healthy", said


def test_the_journal_is_rotated_and_vacuumed_meanwhile(machine: Machine) -> None:
    unit = stub(*("say", "x", "wait", 0.2) * 6, "say", READY, "stay")
    said = watch(machine, unit, then="journalctl --rotate --vacuum-size=1 -q")
    assert (said["state"], said["by"]) == ("healthy", "line"), said
    assert said["log"].count("x") == 6


def test_the_journal_can_t_be_read(machine: Machine) -> None:
    unit = stub("serve", PORT, 200, 200, "say", READY, "stay")
    neither = ["systemd", "remedy.gate.libsystemd"]
    said = watch(machine, unit, expect=served(), without=neither)
    assert said["state"] == "healthy" and "ready line" not in said["reason"], said
    assert "can't be followed" in said["first"] and said["log"] == []
    assert watch(machine, stub("exit", 3), without=neither)["state"] == "failed"


#: A machine with nothing but Python.
BARE = ["pystemd", "systemd"]


@pytest.mark.parametrize("kind", ["exit", "203/EXEC", "restarts", "notify timeout", "a signal"])
def test_a_start_that_fails_where_nothing_is_compiled(machine: Machine, kind: str) -> None:
    lines, by, words = FAILURES[kind]
    more = {"then": "systemctl kill -s SEGV gate"} if kind == "a signal" else {}
    said = watch(machine, *lines, without=BARE, **more)
    assert said["state"] == "failed" and said["by"] in (by, "job") and words in said["reason"], said
    assert said["late"] < LATE, said


def test_a_start_where_nothing_is_compiled(machine: Machine) -> None:
    unit = stub("say", "Load weight begin", "say", "caf\u00e9", "serve", PORT, 200, 200, "say", READY, "stay")
    said = watch(machine, unit, expect=served(), without=BARE)
    assert (said["state"], said["by"]) == ("healthy", "health"), said
    assert "the ready line was logged" in said["reason"] and "a token was generated" in said["reason"]
    assert "caf\u00e9" in said["log"] and said["memory"] < 60e6
    late = watch(machine, unit, expect=expect(), without=BARE, then="systemctl restart dbus.service", after=0.1)
    assert late["state"] == "healthy", late


def test_journald_is_stopped_meanwhile(machine: Machine) -> None:
    units = "systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service"
    unit = stub("say", "x", "wait", 1.5, "serve", PORT, 200, 200, "stay")
    said = watch(machine, unit, expect=served(), then=f"systemctl stop {units}")
    machine.exec(f"systemctl start {units}")
    assert said["state"] == "healthy", said


def test_the_bus_daemon_is_restarted_meanwhile(machine: Machine) -> None:
    unit = stub("say", "x", "wait", 2.5, "exit", 3)
    said = watch(machine, unit, then="systemctl restart dbus.service")
    assert said["state"] == "failed" and "status 3" in said["reason"], said


def test_the_manager_is_reloaded_and_executed_anew_meanwhile(machine: Machine) -> None:
    unit = stub("say", "x", "wait", 1.5, "exit", 3)
    said = watch(machine, unit, then="systemctl daemon-reload; systemctl daemon-reexec")
    assert said["state"] == "failed" and "status 3" in said["reason"], said


def test_a_hang_is_told_with_what_it_hangs_in(machine: Machine) -> None:
    said = watch(machine, stub("say", "waiting for the others", "stay"), hang=1.0, expect=expect(soft=True))
    assert (said["state"], said["by"]) == ("failed", "hang"), said
    assert "no processor time" in said["reason"] and "python3[" in said["reason"]
    busy = 'ExecStart=/bin/sh -c "while :; do :; done"'
    said = watch(machine, busy, hang=1.0, expect=expect(timeout=3.0, soft=True))
    assert said["state"] == "undecided", said
    said = watch(
        machine, stub("say", "docker waits", "stay"), hang=1.0, expect=expect(timeout=3.0, soft=True, elsewhere=True)
    )
    assert said["state"] == "undecided", said


def test_a_scheduler_that_polls_for_work_and_gives_no_token_hangs(machine: Machine) -> None:
    said = watch(machine, stub("serve", PORT, 200, 0, "say", READY, "poll"), hang=2.0, expect=served(soft=True))
    assert (said["state"], said["by"]) == ("failed", "hang"), said
    assert "no new process" in said["reason"]


def test_an_alias_is_the_unit_that_it_names(machine: Machine) -> None:
    machine.exec("ln -sf /etc/systemd/system/gate.service /etc/systemd/system/alias.service")
    machine.write("/etc/systemd/system/gate.service", f"[Service]\n{stub('say', 'boom', 'exit', 3)}\n")
    machine.exec(["systemctl", "daemon-reload"])
    done = machine.exec([*PROGRAM, "alias.service", json.dumps({"act": "start", "expect": expect()})])
    said = json.loads(done.stdout)
    assert said["state"] == "failed" and "boom" in said["log"], said


BEGIN = "Traceback (most recent call last):"
QUOTED = '  File "/srv/x.py", line 3, in load'


@pytest.mark.parametrize(
    ("fatal", "lines", "reason"),
    [
        (
            "Scheduler hit an exception",
            (f"[2026-05-02 10:11:03 TP3] Scheduler hit an exception: {BEGIN}", QUOTED, "KeyError: layers.0"),
            "TP3 raised KeyError: layers.0 (then the service logged: Scheduler hit an exception)",
        ),
        (
            "WorkerProc failed to start",
            tuple(
                f"(Worker_TP1 pid=7) ERROR 11-09 08:03:19 [multiproc_executor.py:597] {words}"
                for words in ("WorkerProc failed to start.", BEGIN, QUOTED, "ValueError: no such kernel")
            ),
            "Worker_TP1[7] raised ValueError: no such kernel (then",
        ),
    ],
)
def test_one_rank_dies_and_the_others_linger(machine: Machine, fatal: str, lines: tuple[str, ...], reason: str) -> None:
    words = [word for line in lines for word in ("say", line)]
    said = watch(machine, stub("say", "loading", *words, "stay"), expect=expect(fatal=[fatal]))
    assert (said["state"], said["by"]) == ("failed", "line") and said["reason"].startswith(reason), said
    assert said["elapsed"] < 3


def test_a_worker_s_retried_warning_is_not_fatal(machine: Machine) -> None:
    retried = "WARNING 11-09 08:03:19 [x.py:5] Scheduler hit an exception, trying again"
    unit = stub("say", retried, "wait", 0.3, "say", READY, "stay")
    said = watch(machine, unit, expect=expect(fatal=["Scheduler hit an exception"]))
    assert said["state"] == "healthy", said


def test_the_exception_of_a_process_that_ends_is_told(machine: Machine) -> None:
    unit = stub("say", BEGIN, "say", QUOTED, "say", "OSError: no model here", "exit", 1)
    said = watch(machine, unit)
    assert said["state"] == "failed" and said["reason"].endswith("; the service raised OSError: no model here"), said


def test_a_unit_that_has_failed_is_told_at_once(machine: Machine) -> None:
    unit = stub("say", BEGIN, "say", QUOTED, "say", "OSError: no model here", "wait", 0.3, "exit", 1)
    failed = "systemctl start gate; sleep 1.5; systemctl is-failed -q gate"
    said = watch(machine, unit, act="", adopt=True, before=failed)
    assert (said["state"], said["by"]) == ("failed", "state") and "OSError: no model here" in said["reason"], said
    assert said["elapsed"] < 1.2, "the seconds that the start took, not those since"


def test_a_unit_that_does_not_run_is_waited_for(machine: Machine) -> None:
    unit = stub("wait", 0.2, "say", READY, "stay")
    stopped = "systemctl start gate; sleep 0.3; systemctl stop gate; systemctl reset-failed gate || true"
    waited: dict[str, Any] = {"act": "", "adopt": True, "before": stopped}
    said = watch(machine, unit, then="systemctl start gate", after=1.0, **waited)
    assert said["state"] == "healthy" and said["phases"][0] == "waiting" and said["elapsed"] < 1.5, said
    said = watch(machine, unit, expect=expect(timeout=1.0), **waited)
    assert said["state"] == "undecided" and "was not started" in said["reason"], said


def test_the_command_ends_as_it_promises(machine: Machine) -> None:
    def command(*words: str) -> tuple[int, str]:
        done = machine.exec(["remedy", "watch", *words], check=False, timeout=60)
        assert "Traceback (most" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    machine.exec("ln -sf /dev/null /etc/systemd/system/hidden.service")
    machine.write("/etc/systemd/system/wish.service", f"[Service]\n{stub('stay')}\n[X-Remedy]\nReadyPattern=(\n")
    machine.write("/etc/systemd/system/gate.service", f"[Service]\n{stub('say', 'x', 'stay')}\n")
    machine.write("/etc/systemd/system/bad.service", f"[Service]\n{stub('say', 'ValueError: x', 'exit', 3)}\n")
    machine.exec("systemctl daemon-reload; systemctl start gate bad; sleep 0.5", check=False)
    assert command("gate")[0] == 0
    code, text = command("bad")
    assert code == 3 and "status 3" in text and "cause: unknown" in text, text
    code, text = command("bad", "--json")
    events = [json.loads(line) for line in text.splitlines()]
    assert code == 3 and [event["event"] for event in events][-2:] == ["verdict", "diagnosis"]
    assert command("no-such-unit")[0] == 2
    assert command("hidden")[0] == 7
    code, text = command("wish")
    assert code == 2 and "/etc/systemd/system/wish.service:4: ReadyPattern=(" in text, text
    machine.exec("systemctl stop gate")
    code, text = command("gate", "--timeout", "1")
    assert code == 4 and "waiting for the next start" in text and "was not started" in text, text
    watching = machine.start(["remedy", "watch", "gate"])
    assert watching.stderr is not None and "waiting" in watching.stderr.readline()
    machine.exec("pkill -INT -f '[r]emedy watch gate'")
    assert watching.wait(10) == 130
    assert machine.exec(["systemctl", "is-active", "gate"], check=False).stdout.strip() == "inactive"


def test_a_flood_of_lines_costs_no_memory_and_hides_no_end(machine: Machine) -> None:
    # The last of all: for half a minute, journald's rate limit holds the flood against whoever starts next.
    unit = stub("say", "first", "flood", 20_800_000, "say", READY, "wait", 0.2, "exit", 3)
    said = watch(machine, "LogRateLimitIntervalSec=0", unit, expect=expect(settle=5.0))
    assert said["state"] == "failed" and "first" in said["log"][:3], said
    assert said["memory"] < 60_000_000 and said["kept"] < 20_000
    assert said["reports"] < 200
