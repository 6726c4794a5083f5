"""The operating system: os-release(5), the C library, the kernel, the processor, systemd's version."""

from __future__ import annotations

from remedy.facts.names import data_of, head_of, text_of
from remedy.facts.types import Host, Version, numbers
from remedy.pattern import pattern
from remedy.unit import envfile
from remedy.unit.manager import OLDEST, version_in
from remedy.view import View

#: Where the C library lies: Debian's multiarch folders, then Fedora's and the merged ones.
LIB_FOLDERS = (
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
)
#: e_machine of elf(5).
_MACHINES = {0x3E: "x86_64", 0xB7: "aarch64", 0x15: "ppc64le", 0xF3: "riscv64"}
_BANNER = pattern(rb"GNU C Library [^\n]{0,80} version (\d+)\.(\d+)")
_NAMED = pattern(r"libc-(\d+)\.(\d+)\.so$")


def read_host(view: View, libc_package: str | None = None) -> Host:
    """Everything that the operating system's own files say; what they don't say stays empty.

    ``libc_package`` is the version of the libc6 package where dpkg names one: it spares reading the library.
    """
    release = os_release(view)
    libc = _libc(view)
    return Host(
        os_id=release.get("ID", ""),
        os_version=release.get("VERSION_ID", ""),
        os_name=release.get("PRETTY_NAME", ""),
        glibc=numbers(libc_package or "")[:2] or (glibc_version(view, libc) if libc else None),
        architecture=architecture(view),
        systemd=version_in(view),
    )


def os_release(view: View) -> dict[str, str]:
    """The assignments of os-release(5), from /etc or else /usr/lib; its quoting is that of environment files."""
    text = text_of(view, "/etc/os-release") or text_of(view, "/usr/lib/os-release")
    return {assignment.name: assignment.value for assignment in envfile.parse(text, OLDEST)}


def glibc_version(view: View, path: str) -> Version | None:
    """The version of a C library: of its real file name up to glibc 2.33, else of the banner in its bytes."""
    found = _NAMED.search(view.realpath(path)) or _BANNER.search(data_of(view, path))
    return (int(found[1]), int(found[2])) if found else None


def architecture(view: View) -> str:
    """The processor that the C library is built for, as uname(2) calls it; empty where that is not known."""
    libc = _libc(view)
    return _MACHINES.get(int.from_bytes(head_of(view, libc, 20)[18:20], "little"), "") if libc else ""


def condense_libc(image: bytes) -> bytes:
    """As much of a C library's bytes as ``glibc_version`` looks at."""
    banner = _BANNER.search(image)
    return banner[0] if banner else b""


def _libc(view: View) -> str | None:
    return next((path for path in (f"{folder}/libc.so.6" for folder in LIB_FOLDERS) if view.stat(path)), None)
