"""The processes of a unit: whether one of them listens on a port, what they have worked, read and written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

# cgroups(7): version 2, then systemd's own hierarchy of version 1, then version 2 beside version 1.
_HIERARCHIES = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")
_LISTEN = "0A"


def members(control_group: str) -> tuple[int, ...]:
    """The processes in a unit's control group (its ControlGroup= property) and in those below it."""
    if not control_group:
        return ()
    for hierarchy in _HIERARCHIES:
        if os.path.exists(f"{hierarchy}{control_group}/cgroup.procs"):
            return tuple(_members(hierarchy + control_group))
    return ()


def _members(folder: str) -> Iterator[int]:
    for here, _, _ in os.walk(folder):
        try:
            with open(f"{here}/cgroup.procs", encoding="ascii") as file:
                yield from (int(line) for line in file)
        except OSError:
            continue


def ports(processes: Sequence[int]) -> tuple[int, ...]:
    """The TCP ports on which these processes listen, as far as that can be seen."""
    own = {target for process in processes for target in _targets(process) or ()}
    return tuple(sorted({port for port, socket in _listening() if socket in own}))


def listens(place: int | str, processes: Sequence[int]) -> bool | None:
    """Whether one of these processes listens on a TCP port, or at a socket's path; None where that can't be seen (no
    right, no /proc)."""
    on_port = (socket for port, socket in _listening() if port == place)
    sockets = set(_at_path(place) if isinstance(place, str) else on_port)
    if not sockets:
        return False
    seen = False
    for process in processes:
        targets = _targets(process)
        if targets is None:
            continue
        seen = True
        if any(target in sockets for target in targets):
            return True
    return False if seen else None


def _listening() -> Iterator[tuple[int, str]]:
    """The TCP ports that are listened on, with the socket as a descriptor's link names it (proc(5), /proc/net/tcp)."""
    for row in (*_rows("/proc/net/tcp"), *_rows("/proc/net/tcp6")):
        if row[3] == _LISTEN:
            yield int(row[1].rpartition(":")[2], 16), f"socket:[{row[9]}]"


def _targets(process: int) -> Iterator[str] | None:
    """What a process's descriptors are open on; None where that can't be seen."""
    try:
        handles = os.listdir(f"/proc/{process}/fd")
    except OSError:
        return None
    return (_target(f"/proc/{process}/fd/{handle}") for handle in handles)


def _at_path(path: str) -> Iterator[str]:
    """The same for a socket of the file system (proc(5), /proc/net/unix: flags 00010000 for one that listens)."""
    for row in _rows("/proc/net/unix"):
        if row[3] == "00010000" and row[7:] == [path]:
            yield f"socket:[{row[6]}]"


def _rows(table: str) -> list[list[str]]:
    try:
        with open(table, encoding="utf-8", errors="replace") as file:
            return [line.split() for line in file][1:]
    except OSError:
        return []


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def worked(processes: Sequence[int]) -> int:
    """Processor time of these processes and the children that they have waited for, in clock ticks.

    Where processes came or went it goes up or down: any change is a sign of life.
    """
    return sum(sum(map(int, fields[11:15])) + process for process, fields in stats(processes))


def moved(processes: Sequence[int]) -> int:
    """Bytes that these processes have read and written, files and sockets alike (proc(5), /proc/PID/io); 0 where that
    can't be seen: it is the user's own secret, and root's."""
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process}/io", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith(("rchar", "wchar", "read_bytes")))
        except OSError:
            continue
    return total


def stats(processes: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
    """Each process with its fields of /proc/PID/stat from the state on (proc(5), field 3)."""
    for process in sorted(processes):
        try:
            with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
                yield process, file.read().rpartition(")")[2].split()
        except OSError:
            continue
