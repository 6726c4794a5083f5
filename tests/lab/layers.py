"""Layers of the lab's root: built once, kept under a hash of what made them, stacked with overlayfs.

A layer is the upper folder of an overlay whose lower folders are the layers before it.  Its key is a hash
of the keys below it, of the source of the file that builds it, and of the pins that it names: a change
rebuilds that layer and those above it, and nothing stale is ever booted.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: A layer that no root has used for this long (seconds) is removed by the next build.
KEEP_UNUSED = 24 * 3600.0
#: redirect_dir lets a folder of a lower layer be renamed, as on any ordinary file system.
OVERLAY_OPTIONS = "redirect_dir=on,index=off,metacopy=off"

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of a recipe: `build(root)` changes the mounted root in place."""

    name: str
    build: Callable[[Path], None]
    #: Files whose content decides the result, and the versions that stand elsewhere.
    sources: tuple[Path, ...] = ()
    pins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Root:
    """A finished root: its layers' folders, topmost first, as overlayfs wants them."""

    suite: str
    key: str
    layers: tuple[Path, ...]


def lab_dir() -> Path:
    """Where the lab keeps its layers and machines: $REMEDY_LAB_DIR, else /var/lib/remedy-lab."""
    return Path(os.environ.get("REMEDY_LAB_DIR") or "/var/lib/remedy-lab")


def keys(suite: str, layers: tuple[Layer, ...]) -> tuple[str, ...]:
    """The hash of each layer, the lowest first."""
    below, result = hashlib.sha256(suite.encode()), []
    for layer in layers:
        below.update(layer.name.encode())
        for source in sorted(layer.sources):
            below.update(source.name.encode() + b"\0" + source.read_bytes())
        for pin in layer.pins:
            below.update(b"\0" + pin.encode())
        result.append(below.hexdigest()[:12])
    return tuple(result)


def build(suite: str, layers: tuple[Layer, ...], log: Log) -> Root:
    """Build the layers that are missing; return the root.  Needs root's rights.

    A layer appears under its own name only when it is complete: it is built as `<name>.partial` and then
    renamed.  A lock on the lab's folder makes a second builder wait for the first.
    """
    store = lab_dir() / "layers"
    store.mkdir(parents=True, exist_ok=True, mode=0o700)
    folders = [store / f"{suite}-{layer.name}-{key}" for layer, key in zip(layers, keys(suite, layers), strict=True)]
    with locked(lab_dir() / "build.lock", log):
        for index, (layer, folder) in enumerate(zip(layers, folders, strict=True)):
            if not folder.is_dir():
                started = time.monotonic()
                log(f"lab: building layer {layer.name} ({suite}) …")
                _build_one(layer, folder, tuple(reversed(folders[:index])))
                log(f"lab: layer {layer.name} ({suite}) took {time.monotonic() - started:.1f} s")
            os.utime(folder)
        prune(store, keep=set(folders))
    return Root(suite, folders[-1].name.rsplit("-", 1)[1], tuple(reversed(folders)))


def _build_one(layer: Layer, folder: Path, below: tuple[Path, ...]) -> None:
    partial = folder.with_name(folder.name + ".partial")
    remove(partial)
    partial.mkdir(mode=0o755)
    if not below:
        layer.build(partial)
    else:
        work, mounted = folder.with_name(folder.name + ".work"), folder.with_name(folder.name + ".mounted")
        with overlay(below, partial, work, mounted):
            layer.build(mounted)
    os.rename(partial, folder)


@contextlib.contextmanager
def overlay(below: tuple[Path, ...], upper: Path, work: Path, mounted: Path) -> Iterator[Path]:
    """Mount `upper` over `below` at `mounted`; unmount and remove the helpers at the end."""
    for folder in (upper, work, mounted):
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    lower = ":".join(map(str, below))
    options = f"lowerdir={lower},upperdir={upper},workdir={work},{OVERLAY_OPTIONS}"
    subprocess.run(["mount", "-t", "overlay", "-o", options, "remedy-lab", str(mounted)], check=True)
    try:
        yield mounted
    finally:
        unmount(mounted)
        mounted.rmdir()
        remove(work)


def unmount(mounted: Path) -> None:
    """Unmount `mounted` and what is mounted below it; a busy mount is detached."""
    done = subprocess.run(["umount", "-R", str(mounted)], capture_output=True)
    if done.returncode != 0 and os.path.ismount(mounted):
        subprocess.run(["umount", "-R", "-l", str(mounted)], check=True)


def remove(folder: Path) -> None:
    """Remove a folder of the lab's; what is mounted in it is unmounted first, never emptied."""
    if not folder.exists():
        return
    inside = [path for path in _mount_points() if path.is_relative_to(folder)]
    for mounted in sorted(inside, reverse=True):
        unmount(mounted)
    shutil.rmtree(folder)


def _mount_points() -> list[Path]:
    return [Path(line.split()[4]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def prune(store: Path, keep: set[Path]) -> None:
    """Remove broken builds, and layers that nothing has used for a day."""
    mounted = Path("/proc/mounts").read_text()
    for folder in store.iterdir():
        if folder in keep or not folder.is_dir() or str(folder) in mounted:
            continue
        broken = folder.suffix in {".partial", ".work", ".mounted"}
        if broken or time.time() - folder.stat().st_mtime > KEEP_UNUSED:
            remove(folder)


def clean() -> None:
    """Remove all layers.  Raises OSError where a running machine still uses one."""
    with locked(lab_dir() / "build.lock", print):
        mounted = Path("/proc/mounts").read_text()
        if f"{lab_dir()}/machines/" in mounted:
            raise OSError(f"a machine is running: see {lab_dir()}/machines")
        remove(lab_dir() / "layers")
        remove(lab_dir() / "pycache")


@contextlib.contextmanager
def locked(path: Path, log: Log) -> Iterator[None]:
    """Hold an exclusive lock on `path`; it goes with the process, however that ends."""
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log("lab: another build is running; waiting for it …")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
