"""The crash matrix, inside a machine: death at chosen library calls of a change, recovery, and a look at what is left.

    python -m tests.change.matrix count [packages=no]            the calls of one whole change, one a line
    python -m tests.change.matrix count-unit [packages=no]       those of one in a unit of its own
    python -m tests.change.matrix count-recovery [packages=no]   those of the recovery of a change that was all done
    python -m tests.change.matrix run KIND POINT,POINT,… [packages=no]
    python -m tests.change.matrix working [fails] | kept         the state before a change (whose start will fail), and
                                                                 after one that is kept
    python -m tests.change.matrix count-back                     the calls of a change that takes itself back
    python -m tests.change.matrix look                           the state now

``run`` prints a line of JSON for each point: the state found after ``recover`` is ``old``, ``new`` or ``mixture``.
Kinds: ``kill`` before a call, ``half`` way through a write, ``again``: kill the recovery at one of its calls,
``unit``: kill the process of the change's own unit, which systemd alone has to recover, ``errno=NUMBER``: from this
call on, every call of its kind fails (a full disk is 28).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from remedy.change.history import unfinished
from tests.change import scene
from tests.change.compare import changed, timeless

SHIM = "/var/tmp/fault.so"
SOURCE = Path(__file__).with_name("fault.c")


def build() -> None:
    """Compile the wrapper that kills."""
    if not os.path.exists(SHIM):
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", SHIM, SOURCE, "-ldl"], check=True)


def play(*words: str, **fault: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the scene in a process of its own, with a fault."""
    argv = [sys.executable, "-m", "tests.change.scene", *words]
    # No compiled files of Python's: their writes would be counted in the first run and be absent in the next.
    preload = {"LD_PRELOAD": SHIM, "PYTHONDONTWRITEBYTECODE": "1", **fault} if fault else {}
    if words[0] == "detached":
        preload = {f"WORKER_{name}": value for name, value in preload.items()}
    return subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **preload})


def working() -> dict[str, Any]:
    """The service runs under the old toolchain."""
    Path("/etc/demo-old-works").touch()
    scene.run("systemctl", "reset-failed")
    scene.run("systemctl", "start", scene.UNIT, "demo-child.service")
    for _ in range(100):
        if (scene.CACHE / "sampling/built").exists():
            break
        time.sleep(0.05)
    return settled()


def settled() -> dict[str, Any]:
    """The state, once no unit is on its way."""
    for _ in range(100):
        state = json.loads(json.dumps(scene.state()))
        if not {"activating", "deactivating"} & set(state["units"].values()):
            return dict(state)
    return dict(state)


def reset(old: dict[str, Any]) -> None:
    """From a kept change back to the old state, the cache with it."""
    play("rollback")
    cache = scene.CACHE / "sampling"
    subprocess.run(["rm", "-rf", str(scene.CACHE)], check=True)
    (cache / "deep").mkdir(parents=True)
    (cache / "build.ninja").write_text("old\n")
    (cache / "built").write_text("old\n")
    for path in (scene.CACHE, *scene.CACHE.rglob("*")):
        row = old["files"][str(path)]
        os.chown(path, row[1], row[2])
        if path.is_file():
            os.utime(path, ns=(row[5], row[5]))
    working()


def fail(wanted: bool) -> None:
    """Have the start after the change fail, or not."""
    mark = Path("/etc/demo-new-fails")
    mark.touch() if wanted else mark.unlink(missing_ok=True)


def calls_of(*words: str, code: int = 0) -> list[str]:
    """The calls of one command of the scene, which must end as it should."""
    with tempfile.NamedTemporaryFile() as log:
        done = play(*words, FAULT_LOG=log.name)
        assert done.returncode == code, done.stdout + done.stderr
        return Path(log.name).read_text().splitlines()


def main(command: str, *words: str) -> None:
    """Count the calls, or die at some of them."""
    build()
    if command == "look":
        print(json.dumps(settled()))
        return
    scene.prepare()
    old = working()
    match command:
        case "working":
            fail(bool(words))
            print(json.dumps(old))
        case "kept":
            calls_of("apply", *words)
            print(json.dumps(settled()))
        case "count":
            print("\n".join(calls_of("apply", *words)))
        case "count-back":
            fail(True)
            print("\n".join(calls_of("apply", *words, code=5)))
        case "count-unit":
            print("\n".join(calls_of("detached", *words)))
        case "count-recovery":
            play("apply", *words, FAULT_AT=str(late(words, old)), FAULT_KIND="kill")
            print("\n".join(calls_of("recover")))
        case _:
            run(old, *words)


def late(options: Sequence[str], old: dict[str, Any]) -> int:
    """The point just before the ledger says that the restart is done, the last step: a call more or less in the
    watch before it does not lead past the record that the service is healthy."""
    calls = calls_of("apply", *options)
    reset(old)
    ledger = [number for number, call in enumerate(calls, 1) if call == "write:ledger"]
    return ledger[-3]


def run(old: dict[str, Any], kind: str, points: str, *options: str) -> None:
    """A row for each point."""
    calls_of("apply", *options)
    new = settled()
    reset(old)
    left = changed(old, settled())
    assert not left, left
    fixed = late(options, old) if kind == "again" else 0
    for point in points.split(","):
        row = once(kind, point, fixed, options)
        print(json.dumps({**row, **judge(row, old, new)}), flush=True)


def once(kind: str, point: str, fixed: int, options: Sequence[str]) -> dict[str, Any]:
    """Die at one point of the change (or, ``again``, at a fixed one and then at one of the recovery), and recover."""
    if kind == "again":
        play("apply", *options, FAULT_AT=str(fixed), FAULT_KIND="kill")
        dead = play("recover", FAULT_AT=point, FAULT_KIND="kill")
    elif kind == "unit":
        dead = play("detached", *options, FAULT_AT=point, FAULT_KIND="kill")
    else:
        stays = {"FAULT_STAYS": "1"} if kind.startswith("errno=") else {}
        dead = play("apply", *options, FAULT_AT=point, FAULT_KIND=kind, **stays)
    if kind == "unit":
        # Its recovery is systemd's to run (ExecStopPost=), and is over by now.
        waiting = [folder.name for folder in unfinished()]
        codes, spoken = {"exit": dead.returncode, "recover": len(waiting)}, f"unfinished: {waiting}"
    else:
        recovered = play("recover")
        codes = {"exit": dead.returncode, "recover": recovered.returncode}
        spoken = recovered.stdout + recovered.stderr
    said = dead.stderr[-700:] + (dead.stdout + spoken)[-1500:]
    return {"point": int(point), "died": dead.returncode < 0 or "was killed" in dead.stdout, **codes, "said": said}


def judge(row: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Which state is there; the old one is there afterwards."""
    state = settled()
    differences = changed(old, state)
    if row["recover"] == 0 and not differences:
        return {"state": "old"}
    lacking = changed(timeless(new), timeless(state))
    if row["recover"] == 0 and not lacking:
        reset(old)
        return {"state": "new"}
    scene.prepare()
    fresh = working()
    old.clear()
    old.update(fresh)
    return {"state": "mixture", "differences": [*differences[:20], "and not the new state:", *lacking[:20]]}


if __name__ == "__main__":
    main(*sys.argv[1:])
