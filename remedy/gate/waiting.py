"""What the processes of a unit wait for, as far as /proc tells (proc(5)); root sees most."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from remedy.gate.processes import stats
from remedy.hints import Final
from remedy.value import dataclass

#: The kernel's functions, by what their names hold, in words.
_PLACES: Final = (
    ("futex", "a lock between threads or processes (futex)"),
    ("do_wait", "a child process"),
    ("nanosleep", "time to pass: it sleeps and looks again"),
    ("pipe_read", "a pipe"),
    ("pipe_wait", "a pipe"),
    ("nfs", "a network file system"),
    ("rpc_wait", "a network file system"),
    ("fuse", "a file system in user space"),
    ("io_schedule", "the disk"),
    ("folio_wait", "the disk"),
    ("skb_wait", "a socket"),
    ("inet_csk_accept", "a connection"),
    ("poll", "events or a connection"),
    ("select", "events or a connection"),
)
#: Functions of calls whose first argument is a descriptor.
_OF_A_FILE: Final = ("pipe_read", "pipe_wait", "nfs", "rpc_wait", "fuse", "io_schedule", "folio_wait", "skb_wait")
_TOLD: Final = 2


@dataclass(frozen=True)
class Lock:
    """A file lock that is waited for: the process that waits, the one that holds it (0: unknown), the file's path."""

    waiter: int
    holder: int
    path: str


def waits_for(processes: Sequence[int]) -> str:
    """What these processes wait for, for people; empty where that can't be seen. A wait for a lock of a file tells
    most, one for a child least: the child's own is told."""
    locks = list(_locks(processes))
    if locks:
        return "; ".join(_lock_text(lock) for lock in locks[:_TOLD])
    seen = [(_wchan(process), process, state) for process, state in _states(processes)]
    telling = [one for one in seen if "do_wait" not in one[0]] or seen
    return "; ".join(_place_text(*one) for one in telling[:_TOLD])


def _states(processes: Sequence[int]) -> Iterator[tuple[int, str]]:
    yield from ((process, fields[0]) for process, fields in stats(processes) if fields[0] != "Z")


def _place_text(wchan: str, process: int, state: str) -> str:
    words = f"{_name(process)} is in state {state}"
    place = next((text for part, text in _PLACES if part in wchan), "")
    if place:
        words = f"{_name(process)} waits for {place}"
    file = _first_file(process) if any(part in wchan for part in _OF_A_FILE) else ""
    return words + (f": {file}" if file else "") + (f" [{wchan}]" if wchan else "")


def _lock_text(lock: Lock) -> str:
    holder = f", which {_name(lock.holder)} holds" if lock.holder else ""
    return f"{_name(lock.waiter)} waits for the lock of {lock.path or 'a file'}{holder}"


def _locks(processes: Sequence[int]) -> Iterator[Lock]:
    """The locks of flock(2) and fcntl(2) that these processes wait for (proc(5), /proc/locks)."""
    holders: dict[str, int] = {}
    for line in _text("/proc/locks").splitlines():
        words = line.split()
        if len(words) < 6:
            continue
        if words[1] != "->":
            holders[words[0]] = int(words[4])
        elif int(words[5]) in processes:
            inode = int(words[6].rpartition(":")[2])
            yield Lock(int(words[5]), max(0, holders.get(words[0], 0)), _path_of(int(words[5]), inode))


def _path_of(process: int, inode: int) -> str:
    try:
        handles = os.listdir(f"/proc/{process}/fd")
    except OSError:
        return ""
    for handle in handles:
        try:
            if os.stat(f"/proc/{process}/fd/{handle}").st_ino == inode:
                return os.readlink(f"/proc/{process}/fd/{handle}")
        except OSError:
            continue
    return ""


def _first_file(process: int) -> str:
    """The file that the system call's first argument names."""
    words = _text(f"/proc/{process}/syscall").split()
    try:
        return os.readlink(f"/proc/{process}/fd/{int(words[1], 16)}")
    except (OSError, ValueError, IndexError):
        return ""


def _wchan(process: int) -> str:
    return _text(f"/proc/{process}/wchan").strip("\0\n 0")


def _name(process: int) -> str:
    return f"{_text(f'/proc/{process}/comm').strip() or 'process'}[{process}]"


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
