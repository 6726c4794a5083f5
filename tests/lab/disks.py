"""The writable disk of a machine: in memory, in the lab's folder, or an image that loses what was not written out.

A loop device reads and writes its image through the block layer only: what a file system on it still keeps in its own
memory is not in the image. A copy of the image is thus what a disk holds when the power goes. Its file system's own
habits are turned off where they write earlier than anybody has asked for.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

#: Kinds of images, and how each is mounted: no journal commits on a timer (ext4(5), btrfs(5): commit, seconds), and
#: no allocation at a rename (ext4(5): noauto_da_alloc).
IMAGES = {"ext4": "commit=300,noauto_da_alloc", "btrfs": "commit=300"}
_MAKE = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
    "btrfs": ("mkfs.btrfs", "-q"),
}
_SIZE = "1G"


def mount_memory(store: Path) -> None:
    """A store that goes with its mount."""
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "remedy-lab", str(store))


def mount_image(store: Path, kind: str) -> None:
    """A store in an image beside it, which itself lies in memory."""
    place = _place(store)
    place.mkdir()
    mount_memory(place)
    _run("truncate", "-s", _SIZE, str(place / "image"))
    _run(*_MAKE[kind], str(place / "image"))
    _mount(store, kind)


def keep_written(store: Path) -> None:
    """Note what the image holds now. Only then may anything be unmounted: that writes the rest out."""
    _run("cp", "--sparse=always", str(_place(store) / "image"), str(_place(store) / "copy"))


def lose_unwritten(store: Path, kind: str) -> None:
    """Go back to what was noted. Nothing may use the store any more."""
    _run("umount", str(store))
    (_place(store) / "copy").rename(_place(store) / "image")
    _mount(store, kind)


def _mount(store: Path, kind: str) -> None:
    _run("mount", "-t", kind, "-o", f"loop,{IMAGES[kind]}", str(_place(store) / "image"), str(store))


def _place(store: Path) -> Path:
    return store.with_name(f"{store.name}.image")


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)
