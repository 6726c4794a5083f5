"""The unit that has a machine finish or undo, at its next boot, what a crash left.

It stands in /etc only while a transaction is open, unless it is installed for good (units/remedy-recover.service).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from remedy.change.files import sync_folder, write_new
from remedy.change.ledger import STATE_DIR, Ledger
from remedy.facts.files import Files
from remedy.facts.trust import distrusted

NAME = "remedy-recover.service"
_HEAD = "# Placed while a change is open, and removed when it has ended.\n"
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
_LIBRARIES = ("usr/local/lib/systemd/system", "usr/lib/systemd/system")


@contextlib.contextmanager
def open_transaction(state_dir: Path, ledger: Ledger, etc: Path | None = None) -> Iterator[None]:
    """While a transaction is open: the mark that the unit looks for, and the unit. Both stay where the work breaks off.

    The ledger is the truth; the mark spares every other boot the start of an interpreter. Raises OSError.
    """
    if etc is None and state_dir == STATE_DIR:
        etc = _ETC
    mark = state_dir / "unfinished"
    mark.write_text(ledger.id + "\n")
    sync_folder(state_dir)
    if etc is not None:
        _place(etc)
    yield
    if etc is not None:
        _take_away(etc)
    mark.unlink(missing_ok=True)
    sync_folder(state_dir)


def _wants(etc: Path) -> Path:
    return etc / "basic.target.wants" / NAME


def _place(etc: Path) -> None:
    unit, wants = etc / NAME, _wants(etc)
    installed = any((Path("/") / folder / NAME).exists() for folder in _LIBRARIES)
    # A unit that would run, as root, what others can write is worse than none.
    trusted = distrusted(Files(), sys.executable, os.geteuid()) is None
    if installed or os.path.lexists(unit) or not etc.is_dir() or not trusted:
        return
    command = '"' + sys.executable.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '" -I -m remedy'
    write_new(unit, (_HEAD + TEXT.format(command=command)).encode())
    unit.chmod(0o644)
    wants.parent.mkdir(exist_ok=True)
    if not os.path.lexists(wants):
        wants.symlink_to(f"../{NAME}")
    sync_folder(wants.parent)
    sync_folder(etc)


def _take_away(etc: Path) -> None:
    unit, wants = etc / NAME, _wants(etc)
    with contextlib.suppress(OSError):
        if not unit.read_text().startswith(_HEAD):
            return
        wants.unlink(missing_ok=True)
        # Not empty where others want something of basic.target.
        with contextlib.suppress(OSError):
            wants.parent.rmdir()
        unit.unlink()
        sync_folder(etc)
