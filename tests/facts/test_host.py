from __future__ import annotations

import pytest

from remedy.facts.host import condense_libc, read_host
from tests.memory import MemoryView

BANNER = b"GNU C Library (Debian GLIBC 2.41-12) stable release version 2.41.\nCopyright"
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00" + bytes(100)
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


def test_a_debian_host() -> None:
    view = MemoryView(
        {
            "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n# x\n\n',
            LIBC: ELF + BANNER,
            "/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-257.so": "",
        }
    )
    host = read_host(view)
    assert (host.os_id, host.os_version, host.os_name) == ("debian", "13", "Debian GNU/Linux 13 (trixie)")
    assert (host.glibc, host.architecture, host.systemd) == ((2, 41), "x86_64", 257)


@pytest.mark.parametrize(
    ("files", "links", "package", "glibc"),
    [
        ({LIBC: ELF + BANNER}, {}, "2.36-9+deb12u14", (2, 36)),
        ({LIBC: ELF + BANNER}, {}, None, (2, 41)),
        ({"/lib/x86_64-linux-gnu/libc-2.31.so": ELF}, {LIBC: "libc-2.31.so"}, None, (2, 31)),
        ({LIBC: ELF}, {}, None, None),
        ({}, {}, None, None),
    ],
)
def test_glibc(
    files: dict[str, bytes], links: dict[str, str], package: str | None, glibc: tuple[int, int] | None
) -> None:
    assert read_host(MemoryView(files, links), package).glibc == glibc


def test_what_a_snapshot_keeps_of_the_library_is_enough() -> None:
    short = condense_libc(ELF + BANNER)
    assert len(short) < 100
    assert read_host(MemoryView({LIBC: short})).glibc == (2, 41)


def test_a_tree_with_nothing_in_it() -> None:
    host = read_host(MemoryView())
    assert (host.os_id, host.glibc, host.architecture, host.systemd) == ("", None, "", None)
