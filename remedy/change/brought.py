"""remedy's own code, brought to a machine for one change (``--host``): it outlives the connection and a power cut.

It has a folder of its own that root alone can enter. Whoever runs from there holds a shared lock (flock(2)) on the
folder, and the last one takes it away; but not while an unfinished transaction's recovery would run from there.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from remedy.change import boot
from remedy.change.files import sync_folder, write_new
from remedy.change.ledger import STATE_DIR, private_folder
from remedy.errors import Refused
from remedy.facts.files import Files
from remedy.facts.trust import distrusted

#: Seconds for the first command to come that runs from the folder.
_BEGINS_WITHIN = 3600.0


def bring(archive: bytes, state_dir: Path = STATE_DIR) -> Path:
    """Unpack a zip file of code onto the disk; returns the folder to import from.

    Code that nobody came to run, or that a transaction needed which has ended since, goes. Raises Refused, also where
    others than this user could change what is there.
    """
    home = state_dir / "code"
    folder = home / secrets.token_hex(8)
    partial = folder.with_name(f".{folder.name}")
    try:
        private_folder(state_dir)
        private_folder(home)
        why = distrusted(Files(), str(home), os.geteuid())
        if why is not None:
            raise Refused(f"no code is put into {home}: {why}", hint=f"ls -ld {home}, and every folder above it")
        _sweep(home, state_dir)
        partial.mkdir(0o700)
        _unpack(archive, partial)
        partial.rename(folder)
        sync_folder(home)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise Refused(
            f"{error.filename or home}: {error.strerror}", hint="the code must be on the disk before a change"
        ) from error
    return folder


def _unpack(archive: bytes, folder: Path) -> None:
    from zipfile import ZipFile

    folders = {folder}
    with ZipFile(io.BytesIO(archive)) as packed:
        for name in packed.namelist():
            path = folder / name
            folders.update(one for one in path.parents if one.is_relative_to(folder))
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            write_new(path, packed.read(name))
    for one in folders:
        sync_folder(one)


def _sweep(home: Path, state_dir: Path) -> None:
    for folder in home.iterdir():
        if time.time() - folder.stat().st_ctime > _BEGINS_WITHIN:
            with _opened(folder) as fd:
                _take_away(folder, fd, state_dir)


@contextlib.contextmanager
def held(folder: Path, state_dir: Path = STATE_DIR) -> Iterator[None]:
    """Run from a folder of code: one that was brought stays as long, and goes with the last that runs from it."""
    if folder.parent != state_dir / "code":
        yield
        return
    with _opened(folder) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        try:
            yield
        finally:
            _take_away(folder, fd, state_dir)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _take_away(folder: Path, fd: int, state_dir: Path) -> None:
    """Delete the folder, unless somebody else runs from it, or may have to."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not boot.runs_from(folder, state_dir):
            shutil.rmtree(folder, ignore_errors=True)
