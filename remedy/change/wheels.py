"""A toolkit laid out from PyPI wheels under remedy's own prefix, as nvcc, FlashInfer and torch expect one.

The wheels lack lib64, the unversioned libraries that ``-lcudart`` asks for, and the stub of the driver's library.
pip runs as nobody; nothing out of a wheel is executed here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from remedy.change import network
from remedy.change.files import sync_folder, write_new
from remedy.change.interrupts import Interrupts
from remedy.change.types import ToolkitBefore
from remedy.errors import Refused, RemedyError
from remedy.facts.accounts import Account, account_of
from remedy.facts.files import Files
from remedy.facts.run import PATH, Programs, run
from remedy.plan.types import BuildToolkit

Report = Callable[[str, float | None], None]
_TIMEOUT = 3600.0
#: Where a wheel keeps its part of a toolkit: nvidia/cu13/ since CUDA 13, nvidia/<component>/ before.
_INSIDE = re.compile(r"^nvidia/[^/]+/((?:bin|include|lib|nvvm|libdevice)/.+)$")
_LIBRARY = re.compile(r"^(lib[\w+-]+\.so)\.[\d.]+$")
_FUNCTION = re.compile(r"\b(cu[A-Z]\w+)\s*\(")


def look(step: BuildToolkit) -> ToolkitBefore:
    """Refused where pip or gcc is missing, or the folder's place is taken by something half made."""
    if not _complete(step.root):
        _pip(_nobody())
        if not shutil.which("gcc", path=PATH):
            raise Refused("gcc is needed for the stub of libcuda.so", hint="apt-get install gcc")
    return ToolkitBefore(step.root, os.path.lexists(step.root))


def _complete(root: str) -> bool:
    return os.access(os.path.join(root, "bin/nvcc"), os.X_OK)


def build(step: BuildToolkit, before: ToolkitBefore, log: Path, report: Report, interrupts: Interrupts | None) -> None:
    """Fetch the wheels, lay the toolkit out beside its place, and rename it there. Raises Refused where they can't be
    fetched, else RemedyError."""
    if _complete(step.root):
        return
    if before.existed:
        raise Refused(
            f"{step.root} exists and holds no nvcc",
            hint=f"move it away: {shlex.join(['mv', step.root, step.root + '.old'])}",
        )
    root = Path(step.root)
    partial = _partial(root)
    shutil.rmtree(partial, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    for folder in (root.parent, root.parent.parent):
        # The service's user must be able to pass through, though not to list.
        folder.chmod(folder.stat().st_mode & 0o777 | 0o011)
    partial.mkdir(mode=0o755)
    wheels = _download(step, log, report)
    for number, wheel in enumerate(wheels, 1):
        if interrupts:
            interrupts.check()
        report(f"unpacking {wheel.name}", 100.0 * number / len(wheels))
        _unpack(wheel, partial)
    _finish(partial)
    shutil.rmtree(_wheels_folder(root))
    os.sync()
    os.rename(partial, root)
    sync_folder(root.parent)


def remove(before: ToolkitBefore) -> tuple[str, ...]:
    """Delete the toolkit where this change made it."""
    root = Path(before.root)
    for path in (_partial(root), _wheels_folder(root), *(() if before.existed else (root,))):
        shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            return (f"{path} could not be deleted: rm -r {shlex.quote(str(path))}",)
    if root.parent.is_dir():
        sync_folder(root.parent)
    return ()


def _partial(root: Path) -> Path:
    return root.with_name(f".{root.name}.partial")


def _nobody() -> Account:
    found = account_of(Files(), "nobody")
    return found or Account("nobody", 65534, 65534, "/nonexistent", (65534,))


def _pip(user: Account) -> list[str]:
    for python in (sys.executable, "/usr/bin/python3"):
        if python and run(Programs(), [python, "-m", "pip", "--version"], timeout=60, user=user).ok:
            return [python, "-m", "pip"]
    raise Refused("pip is needed to fetch NVIDIA's wheels", hint="apt-get install python3-pip")


def _wheels_folder(root: Path) -> Path:
    return root.with_name(f".{root.name}.wheels")


def _download(step: BuildToolkit, log: Path, report: Report) -> list[Path]:
    user, folder = _nobody(), _wheels_folder(Path(step.root))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    settings = network.settings(os.environ)
    settings |= network.give_configuration(settings, folder, user.uid)
    os.chown(folder, user.uid, user.gid)
    report(f"fetching {len(step.requirements)} wheels", None)
    arguments = ["download", "-q", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", str(folder)]
    env = {**settings, "HOME": str(folder), "TMPDIR": str(folder)}
    result = run(Programs(), [*_pip(user), *arguments, *step.requirements], timeout=_TIMEOUT, user=user, env=env)
    log.unlink(missing_ok=True)
    write_new(log, result.stdout + result.stderr)
    # From here on nobody can no longer exchange what is read.
    os.chown(folder, 0, 0)
    if not result.ok:
        raise Refused(f"pip could not fetch the wheels: {result.why}", hint=f"its output is in {log}")
    return sorted(path for path in folder.glob("*.whl") if path.is_file() and not path.is_symlink())


def _unpack(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            inside = _INSIDE.match(member.filename)
            if not inside or member.is_dir() or ".." in PurePosixPath(inside[1]).parts:
                continue
            path = target / inside[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(path, "wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
            path.chmod(0o755 if member.external_attr >> 16 & 0o111 or "bin" in path.parent.parts[-1:] else 0o644)


def _finish(root: Path) -> None:
    """What the wheels lack: lib64, unversioned libraries, the driver's stub."""
    library = root / "lib"
    library.mkdir(exist_ok=True)
    (root / "lib64").symlink_to("lib")
    for path in sorted(library.iterdir()):
        plain = _LIBRARY.match(path.name)
        if plain and not (library / plain[1]).exists():
            (library / plain[1]).symlink_to(path.name)
    stubs = library / "stubs"
    stubs.mkdir(exist_ok=True)
    header = root / "include" / "cuda.h"
    names = sorted(set(_FUNCTION.findall(header.read_text(errors="replace")))) if header.exists() else []
    source = "".join(f"int {name}(void) {{ return 34; }}\n" for name in names)  # CUDA_ERROR_STUB_LIBRARY
    argv = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-Wl,-soname,libcuda.so.1", "-o", str(stubs / "libcuda.so")]
    env = {"PATH": PATH, "LC_ALL": "C"}
    done = subprocess.run(argv, input=source.encode(), env=env, capture_output=True, timeout=120)
    if done.returncode != 0:
        raise RemedyError(f"gcc could not make the stub of libcuda.so: {done.stderr.decode(errors='replace')[:400]}")
