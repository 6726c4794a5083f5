from __future__ import annotations

import pytest

from remedy.facts.packages import STATUS, condense_status, installed_packages, parse_status
from tests.memory import MemoryView

STATUS_TEXT = b"""\
Package: adduser
Status: install ok installed
Version: 3.134

Package: cuda-nvcc-12-8
Status: install ok installed
Priority: optional
Architecture: amd64
Version: 12.8.93-1
Depends: build-essential
Description: CUDA nvcc
 Status: install ok half-installed

Package: cuda-nvcc-13-0
Status: install ok half-configured
Version: 13.0.88-1

Package: libcurand-dev-12-8
Status: deinstall ok config-files
Version: 10.3.9.90-1

Package: libc6
Status: hold ok installed
Architecture: amd64
Version: 2.36-9+deb12u14

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36-9+deb12u10

Package: g++-12
Status: install ok installed
Version: 12.2.0-14"""
EXPECTED = {"cuda-nvcc-12-8": "12.8.93-1", "libc6": "2.36-9+deb12u14", "g++-12": "12.2.0-14"}


def test_installed_packages() -> None:
    assert installed_packages(MemoryView({STATUS: STATUS_TEXT})) == EXPECTED


def test_a_machine_without_dpkg() -> None:
    with pytest.raises(FileNotFoundError):
        installed_packages(MemoryView())


def test_what_a_snapshot_keeps_says_the_same() -> None:
    short = condense_status(STATUS_TEXT)
    assert parse_status(short) == EXPECTED
    assert condense_status(short) == short and b"adduser" not in short


@pytest.mark.parametrize("data", [b"", b"\n\n\n", b"Package: gcc", b"Package: gcc\nVersion: 1\n", b"\xff\xfe\x00"])
def test_odd_status_files(data: bytes) -> None:
    assert parse_status(data) == {}
