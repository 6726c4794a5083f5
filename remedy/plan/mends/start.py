"""Starts that go well but too slowly, too early, or with too many compilers at once."""

from __future__ import annotations

import re
from typing import Final

from remedy.causes.entry import MendKind
from remedy.plan.draft import Draft
from remedy.plan.task import Mend, Task
from remedy.plan.touched import edited
from remedy.view import View, is_executable, is_file

# cicc on FlashInfer's and CUTLASS' templates; several gigabytes each is what such builds are seen to take.
_BYTES_A_JOB: Final = 4 * 1024**3

_UNITS: Final = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_READY_GPUS: Final = ("nvidia-persistenced.service", "nvidia-fabricmanager.service")

# systemd.time(7).
_SECONDS: Final = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    "ms": 0.001,
    "us": 0.000001,
}


def seconds(text: str) -> float | None:
    """A time span of systemd.time(7) in seconds; None for ``infinity``, 0 (which means the same) and nonsense."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*([a-z]*)|\s", "", text.strip()):
        return None
    if any(unit not in _SECONDS for _, unit in parts):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) or None


def allow_more_time(task: Task) -> Draft:
    """TimeoutStartSec= well above the last good start, twice what it was, and at least half an hour; once a failure."""
    if edited(task.inputs):
        return task.draft
    setting = task.now.service.value("Service", "TimeoutStartSec") or task.now.service.value("Service", "TimeoutSec")
    now = seconds(setting.value) if setting else 90.0
    if now is None:
        return task.draft
    wanted = max(1800.0, 2 * now, 3 * (task.inputs.last_start or 0.0))
    return task.draft.wish("Service", "TimeoutStartSec", str(round(wanted)))


def let_it_finish(task: Task) -> Draft:
    """Kernels are being built: a start that systemd times gets the time, and the restart finds what was built."""
    timed = task.now.service.type in ("notify", "notify-reload", "forking", "oneshot", "dbus")
    draft = allow_more_time(task) if timed else task.draft
    return draft.warn("the start builds kernels, for minutes on few cores; the builds that are done are kept")


def fewer_jobs(task: Task) -> Draft:
    """MAX_JOBS so that the compilers fit into memory: half of what it was, one for four gigabytes; once a failure."""
    if edited(task.inputs):
        return task.draft
    view = task.now.view
    processors, memory = _processors(view), _memory(task)
    now = task.env.get("MAX_JOBS", "")
    before = int(now) if now.isdigit() else processors + 2
    fitting = memory // _BYTES_A_JOB if memory else before
    jobs = max(1, min(before // 2, fitting, processors))
    if now == str(jobs):
        return task.draft.give_up("one compiler at a time already takes too much memory here")
    return task.draft.want({"MAX_JOBS": str(jobs)})


def _processors(view: View) -> int:
    """The processors of /sys/devices/system/cpu/online (``0-3,8``); ninja's default is two more."""
    count = 0
    for part in _read(view, "/sys/devices/system/cpu/online").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            count += int(last or first) - int(first) + 1 if (last or first).isdigit() else 1
    return count or 4


def _memory(task: Task) -> int | None:
    """Bytes for the whole service: the machine's memory, or the unit's MemoryMax= where that is less."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", _read(task.now.view, "/proc/meminfo"), re.M)
    total = int(found[1]) * 1024 if found else None
    limits = [
        parsed
        for name in ("MemoryMax", "MemoryHigh", "MemoryLimit")
        if (setting := task.now.service.value("Service", name)) and (parsed := _bytes(setting.value, total))
    ]
    return min([*limits, *([total] if total else [])], default=None)


def _bytes(text: str, total: int | None) -> int | None:
    """A size as systemd.resource-control(5) has it: powers of 1024, or a percentage of the memory."""
    found = re.fullmatch(r"(\d+)([KMGT%]?)", text.strip())
    if not found:
        return None
    if found[2] == "%":
        return total * int(found[1]) // 100 if total else None
    exponent = "KMGT".index(found[2]) + 1 if found[2] else 0
    return int(found[1]) * int(1024**exponent)


def _read(view: View, path: str) -> str:
    try:
        return view.read(path).decode(errors="replace")
    except OSError:
        return ""


def after_the_driver(task: Task) -> Draft:
    """Order the service after what brings the GPUs up, or have the device nodes made before it starts."""
    view, service, draft = task.now.view, task.now.service, task.draft
    here = [unit for unit in _READY_GPUS if any(is_file(view, f"{folder}/{unit}") for folder in _UNITS)]
    for name in ("After", "Wants"):
        every = " ".join(line.value for line in service.values("Unit", name)).split()
        missing = [unit for unit in here if unit not in every]
        if missing:
            # set_setting adds words to a setting that is a list.
            draft = draft.wish("Unit", name, " ".join(missing))
    if draft != task.draft:
        return draft
    command = "+-/usr/bin/nvidia-modprobe -u -c=0"
    known = [setting.value for setting in service.values("Service", "ExecStartPre")]
    if not known and is_executable(view, "/usr/bin/nvidia-modprobe"):
        # "+" for root's rights, since the service's user may not load modules; "-" because it is only a help.
        return draft.wish("Service", "ExecStartPre", command)
    return draft.give_up("nothing here tells when the GPUs are ready: install nvidia-persistenced and order after it")


MENDS: Final[dict[MendKind, Mend]] = {
    "more-time": allow_more_time,
    "cold-start": let_it_finish,
    "fewer-jobs": fewer_jobs,
    "after-driver": after_the_driver,
}
