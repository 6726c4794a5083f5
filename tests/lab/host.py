"""What the lab takes from the machine that it is built on: tools, and where packages come from.

Nothing here names a package host: the Debian mirror and pip's index are those that the machine is set up for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

#: Debian packages that hold the tools the lab is built with: command -> package.
TOOLS: Mapping[str, str] = {
    "systemd-nspawn": "systemd-container",
    "debootstrap": "debootstrap",
    "dpkg-deb": "dpkg",
    "dpkg-scanpackages": "dpkg-dev",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
}
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
#: pip's configuration files, system-wide and root's.
PIP_FILES = (Path("/etc/pip.conf"), Path("/etc/xdg/pip"), Path("/root/.config/pip"))
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def check_rights() -> None:
    """Raise PermissionError unless we are root: a root file system and mounts need it."""
    if os.geteuid() != 0:
        raise PermissionError("the lab boots a real systemd and mounts file systems: run it as root (sudo)")


def install_tools() -> None:
    """Install the host packages that are missing, through apt-get."""
    missing = sorted({package for command, package in TOOLS.items() if shutil.which(command) is None})
    if not KEYRING.exists():
        missing.append("debian-archive-keyring")
    if not missing:
        return
    silent = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing]
    if subprocess.run(install, env=silent, capture_output=True).returncode != 0:
        run("apt-get", "update", "-q", env=silent)
        run(*install, env=silent)


def debian_mirror(etc: Path = Path("/etc/apt")) -> str | None:
    """The Debian mirror of the machine's own apt sources; None where it has none (an Ubuntu machine)."""
    found: list[str] = []
    for file in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if file.suffix in {".list", ".sources"} and file.is_file():
            found += _uris(file.read_text(errors="replace"))
    return next((uri for uri in found if uri.rstrip("/").endswith("/debian")), None)


def _uris(text: str) -> Iterator[str]:
    """The addresses in one apt source file, of the one-line or of the deb822 form (sources.list(5))."""
    for line in text.splitlines():
        one_line = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s", line)
        deb822 = re.match(r"URIs:\s*(.*)", line, re.IGNORECASE)
        if one_line:
            yield one_line[1]
        elif deb822:
            yield from deb822[1].split()


def apt_settings(etc: Path = Path("/etc/apt")) -> str:
    """The machine's own Acquire:: settings (proxies and the like), as text for one apt.conf file."""
    kept: list[str] = []
    for file in [etc / "apt.conf", *sorted((etc / "apt.conf.d").glob("*"))]:
        if file.is_file():
            lines = file.read_text(errors="replace").splitlines()
            kept += [line for line in lines if re.match(r"\s*Acquire::[\w:]+\s+\S.*;", line)]
    return "".join(line + "\n" for line in kept)


def copy_settings(root: Path) -> None:
    """Copy what apt and pip need on this machine into `root`: apt's settings, pip's files, certificates."""
    settings = apt_settings()
    if settings:
        (root / "etc/apt/apt.conf.d/90lab-host").write_text(settings)
    for source in PIP_FILES:
        target = root / source.relative_to("/")
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    if CERTIFICATES.exists():
        target = root / CERTIFICATES.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CERTIFICATES, target)
    for name in ("etc/resolv.conf", "etc/hosts"):
        shutil.copyfile(Path("/") / name, root / name)


def pip_environment() -> dict[str, str]:
    """pip's own variables, and those that point its client at certificates and proxies."""
    wanted = re.compile(r"PIP_\w+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|(https?|no|all)_proxy", re.IGNORECASE)
    return {name: value for name, value in os.environ.items() if wanted.fullmatch(name)}


def package_folders() -> list[Path]:
    """Local folders of packages that pip's configuration names: inside the root they must be there too."""
    text = " ".join(pip_environment().values())
    for source in PIP_FILES:
        files = [source] if source.is_file() else sorted(source.glob("*")) if source.is_dir() else []
        text += "".join("\n" + file.read_text(errors="replace") for file in files)
    named = {Path(path) for path in re.findall(r"(?:^|[\s=]|file://)(/[\w./+-]+)", text)}
    # An index refers to its files by relative links, which lead out of its "simple" folder.
    whole = {path.parent if path.name == "simple" else path for path in named}
    return sorted(path for path in whole if path.is_dir() and not path.is_relative_to("/etc"))


@contextmanager
def chroot(root: Path) -> Iterator[None]:
    """Mount in `root` what a chroot needs for pip and apt: proc, devices, local package folders."""
    mounts = [["-t", "proc", "proc", str(root / "proc")], ["--bind", "/dev", str(root / "dev")]]
    for folder in package_folders():
        inside = root / folder.relative_to("/")
        inside.mkdir(parents=True, exist_ok=True)
        mounts.append(["--bind", "-o", "ro", str(folder), str(inside)])
    done: list[str] = []
    try:
        for mount in mounts:
            subprocess.run(["mount", *mount], check=True)
            done.append(mount[-1])
        yield
    finally:
        for mounted in reversed(done):
            subprocess.run(["umount", "-l", mounted], check=True)


def run(*argv: str, env: Mapping[str, str] | None = None) -> None:
    """Run a command; raise RuntimeError with the end of its output where it fails."""
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}\nfailed with status {done.returncode}:\n{done.stdout[-4000:]}")


def run_in(root: Path, *argv: str, **variables: str) -> None:
    """Run a command in `root`, with pip's settings and nothing else of the caller's environment."""
    silent = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root", "PIP_NO_CACHE_DIR": "1"}
    path = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    run("chroot", str(root), *argv, env={**pip_environment(), **silent, **path, **variables})


@contextmanager
def installer(root: Path) -> Iterator[tuple[str, ...]]:
    """A pip of the root's own Python, for as long as a layer needs it: yields its argv."""
    with chroot(root):
        run_in(root, "python3", "-m", "venv", "/opt/installer")
        yield ("/opt/installer/bin/python", "-m", "pip")
        shutil.rmtree(root / "opt/installer")


def site_packages(root: Path, venv: Path) -> Path:
    """The site-packages folder of a virtual environment in `root`."""
    (found,) = (root / venv / "lib").glob("python3.*/site-packages")
    return found
