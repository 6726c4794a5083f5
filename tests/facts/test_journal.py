from __future__ import annotations

import pytest

from remedy.facts.journal import LINES, last_invocations, parse_export, read_journal, rewritten, start_journal
from remedy.facts.run import Result
from remedy.facts.types import LogLine
from tests.facts.answers import Answers

UNIT = b"sglang-k26.service"


def field(name: bytes, value: bytes) -> bytes:
    """A field of the export format: of several lines in its binary form."""
    if b"\n" in value:
        return name + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
    return name + b"=" + value + b"\n"


def entry(
    message: bytes, invocation: bytes = b"aa", time: int = 1, pid: bytes = b"50", cursor: bytes = b"s=1"
) -> bytes:
    """A line of the service itself."""
    return (
        field(b"__CURSOR", cursor)
        + field(b"__REALTIME_TIMESTAMP", str(time).encode())
        + field(b"MESSAGE", message)
        + field(b"SYSLOG_IDENTIFIER", b"python3")
        + field(b"_PID", pid)
        + field(b"_SYSTEMD_UNIT", UNIT)
        + field(b"_SYSTEMD_INVOCATION_ID", invocation)
        + b"\n"
    )


def about(message: bytes, invocation: bytes | None = b"aa", time: int = 1) -> bytes:
    """A line of the manager on the service."""
    own = field(b"INVOCATION_ID", invocation) if invocation else b""
    return (
        field(b"__REALTIME_TIMESTAMP", str(time).encode())
        + field(b"MESSAGE", message)
        + field(b"SYSLOG_IDENTIFIER", b"systemd")
        + field(b"_PID", b"1")
        + field(b"_SYSTEMD_UNIT", b"init.scope")
        + field(b"UNIT", UNIT)
        + own
        + b"\n"
    )


def texts(lines: tuple[LogLine, ...]) -> list[str]:
    return [line.text for line in lines]


def test_a_line_of_the_service_and_one_of_the_manager() -> None:
    lines = parse_export(entry(b"Load weight begin", time=1796174864210982) + about(b"Started it."))
    assert lines[0] == LogLine("Load weight begin", 1796174864210982, "python3", 50, "aa", False)
    assert lines[1] == LogLine("Started it.", 1, "systemd", 1, "aa", True)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"one\ntwo\n  three", ["one", "two", "  three"]),
        (b"\rLoading:  12% | 1/8", ["Loading:  12% | 1/8"]),
        (b"a=b=c", ["a=b=c"]),
        (b"\x1b[31mred\x1b[0m", ["\x1b[31mred\x1b[0m"]),
        (b"caf\xe9", ["caf\ufffd"]),
        (b"", [""]),
        (b"x" * 100_000, ["x" * (16 * 1024)]),
    ],
)
def test_messages(message: bytes, expected: list[str]) -> None:
    assert texts(parse_export(entry(message))) == expected


def test_output_that_was_cut_off_keeps_what_came_whole() -> None:
    data = entry(b"first") + entry(b"second\nline")
    for length in range(len(entry(b"first")), len(data)):
        assert texts(parse_export(data[:length]))[0] == "first"


def test_only_the_last_invocations_are_kept_with_the_warnings_before_them() -> None:
    data = b"".join(
        [
            entry(b"old", b"11"),
            about(b"x.service:14: Invalid environment assignment, ignoring: A", None),
            about(b"Started.", b"22"),
            entry(b"second", b"22"),
            entry(b"third", b"33"),
            entry(b"second is still dying", b"22"),
            entry(b"fourth", b"44"),
        ]
    )
    kept = texts(last_invocations(parse_export(data)))
    assert kept[0].startswith("x.service:14") and kept[1:] == [
        "Started.",
        "second",
        "third",
        "second is still dying",
        "fourth",
    ]
    assert texts(last_invocations(parse_export(data), 1)) == ["fourth"]
    assert last_invocations(()) == ()


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        (Result(0, entry(b"x")), None),
        (Result(0, b"", b"-- No entries --\n"), None),
        (Result(0, b"", b"No journal files were found.\n"), "keeps no journal"),
        (
            Result(0, b"", b"No journal files were opened due to insufficient permissions.\n"),
            "may not read all of the journal: add the user to the group systemd-journal",
        ),
        (
            Result(0, entry(b"x"), b"Hint: You are currently not seeing messages from other users and the system.\n"),
            "may not read all",
        ),
        (Result(None, why="no answer within 5 s"), "journalctl: no answer within 5 s"),
    ],
)
def test_why_lines_are_missing(answer: Result, fact: str | None) -> None:
    _, missing = read_journal(Answers({}), answer)
    assert (missing is None) if fact is None else (missing is not None and fact in missing.why)


def test_a_start_that_logged_more_than_was_asked_for_is_read_from_its_beginning() -> None:
    tail = b"".join(entry(b"line %d" % number, cursor=b"s=%d" % number) for number in range(LINES))
    runner = Answers({})
    assert len(read_journal(runner, Result(0, tail))[0]) == LINES
    asked = runner.asked[0]
    assert asked[-5:] == ("--reverse", "--cursor=s=0", "_SYSTEMD_INVOCATION_ID=aa", "+", "INVOCATION_ID=aa")
    # The entry of the cursor itself comes again.
    earlier = (entry(b"line 0", cursor=b"s=0"), entry(b"the real\ncause", cursor=b"s=y"), about(b"Started."))
    lines, _ = read_journal(Answers({asked: Result(0, b"".join(earlier))}), Result(0, tail))
    assert texts(lines)[:5] == ["Started.", "the real", "cause", "line 0", "line 1"] and len(lines) == LINES + 3


def test_what_is_asked() -> None:
    runner = Answers({})
    start_journal(runner, "a.service")
    start_journal(runner, "a.service", user=True)
    assert runner.asked[0][-2:] == ("--unit", "a.service") and runner.asked[1][-2:] == ("--user-unit", "a.service")


def test_secrets_are_removed_from_messages_of_every_form() -> None:
    data = entry(b"token=hf_x") + entry(b"two\nlines with hf_x") + about(b"hf_x")
    clean = rewritten(data, lambda message: message.replace(b"hf_x", b"[removed]"))
    assert b"hf_x" not in clean
    assert texts(parse_export(clean)) == ["token=[removed]", "two", "lines with [removed]", "[removed]"]
    assert rewritten(data, lambda message: message) == data
