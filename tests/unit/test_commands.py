"""ExecStart= lines."""

from __future__ import annotations

import pytest

from remedy.unit.commands import parse
from remedy.unit.specifiers import Subject
from remedy.unit.types import Manager
from tests.memory import MemoryView


def subject(version: int = 252) -> Subject:
    return Subject("u@i.service", "/etc/systemd/system/u@.service", Manager(version), MemoryView())


@pytest.mark.parametrize(
    ("text", "argv", "prefixes"),
    [
        ("/bin/a b", ["/bin/a", "b"], ""),
        ("python3 -m x", ["python3", "-m", "x"], ""),
        ("@/bin/a zero b", ["zero", "b"], "@"),
        ("-:@/bin/a zero", ["zero"], "-:@"),
        ("!!/bin/a", ["/bin/a"], "!!"),
        ("+-/bin/a", ["/bin/a"], "+-"),
        ("/usr//bin/../bin/env", ["/usr//bin/../bin/env"], ""),
        ('"/opt/my venv/bin/python" x', ["/opt/my venv/bin/python", "x"], ""),
        (r"/bin/e\x6ev %i \; '%%' ${A}", ["/bin/env", "i", ";", "%", "${A}"], ""),
        (r"/bin/a \q", ["/bin/a", r"\q"], ""),
        ("%h/run", ["/root/run"], ""),
        ("/bin/a a;b ';'", ["/bin/a", "a;b", ";"], ""),
    ],
)
def test_one_command(text: str, argv: list[str], prefixes: str) -> None:
    line = parse(text, subject())
    assert [(list(one.argv), one.prefixes) for one in line.commands] == [(argv, prefixes)]
    assert line.fatal is None


def test_several_commands_know_where_they_begin() -> None:
    line = parse("; /bin/a x ;  -/bin/b ; ; /bin/c", subject())
    assert [(one.path, one.offset) for one in line.commands] == [("/bin/a", 2), ("/bin/b", 14), ("/bin/c", 26)]


def test_the_path_is_simplified_but_argv_is_not() -> None:
    (command,) = parse("/usr//bin/./env", subject()).commands
    assert (command.path, command.argv) == ("/usr/bin/env", ("/usr//bin/./env",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/", "directory"),
        ("/bin/", "directory"),
        ("@/bin/a", "argv"),
        ("+", "empty"),
        ("a/b", "neither"),
        ("..", "neither"),
        ("/bin/a%k", "specifier"),
        ("/bin/a %k", "specifier"),
        ("/bin/a 'x", "never closes"),
        (r"/bin/a\"", "quotes"),
        ("=/bin/a", "neither"),
        ("|/bin/a", "neither"),
    ],
)
def test_a_bad_line_is_fatal_unless_its_failure_is_ignored(text: str, says: str) -> None:
    assert says in (parse(text, subject()).fatal or "")
    ignored = parse(f"-{text}", subject())
    assert ignored.fatal is None and not ignored.commands


def test_commands_before_a_bad_one_stay() -> None:
    line = parse("/bin/a ; /bin/ ; /bin/c", subject())
    assert [one.path for one in line.commands] == ["/bin/a"] and line.fatal


@pytest.mark.parametrize("text", ["'unclosed", '"a b', "'x /bin/a"])
def test_a_first_word_that_cannot_be_read_is_passed_over(text: str) -> None:
    line = parse(text, subject())
    assert not line.commands and line.fatal is None and line.ignored


def test_rules_of_versions() -> None:
    assert parse("/bin/.", subject(252)).fatal is None
    assert "directory" in (parse("/bin/.", subject(257)).fatal or "")
    assert parse("|/bin/a", subject(258)).commands[0].prefixes == "|"
    long = "/" + "a" * 300
    assert parse(long, subject(247)).fatal is None
    assert "neither" in (parse(long, subject(252)).fatal or "")
