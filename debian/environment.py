"""Lay out /usr/lib/remedy: a virtual environment on Debian's Python that sees Debian's Python packages.

What pyproject.toml asks for is taken from Debian where Debian's version is new enough, as a dependency of the package;
the rest is bundled, and so is what the bundled packages ask for and Debian has too old. Usage: environment.py DESTDIR
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

#: Where Debian's name is not python3- and the project's.
DEBIAN_NAMES = {"systemd-python": "python3-systemd", "python-debian": "python3-debian"}
PREFIX = Path("usr/lib/remedy")
LAUNCHER = """\
#!/usr/lib/remedy/bin/python3 -I
from remedy.__main__ import main

main()
"""
BUILD = Path("build/deb")


def main() -> None:
    destination = Path(sys.argv[1])
    pip = [str(BUILD / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "venv", str(BUILD / "venv")], check=True)
    wheels = BUILD / "wheels"
    subprocess.run([*pip, "wheel", "--quiet", "--use-pep517", "--wheel-dir", str(wheels), "."], check=True)
    held = {canonicalize_name(wheel.name.split("-")[0]): wheel for wheel in wheels.glob("*.whl")}
    bundled, packaged = part(held)
    site = environment(destination / PREFIX)
    files = [str(held[name]) for name in bundled]
    into = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(site)]
    subprocess.run([*pip, *into, *files], check=True)
    # Programs and data of the wheels: the package has its own at their places.
    for name in ("bin", "share"):
        shutil.rmtree(site / name, ignore_errors=True)
    # What only a build, or an uninstallation by pip, would read.
    useless = ("*.dist-info/direct_url.json", "*.dist-info/RECORD", "pystemd/*.c", "pystemd/*.px*", "pystemd/*.pyx")
    for path in {path for pattern in useless for path in site.glob(pattern)}:
        path.unlink()
    launcher = destination / "usr/bin/remedy"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    # Compiled modules, and the folder's name, belong to one version of Python.
    major, minor = sys.version_info[:2]
    needs = [f"python3 (>= {major}.{minor})", f"python3 (<< {major}.{minor + 1})", *packaged]
    substvars = destination.with_name(destination.name + ".substvars")
    with substvars.open("a") as out:
        out.write(f"remedy:Depends={', '.join(needs)}\n")
    print(f"bundled: {', '.join(bundled)}\ndepends: {', '.join(needs)}")


def part(held: dict[str, Path]) -> tuple[list[str], list[str]]:
    """What is bundled, and what the package depends on, from remedy's own requirements on."""
    demands: dict[str, list[Requirement]] = {}
    bundled, waiting = [], ["remedy"]
    packaged: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in bundled:
            continue
        bundled.append(name)
        for need in requirements(held[name]):
            demands.setdefault(canonicalize_name(need.name), []).append(need)
        # All that is asked of a project decides, and more may be asked of one that is Debian's so far.
        good = {one for one, needs in demands.items() if debian_has(one, needs)}
        packaged = {one for one in good if one not in bundled}
        waiting += [one for one in demands if one not in good and one not in bundled and one not in waiting]
    depends = [f"{debian_name(name)} (>= {debian_version(name)})" for name in sorted(packaged)]
    return sorted(bundled), depends


def requirements(wheel: Path) -> list[Requirement]:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    needs = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]
    return [need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def debian_name(name: str) -> str:
    return DEBIAN_NAMES.get(name, f"python3-{name}")


def debian_version(name: str) -> str | None:
    """The upstream part of the version that apt would install; None where apt knows none."""
    said = subprocess.run(["apt-cache", "policy", debian_name(name)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^  Candidate: (?:\d+:)?(\d+(?:\.\d+)*)", said, re.MULTILINE)
    return found[1] if found else None


def debian_has(name: str, needs: list[Requirement]) -> bool:
    version = debian_version(name)
    return version is not None and all(need.specifier.contains(Version(version)) for need in needs)


def environment(prefix: Path) -> Path:
    """An empty virtual environment (Python's library reference, "How venvs work"); returns its site-packages."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    site = prefix / f"lib/python{version}/site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin/python3").symlink_to("../../../bin/python3")
    (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = true\nversion = {version}\n")
    return site


if __name__ == "__main__":
    main()
