from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from remedy.facts.elf import needed
from remedy.facts.files import Files
from tests.memory import MemoryView


def test_what_the_c_library_s_own_tools_say() -> None:
    """Against a real program: the dynamic linker's own list of a real binary."""
    program = os.path.realpath("/bin/ls")
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = needed(Files(), program)
    assert "libc.so.6" in found
    assert found <= {line.split()[0] for line in listed.splitlines()}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF",
        b"\x7fELF\x02\x01" + bytes(58),
        b"\x7fELF\x02\x01" + b"\xff" * 4090,
        b"\x7fELF\x01\x01" + bytes(200),
        b"#!/bin/sh\n" * 100,
    ],
)
def test_what_is_no_such_file_needs_nothing(data: bytes) -> None:
    assert needed(MemoryView({"/x.so": data}), "/x.so") == frozenset()


def test_every_truncation_of_a_real_library_is_survived() -> None:
    image = Path(os.path.realpath("/bin/true")).read_bytes()
    whole = needed(MemoryView({"/x": image}), "/x")
    assert whole == {"libc.so.6"}
    for length in range(0, len(image), 997):
        assert all(len(name) <= 256 for name in needed(MemoryView({"/x": image[:length]}), "/x"))
