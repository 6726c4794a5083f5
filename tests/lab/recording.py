"""The story as it is typed in a terminal on a machine, kept as an asciicast, and what its screen shows at the end."""

from __future__ import annotations

import json
import re

import pyte

from tests.lab.machine import Machine
from tests.lab.terminal import Terminal

COLUMNS = 88
UNIT = "sglang-k26"
#: A character, and whether it is bold.
Cell = tuple[str, bool]
#: Above this height nothing scrolls away, so that the screen holds all of a session.
_TALL = 500
_FAILED = f"apt-get -qq update; systemctl start {UNIT}; while systemctl is-active -q {UNIT}; do sleep 0.2; done"
#: What is new each time: clock times, dates, transaction ids, durations.
_PASSING = re.compile(r"\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d|\d{8}T\d{6}Z|\b[\d.]+\s+(?:min\s+\d+\s+s|min|s)\b")


def play(machine: Machine) -> str:
    """Let the story's service fail, mend it as a person at a terminal would, and return the asciicast (version 2)."""
    machine.exec(_FAILED, check=False)
    with Terminal(machine, COLUMNS) as terminal:
        terminal.type(f"journalctl -u {UNIT} -o cat -g Error: | tail -n 1")
        terminal.type(f"remedy fix {UNIT}", until="[y/N] ")
        terminal.type("y", timeout=600)
    head = {"version": 2, "width": terminal.columns, "height": terminal.rows, "title": f"remedy fix {UNIT}"}
    return "".join(json.dumps(line) + "\n" for line in (head, *([at, "o", text] for at, text in terminal.seen)))


def screen(cast: str) -> list[list[Cell]]:
    """The lines that a terminal shows after an asciicast, but the prompt that waits at the end."""
    head, *events = map(json.loads, cast.splitlines())
    shown = pyte.Screen(head["width"], _TALL)
    pyte.Stream(shown).feed("".join(text for _, _, text in events))
    cells = (shown.buffer[row] for row in range(shown.cursor.y))
    return [[(line[x].data, line[x].bold) for x in range(shown.columns)] for line in cells]


def text_of(line: list[Cell]) -> str:
    """A line of the screen without the blanks at its end."""
    return "".join(character for character, _ in line).rstrip()


def lasting(cast: str) -> list[str]:
    """The words of the screen, but what differs from one run to the next."""
    return _PASSING.sub("…", "\n".join(map(text_of, screen(cast)))).split()
