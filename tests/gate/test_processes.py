"""What /proc tells of this very process."""

from __future__ import annotations

import os
import socket
import time

from remedy.gate.processes import listens, members, moved, worked


def test_who_listens() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert listens(port, [os.getpid()]) is True
        assert listens(port, [os.getppid()]) is not True
        assert listens(port, []) is None
    assert listens(port, [os.getpid()]) is False


def test_what_was_worked() -> None:
    before = worked([os.getpid()])
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    assert worked([os.getpid()]) > before
    assert worked([2**22 + 1]) == 0


def test_what_was_moved() -> None:
    before = moved([os.getpid()])
    with open(__file__, "rb") as file:
        size = len(file.read())
    assert moved([os.getpid()]) >= before + size
    assert moved([2**22 + 1]) == 0


def test_a_group_that_is_not_there() -> None:
    assert members("/no/such.slice") == () and members("") == ()
