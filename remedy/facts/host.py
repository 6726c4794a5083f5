"""The operating system: os-release(5), the C library, the kernel, the processor, systemd's version."""

from __future__ import annotations

import re

from remedy.facts.names import data_of, head_of, listing, text_of
from remedy.facts.types import Host, Version
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
_BANNER = re.compile(rb"GNU C Library [^\n]{0,80} version (\d+)\.(\d+)")
_NAMED = re.compile(r"libc-(\d+)\.(\d+)\.so$")
_SHARED = re.compile(r"libsystemd-shared-(\d+)\b.*\.so$")


def read_host(view: View, libc_package: str | None = None) -> Host:
    """Everything that the operating system's own files say; what they don't say stays empty.

    ``libc_package`` is the version of the libc6 package where dpkg names one: it spares reading the library.
    """
    release = os_release(view)
    libc = next((path for path in (f"{folder}/libc.so.6" for folder in LIB_FOLDERS) if view.stat(path)), None)
    return Host(
        os_id=release.get("ID", ""),
        os_version=release.get("VERSION_ID", ""),
        os_name=release.get("PRETTY_NAME", ""),
        glibc=_package_version(libc_package) or (glibc_version(view, libc) if libc else None),
        kernel=text_of(view, "/proc/sys/kernel/osrelease").strip(),
        architecture=_architecture(view, libc) if libc else "",
        systemd=systemd_version(view),
    )


def os_release(view: View) -> dict[str, str]:
    """The assignments of os-release(5), from /etc or else /usr/lib."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            return parse_os_release(view.read(path).decode(errors="replace"))
        except OSError:
            continue
    return {}


def parse_os_release(text: str) -> dict[str, str]:
    """``NAME=value`` lines with the shell quoting that os-release(5) allows."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            if value[:1] in ('"', "'") and value[-1:] == value[:1] and len(value) > 1:
                value = re.sub(r'\\([$"\'\\`])', r"\1", value[1:-1])
            found[name] = value
    return found


def glibc_version(view: View, path: str) -> Version | None:
    """The version of a C library: of its real file name up to glibc 2.33, else of the banner in its bytes."""
    found = _NAMED.search(view.realpath(path)) or _BANNER.search(data_of(view, path))
    return (int(found[1]), int(found[2])) if found else None


def condense_libc(image: bytes) -> bytes:
    """As much of a C library's bytes as ``glibc_version`` looks at."""
    banner = _BANNER.search(image)
    return banner[0] if banner else b""


def systemd_version(view: View) -> int | None:
    """The version in the name of systemd's private library, which is there wherever systemd is."""
    for folder in ("/usr/lib/systemd", *(f"{path}/systemd" for path in LIB_FOLDERS)):
        for name in listing(view, folder):
            found = _SHARED.match(name)
            if found:
                return int(found[1])
    return None


def _package_version(package: str | None) -> Version | None:
    found = re.match(r"(\d+)\.(\d+)", package or "")
    return (int(found[1]), int(found[2])) if found else None


def _architecture(view: View, program: str) -> str:
    return _MACHINES.get(int.from_bytes(head_of(view, program, 20)[18:20], "little"), "")
