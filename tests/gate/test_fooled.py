"""Starts that look other than they are, watched on a booted machine."""

from __future__ import annotations

import shlex

import pytest

from tests.gate.test_watch import LATE, PORT, READY, expect, served, stub, watch
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine


def python(code: str) -> str:
    return f"ExecStart=/usr/bin/python3 -uc {shlex.quote(code)}"


DAEMON = stub("serve", PORT, 200, 200, "stay").removeprefix("ExecStart=")
#: Lines of the unit, what is expected, the verdict, and words of its reason.
FOOLS = {
    "ready, and dead soon after": (
        [stub("say", READY, "wait", 1, "exit", 1)],
        expect(settle=1.5),
        ("failed", "status 1"),
    ),
    "another port": (
        [stub("serve", PORT + 5, 200, 200, "say", READY, "stay")],
        served(timeout=1.5),
        ("undecided", f"listens on port {PORT + 5} instead"),
    ),
    "a good post, and then a bad one": (
        [stub("serve", PORT, 200, 200, "say", READY, "stay"), "ExecStartPost=sleep 1", "ExecStartPost=false"],
        served(),
        ("failed", "exit-code"),
    ),
    "a daemon serves in its place, as a container's does": (
        [
            f"ExecStartPre=systemd-run -q --unit=fooled-daemon {DAEMON}",
            "ExecStopPost=systemctl stop fooled-daemon",
            stub("stay"),
        ],
        served(ready=[], elsewhere=True),
        ("healthy", "a token was generated"),
    ),
    "nothing is left of it": (
        ["RemainAfterExit=yes", stub("say", "x", "wait", 0.2, "exit", 0)],
        expect(),
        ("failed", "have all ended"),
    ),
    "the first process ends, and the rest with it": (
        ['ExecStart=/bin/sh -c "sleep 60 & exit 0"'],
        expect(),
        ("failed", "ended by itself"),
    ),
    "the first process ends, and the rest stays": (
        ["ExitType=cgroup", 'ExecStart=/bin/sh -c "(sleep 0.3; echo ready to roll; sleep 60) & exit 0"'],
        expect(),
        ("healthy", "ready line"),
    ),
    "ready at the end of a progress bar": (
        [python(f"import time; print(chr(13).join(['x' * 99] * 400) + '{READY}'); time.sleep(60)")],
        expect(),
        ("healthy", "ready line"),
    ),
    "ready behind all kinds of bytes": (
        [python(f"import os, time; os.write(1, bytes(256) + b'{READY}' + bytes([255, 10])); time.sleep(60)")],
        expect(),
        ("healthy", "ready line"),
    ),
}


@pytest.mark.parametrize("kind", FOOLS)
def test_who_is_fooled(machine: Machine, kind: str) -> None:
    lines, wanted, (state, words) = FOOLS[kind]
    said = watch(machine, *lines, expect=wanted)
    assert said["state"] == state and words in said["reason"], said
    assert state != "failed" or said["late"] < LATE, said
