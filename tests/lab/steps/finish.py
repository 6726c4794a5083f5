"""What changes often: the device queries, the server program, the units, the machine's settings."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab import host
from tests.lab.steps.service import SERVICE_VENV, USER_VENV

LAB = Path(__file__).resolve().parent.parent
UNITS = LAB.parent.parent / "units"
USER = ("llm", "1001", "/var/lib/llm")


def build(root: Path) -> None:
    """The parts that change often: the device queries, the server program, the units, the machine's settings."""
    name, number, home = USER
    if SERVICE_VENV.parts and (root / SERVICE_VENV).is_dir():
        host.run_in(root, "useradd", "--system", "-u", number, "-U", "-d", home, "-m", "-s", "/usr/sbin/nologin", name)
        for venv in (SERVICE_VENV, USER_VENV):
            for hook in ("lab_gpus.py", "lab_gpus.pth"):
                shutil.copyfile(LAB / "hooks" / hook, host.site_packages(root, venv) / hook)
        for program in ("opt/sglang/launch_server.py", "opt/vllm/api_server.py"):
            (root / program).parent.mkdir()
            shutil.copyfile(LAB / "server.py", root / program)
        shutil.copy(LAB / "hooks/nvidia-smi", root / "usr/bin/nvidia-smi")
        for unit in UNITS.glob("*.service"):
            shutil.copyfile(unit, root / "etc/systemd/system" / unit.name)
        for settings in UNITS.glob("*.default"):
            shutil.copyfile(settings, root / "etc/default" / settings.stem)
            (root / "etc/default" / settings.stem).chmod(0o640)
    # A journal that outlives a power cut, and no timer that takes apt's lock in the middle of a test.
    (root / "var/log/journal").mkdir(exist_ok=True)
    timers = ("apt-daily", "apt-daily-upgrade", "dpkg-db-backup", "e2scrub_all", "fstrim")
    for timer in timers:
        link = root / f"etc/systemd/system/{timer}.timer"
        link.symlink_to("/dev/null")
