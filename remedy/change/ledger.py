"""The write-ahead ledger: an intent reaches the disk before its act, a result after it.

One record a line: length in bytes (8 hex digits), SHA-256 of the JSON (16 hex digits), JSON. A power cut can only
spoil the end of the file: what is spoilt there was never acted upon. A spoilt line before a good one is damage.
"""

from __future__ import annotations

import calendar
import errno
import hashlib
import os
import re
import shutil
import stat
import time
from pathlib import Path

from remedy.change import codec
from remedy.change.files import sync_folder, write_new
from remedy.change.types import Before, Begin, Done, End, Entry, Intent, Phase
from remedy.errors import RemedyError
from remedy.plan.types import Plan
from remedy.value import dataclass

SCHEMA = 1
STATE_DIR = Path("/var/lib/remedy")
#: Bytes held back so that the way back can be recorded on a full disk.
_RESERVE = 256 * 1024
_NAME = re.compile(r"\d{8}T\d{6}Z-")
_STAMP, _STAMP_LENGTH = "%Y%m%dT%H%M%SZ", 16


def line_of(entry: Entry) -> bytes:
    """One record as it stands in the file."""
    data = codec.dumps(entry).encode()
    return b"%08x %s " % (len(data), hashlib.sha256(data).hexdigest()[:16].encode()) + data + b"\n"


def _entry_of(line: bytes) -> Entry:
    size, digest, data = line.split(b" ", 2)
    if int(size, 16) != len(data) or hashlib.sha256(data).hexdigest()[:16].encode() != digest:
        raise ValueError("wrong length or checksum")
    return codec.loads(Entry, data)  # type: ignore[arg-type]  # a union is no type to mypy


@dataclass(frozen=True)
class Read:
    """What a ledger's bytes say: the good entries, the length of the good part, and the damaged line's number."""

    entries: tuple[Entry, ...]
    good: int
    torn: bool = False
    damaged: int | None = None


def parse(data: bytes) -> Read:
    """Read a ledger's bytes; never raises. ``damaged`` is a bad line that is not the tail (lines count from 1)."""
    entries: list[Entry] = []
    good = 0
    bad: int | None = None
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        try:
            entry = _entry_of(line[:-1]) if line.endswith(b"\n") else None
        except ValueError:
            entry = None
        if entry is None:
            bad = bad or number
        elif bad is not None:
            return Read(tuple(entries), good, torn=True, damaged=bad)
        else:
            entries.append(entry)
            good += len(line)
    if entries and not isinstance(entries[0], Begin):
        return Read((), 0, damaged=1)
    return Read(tuple(entries), good, torn=bad is not None)


class Ledger:
    """One transaction's folder: ``plan.json``, ``ledger``, ``backups/``, ``evidence/``; mode 0700."""

    def __init__(self, folder: Path, plan: Plan, read: Read) -> None:
        self.folder = folder
        self.plan = plan
        self.entries: list[Entry] = list(read.entries)

    @classmethod
    def create(cls, state_dir: Path, plan: Plan, *, keep_packages: bool = False, now: float | None = None) -> Ledger:
        """Make the folder and write the first record. Raises OSError (disk full, read-only)."""
        now = time.time() if now is None else now
        folder = _new_folder(state_dir / "transactions", now, plan.unit)
        try:
            return cls._begin(folder, plan, Begin(SCHEMA, folder.name, plan.unit, plan.cause, now, keep_packages))
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @classmethod
    def _begin(cls, folder: Path, plan: Plan, begin: Begin) -> Ledger:
        for name in ("backups", "evidence"):
            os.mkdir(folder / name, 0o700)
        write_new(folder / "plan.json", codec.dumps(plan).encode())
        write_new(folder / "reserve", bytes(_RESERVE))
        write_new(folder / "ledger", line_of(begin))
        sync_folder(folder)
        sync_folder(folder.parent)
        return cls(folder, plan, Read((begin,), 0))

    @classmethod
    def open(cls, folder: Path) -> Ledger:
        """Take up a ledger again. Raises RemedyError where it is damaged, or of a newer schema."""
        read = _read(folder)
        if read.damaged is not None:
            raise RemedyError(
                f"{folder}/ledger:{read.damaged}: the record is damaged, and records follow it",
                hint=f"nothing is guessed from it; compare by hand with {folder}/plan.json and {folder}/backups",
            )
        begin = read.entries[0] if read.entries else None
        if not isinstance(begin, Begin):
            raise RemedyError(f"{folder}/ledger: no transaction was begun in it", hint=f"rm -r {folder}")
        if begin.schema > SCHEMA:
            raise RemedyError(f"{folder}/ledger:1: schema {begin.schema} is newer than this remedy's {SCHEMA}")
        try:
            plan = codec.loads(Plan, (folder / "plan.json").read_bytes())
        except (OSError, ValueError) as error:
            raise RemedyError(f"{folder}/plan.json: {error}") from error
        if read.torn:
            with open(folder / "ledger", "r+b") as file:
                file.truncate(read.good)
                os.fsync(file.fileno())
        return cls(folder, plan, read)

    def append(self, entry: Entry) -> None:
        """Write one record and wait until it is on the disk. On a full disk the reserve is given up for it."""
        try:
            self._write(line_of(entry))
        except OSError as error:
            reserve = self.folder / "reserve"
            self._cut()
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not reserve.exists():
                raise
            reserve.unlink()
            sync_folder(self.folder)
            self._write(line_of(entry))
        self.entries.append(entry)

    def close(self, end: End) -> None:
        """Write the last record, and give the reserve back."""
        self.append(end)
        (self.folder / "reserve").unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        fd = os.open(self.folder / "ledger", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            while data:
                data = data[os.write(fd, data) :]
            os.fsync(fd)
        finally:
            os.close(fd)

    def _cut(self) -> None:
        os.truncate(self.folder / "ledger", _read(self.folder).good)

    @property
    def id(self) -> str:
        """The transaction's name: sortable by time."""
        return self.folder.name

    @property
    def begin(self) -> Begin:
        """The first record."""
        assert isinstance(self.entries[0], Begin)
        return self.entries[0]

    @property
    def end(self) -> End | None:
        """The last word, None while the transaction is unfinished. A later rollback opens it again."""
        last = self.entries[-1]
        return last if isinstance(last, End) else None

    def intents(self) -> dict[int, Before]:
        """Steps that may have acted, each with what was there before."""
        return {entry.step: entry.before for entry in self.entries if isinstance(entry, Intent)}

    def done(self, step: int, action: str) -> bool:
        """Whether a step's result was recorded."""
        return any(isinstance(e, Done) and e.step == step and e.action == action for e in self.entries)

    def reached(self, name: str) -> bool:
        """Whether a phase was entered."""
        return any(isinstance(entry, Phase) and entry.name == name for entry in self.entries)


def _read(folder: Path) -> Read:
    try:
        return parse((folder / "ledger").read_bytes())
    except FileNotFoundError:
        return Read((), 0)


def private_folder(path: Path) -> None:
    """Make a folder that root alone can list; one that is there loses what lets others read or write it."""
    if not path.is_dir():
        os.makedirs(path, 0o700, exist_ok=True)
        sync_folder(path.parent)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o066:
        path.chmod(mode & ~0o066)


def _new_folder(parent: Path, now: float, unit: str) -> Path:
    private_folder(parent.parent)
    private_folder(parent)
    safe = "".join(c if (c.isalnum() and c.isascii()) or c in "-_@." else "_" for c in unit.removesuffix(".service"))
    while True:
        name = f"{time.strftime(_STAMP, time.gmtime(now))}-{safe[:100]}"
        # A clock that was set back must not put a change before those that it comes after.
        if not any(path.name[:_STAMP_LENGTH] >= name[:_STAMP_LENGTH] for path in folders(parent.parent)):
            os.mkdir(parent / name, 0o700)
            return parent / name
        now = max(now, _newest(parent.parent)) + 1


def _newest(state_dir: Path) -> float:
    stamps = (path.name[:_STAMP_LENGTH] for path in folders(state_dir))
    return max((calendar.timegm(time.strptime(stamp, _STAMP)) for stamp in stamps), default=0.0)


def folders(state_dir: Path) -> tuple[Path, ...]:
    """The transactions' folders, the oldest first."""
    parent = state_dir / "transactions"
    if not parent.is_dir():
        return ()
    return tuple(sorted(path for path in parent.iterdir() if path.is_dir() and _NAME.match(path.name)))


def read_entries(folder: Path) -> Read:
    """What a transaction's ledger says; never raises for damage, OSError where it can't be read."""
    return _read(folder)
