from __future__ import annotations

from remedy.facts.condense import condensed_read
from remedy.facts.run import Result
from remedy.facts.state import boot_time, parse_state, read_state, start_state
from remedy.facts.types import UnitState
from tests.facts.answers import Answers
from tests.memory import MemoryView

FAILED = """\
Result=exit-code
NRestarts=3
ExecMainCode=1
ExecMainStatus=1
ActiveState=failed
SubState=failed
ActiveEnterTimestampMonotonic=2612806500
InactiveEnterTimestampMonotonic=2662873431
NeedDaemonReload=yes
InvocationID=ab39da8e6003458797acd2d945141c77
"""
BOOT = 1_796_170_000_000_000


def test_a_failed_unit() -> None:
    assert parse_state(FAILED, BOOT) == UnitState(
        active_state="failed",
        sub_state="failed",
        result="exit-code",
        exec_main_code=1,
        exec_main_status=1,
        n_restarts=3,
        invocation="ab39da8e6003458797acd2d945141c77",
        need_daemon_reload=True,
        inactive_enter=BOOT + 2662873431,
    )


def test_a_unit_that_never_ran() -> None:
    state = parse_state("ActiveState=inactive\nActiveEnterTimestampMonotonic=0\nNRestarts=[not set]\n", BOOT)
    assert (state.active_state, state.inactive_enter, state.n_restarts) == ("inactive", 0, 0)


def test_an_unknown_state_has_a_reason() -> None:
    state, missing = read_state(MemoryView(), Result(1, b"", b"", "Failed to connect to bus: Host is down"))
    assert state is None and missing is not None
    assert missing.why == "systemctl: Failed to connect to bus: Host is down"


def test_boot_time() -> None:
    whole = "cpu 1 2\nbtime 1796172251\nprocesses 9\n"
    for text in (whole, condensed_read("/proc/stat", whole.encode(), str)):
        assert boot_time(MemoryView({"/proc/stat": text})) == 1796172251000000
    assert boot_time(MemoryView()) == 0


def test_what_is_asked() -> None:
    runner = Answers({})
    start_state(runner, "-x.service", user=True)
    assert runner.asked[0][:3] == ("systemctl", "--user", "show") and runner.asked[0][-2:] == ("--", "-x.service")
