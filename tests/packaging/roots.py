"""Roots to build and to install packages in: Debian with the build tools, and no remedy.

Everything that pip and apt will want is fetched when the root is built, so that the tests themselves need no network.
"""

from __future__ import annotations

from pathlib import Path

from tests.lab import host, recipe
from tests.lab.layers import Layer, Root
from tests.lab.layers import build as build_layers
from tests.lab.steps.remedy import runtime_dependencies

WHEELS = "/srv/wheels"
#: pip takes wheels from the folder, and asks nobody.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": WHEELS, "PIP_NO_CACHE_DIR": "1"}
BUILD = ("debhelper", "python3-packaging", "lintian", "pipx", "man-db")
#: What the package may depend on, to be installed by apt with the package.
RUN = ("python3-systemd", "python3-debian", "python3-packaging", "python3-rich", "python3-psutil", "python3-lxml")
RUN_TOO = ("python3-shellingham", "python3-pystemd", "python3-typer", "python3-typing-extensions")
HATCHLING = "hatchling==1.27.0"
#: pipx brings its shared pip up to this.
PIP = "pip==25.3"


def packaging_root(suite: str = "bookworm") -> Root:
    """Build what is missing of the root, and return it."""
    host.check_rights()
    host.install_tools()
    base = recipe.layers(suite)[0]
    pins = (*BUILD, *RUN, *RUN_TOO, HATCHLING, PIP, *runtime_dependencies())
    tools = Layer("packaging", _tools, (Path(__file__),), pins=pins)
    return build_layers(suite, (base, tools), print)


def _tools(root: Path) -> None:
    with host.chroot(root):
        install = ("apt-get", "-q", "-y", "--no-install-recommends", "install")
        host.run_in(root, "apt-get", "-q", "update")
        host.run_in(root, *install, *BUILD)
        host.run_in(root, *install, "--download-only", *RUN, *RUN_TOO)
        host.run_in(root, "python3", "-m", "venv", "/opt/fetch")
        pip = ("/opt/fetch/bin/python", "-m", "pip", "wheel", "-q", "--use-pep517", "--wheel-dir", WHEELS)
        host.run_in(root, *pip, HATCHLING, PIP, *runtime_dependencies())
        host.run_in(root, "rm", "-rf", "/opt/fetch")
    (root / "srv/remedy").mkdir()
    (root / "var/cache/remedy-pyc").mkdir(mode=0o777)
    (root / "var/log/journal").mkdir(exist_ok=True)
