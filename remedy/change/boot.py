"""The unit that has a machine finish or undo, at its next boot, what a crash left.

It stands in /etc only while a transaction is open, unless it is installed for good (units/remedy-recover.service).
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

from remedy.change.again import ROOT, RUNNER, command, line
from remedy.change.files import put, sync_folder, write_new
from remedy.change.ledger import STATE_DIR, Ledger
from remedy.facts.files import Files
from remedy.facts.trust import distrusted

NAME = "remedy-recover.service"
#: bootup(7): all services come after basic.target, so that none starts on a half-changed machine.
TEXT = """\
[Unit]
Description=Finish or undo the toolchain change that a crash left
DefaultDependencies=no
RequiresMountsFor=/var/lib/remedy /etc /usr /var/lib/dpkg
After=sysinit.target
Before=basic.target shutdown.target
Conflicts=shutdown.target
ConditionPathExists=/var/lib/remedy/unfinished

[Service]
Type=oneshot
ExecStart={command} recover
TimeoutStartSec=30min

[Install]
WantedBy=basic.target
"""
_ETC = Path("/etc/systemd/system")
_LIBRARIES = (Path("/usr/local/lib/systemd/system"), Path("/usr/lib/systemd/system"))


def announce(state_dir: Path) -> None:
    """Before there is a ledger: leave the mark, so that whoever comes after a crash looks for one. Raises OSError."""
    put(state_dir / "unfinished", b"\n")


def prepare(state_dir: Path, ledger: Ledger, etc: Path | None = None) -> None:
    """Before a transaction touches anything: leave the mark that the unit looks for, and the unit. Raises OSError.

    The ledger is the truth; the mark spares every other boot the start of an interpreter, and names the paths that go
    with it.
    """
    if etc is None and state_dir == STATE_DIR:
        etc = _ETC
    mark = state_dir / "unfinished"
    placed = _placed(mark) or (_to_place(etc) if etc else ())
    put(mark, ("\n".join((ledger.id, *map(str, placed))) + "\n").encode())
    if etc and placed:
        _place(etc, placed)


def clear(state_dir: Path) -> None:
    """After its end: remove what was placed, and the mark that names it last. What can't be removed now does no harm,
    and stays named for the next time."""
    mark = state_dir / "unfinished"
    with contextlib.suppress(OSError):
        for path in _placed(mark):
            path.unlink(missing_ok=True)
            folder = path.parent
            if folder.suffix == ".wants":
                _remove_empty(folder)
            sync_folder(folder if folder.is_dir() else folder.parent)
        mark.unlink(missing_ok=True)
        sync_folder(state_dir)


def _remove_empty(folder: Path) -> None:
    """Remove the folder of links, where nobody else wants anything of basic.target. Raises OSError where the disk
    fails."""
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise


def runs_from(folder: Path, state_dir: Path) -> bool:
    """Whether an unfinished transaction's recovery may run from a folder of code."""
    if not (state_dir / "unfinished").exists():
        return False
    try:
        return str(folder) in (_ETC / NAME).read_text()
    except OSError:
        # It was not placed: the transaction's own unit may be about to run the recovery.
        return True


def _placed(mark: Path) -> tuple[Path, ...]:
    """What an interrupted transaction has placed."""
    try:
        return tuple(Path(line) for line in mark.read_text().splitlines()[1:])
    except OSError:
        return ()


def _to_place(etc: Path) -> tuple[Path, ...]:
    """The unit and its link, or the link alone where the unit is installed and not enabled. The link goes first."""
    unit, link = etc / NAME, etc / "basic.target.wants" / NAME
    if not etc.is_dir() or os.path.lexists(link):
        return ()
    if any(os.path.lexists(folder / NAME) for folder in (etc, *_LIBRARIES)):
        return (link,)
    # A unit that would run, as root, what others can write is worse than none.
    runs = (sys.executable, RUNNER, f"{ROOT}/remedy/__main__.py")
    return () if any(distrusted(Files(), path, os.geteuid()) for path in runs) else (link, unit)


def _place(etc: Path, placed: tuple[Path, ...]) -> None:
    link, unit = placed[0], etc / NAME
    if unit in placed and not unit.exists():
        write_new(unit, TEXT.format(command=line(command("remedy"))).encode())
        unit.chmod(0o644)
    link.parent.mkdir(exist_ok=True)
    if not os.path.lexists(link):
        # The name is what counts (systemd.unit(5)); the target is for whoever looks.
        link.symlink_to(next((folder / NAME for folder in _LIBRARIES if (folder / NAME).exists()), f"../{NAME}"))
    sync_folder(link.parent)
    sync_folder(etc)
