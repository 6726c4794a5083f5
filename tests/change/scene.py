"""A small scene inside a machine of the lab, where a change takes seconds: a service, packages, links, a cache.

Run there as ``/opt/remedy-venv/bin/python -m tests.change.scene COMMAND``: ``prepare``, ``apply [OPTION=VALUE…]``,
``recover``, ``rollback`` and ``state`` (all that a transaction may touch, as JSON). The packages are tiny, but apt,
dpkg, update-alternatives and systemd are the real ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from remedy.change.detached import Apply, Choice, Job, request, serve, start
from remedy.change.interrupts import Interrupts
from remedy.change.recover import recover, rollback
from remedy.change.transaction import apply
from remedy.change.types import Event, Hooks, Outcome, Report
from remedy.errors import RemedyError
from remedy.facts.types import PackageChange
from remedy.gate.types import Expectation
from remedy.gate.watch import Watch
from remedy.plan.types import EditFile, InstallPackages, MoveCache, Plan, RestartUnit, Step
from remedy.unit.types import FileEdit
from remedy.value import replace

UNIT = "demo.service"
FRAGMENT = Path("/etc/systemd/system/demo.service")
DEFAULTS = Path("/etc/default/demo")
DROP_IN = Path("/etc/systemd/system/demo.service.d/50-remedy.conf")
CACHE = Path("/home/demo/.cache/flashinfer/cached_ops")
REPOSITORY = Path("/srv/tiny")
ROOT = "/usr/local/cuda-13.9"
USER = 4242
OLD_UNIT = (
    "[Unit]\nDescription=Demo\n[Service]\nEnvironment=VOICE=old\nEnvironmentFile=/etc/default/demo\n"
    "ExecStart=/usr/local/bin/demo\n[Install]\nWantedBy=multi-user.target\n"
)
CHILD = "[Unit]\nPartOf=demo.service\nAfter=demo.service\n[Service]\nExecStart=/bin/sleep infinity\n"
CHILD += "[Install]\nWantedBy=multi-user.target\n"
# `old` fails or works as /run/old-works says, `new` as /run/new-fails says.
PROGRAM = """#!/bin/sh
echo "starting with $VOICE and CUDA_HOME=$CUDA_HOME"
[ "$VOICE" = new ] && mkdir -p /home/demo/.cache/flashinfer/cached_ops/fresh &&
    echo "cuda_home = $CUDA_HOME" > /home/demo/.cache/flashinfer/cached_ops/fresh/build.ninja
[ "$VOICE" = new ] && [ -e /etc/demo-new-fails ] && { echo "boom"; exit 1; }
[ "$VOICE" = old ] && [ ! -e /etc/demo-old-works ] && { echo "nvcc fatal"; exit 1; }
mkdir -p /home/demo/.cache/flashinfer/cached_ops/sampling
built=/home/demo/.cache/flashinfer/cached_ops/sampling/built
[ -e $built ] || echo "$VOICE" > $built
echo "ready to roll"
[ ! -e /etc/demo-answers ] || exec python3 -m http.server --bind 127.0.0.1 --directory /var/empty 8399
exec sleep infinity
"""
ALTERNATIVES = (
    '#!/bin/sh\nset -e\n[ "$1" = {when} ] || exit 0\n[ ! -e /etc/demo-{when}-fails ] || exit 1\n'
    "[ ! -e /etc/demo-daemon ] || sleep 999 &\n"
    "update-alternatives {action}\n"
)


def package(name: str, version: str, depends: str = "", files: tuple[str, ...] = (), config: bool = False) -> None:
    """Build one package into the repository."""
    folder = REPOSITORY / "build" / f"{name}-{version}"
    (folder / "DEBIAN").mkdir(parents=True)
    for file in files:
        path = folder / file.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {name} {version}\n")
        path.chmod(0o755)
    control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: lab <lab@example.org>\n"
    control += (f"Depends: {depends}\n" if depends else "") + f"Description: {name}\n"
    (folder / "DEBIAN/control").write_text(control)
    if config:
        scripts = {
            "postinst": ("configure", f"--install /usr/local/cuda cuda {ROOT} 139"),
            "prerm": ("remove", f"--remove cuda {ROOT}"),
        }
        for script, (when, action) in scripts.items():
            (folder / "DEBIAN" / script).write_text(ALTERNATIVES.format(when=when, action=action))
            (folder / "DEBIAN" / script).chmod(0o755)
        (folder / "etc").mkdir()
        (folder / "etc/demo-toolkit.conf").write_text("conffile\n")
        (folder / "DEBIAN/conffiles").write_text("/etc/demo-toolkit.conf\n")
    deb = REPOSITORY / f"{name}_{version}_amd64.deb"
    subprocess.run(
        ["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", folder, deb], check=True, capture_output=True
    )
    data = deb.read_bytes()
    with open(REPOSITORY / "Packages", "a") as index:
        index.write(
            control + f"Filename: ./{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n"
        )


def prepare() -> None:
    """Set the scene: the service, its child, its cache, and the repository. May be done again."""
    if FRAGMENT.exists():
        run("systemctl", "stop", UNIT, "demo-child.service")
        run("systemctl", "reset-failed")
    for path in Path("/etc").glob("demo-*"):
        path.unlink()
    shutil.rmtree("/var/lib/remedy", ignore_errors=True)
    names = ("demo-nvcc", "demo-crt", "demo-config-common", "demo-friend", "demo-base")
    run("dpkg", "--purge", "--force-remove-reinstreq", *names)
    for folder in (DROP_IN.parent, FRAGMENT.with_name("basic.target.wants")):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree("/home/demo", ignore_errors=True)
    for path in (*Path("/etc/apt/sources.list.d").iterdir(), Path("/etc/apt/sources.list")):
        path.unlink(missing_ok=True)
    shutil.rmtree(REPOSITORY, ignore_errors=True)
    REPOSITORY.mkdir()
    package("demo-config-common", "13.9-1", config=True)
    package("demo-crt", "13.9-1", "demo-config-common", (f"{ROOT}/include/crt.h",))
    package("demo-base", "1-1", files=("/usr/local/lib/demo-base",))
    package("demo-base", "2-1", files=("/usr/local/lib/demo-base",))
    package("demo-nvcc", "13.9-1", "demo-crt (>= 13), demo-base (>= 2)", (f"{ROOT}/bin/nvcc",))
    package("demo-friend", "1-1", "demo-crt")
    shutil.rmtree(REPOSITORY / "build")
    Path("/etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{REPOSITORY} ./\n")
    run("apt-get", "update", "-q")
    run("apt-get", "install", "-y", "-q", "demo-base=1-1")
    run("apt-mark", "auto", "demo-base")
    Path("/usr/local/bin/demo").write_text(PROGRAM)
    Path("/usr/local/bin/demo").chmod(0o755)
    DEFAULTS.write_text("TOKEN=secret\n")
    DEFAULTS.chmod(0o600)
    FRAGMENT.write_text(OLD_UNIT)
    os.setxattr(FRAGMENT, "user.note", b"kept")
    FRAGMENT.with_name("demo-child.service").write_text(CHILD)
    for path in (FRAGMENT, DEFAULTS):
        os.utime(path, ns=(1_700_000_000_000_000_001, 1_600_000_000_123_456_789))
    (CACHE / "sampling/deep").mkdir(parents=True)
    (CACHE / "sampling/build.ninja").write_text("old\n")
    for path in (Path("/home/demo"), *Path("/home/demo").rglob("*")):
        os.chown(path, USER, USER)
    run("systemctl", "daemon-reload")


def run(*argv: str) -> str:
    """Run a command of the machine, and return its output."""
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    return done.stdout


def plan(*, hold: bool = True, packages: bool = True) -> Plan:
    """What fix would do here."""
    changes = [("demo-config-common", "13.9-1", None), ("demo-crt", "13.9-1", None), ("demo-base", "2-1", "1-1")]
    changes.append(("demo-nvcc", "13.9-1", None))
    held = (
        (("cuda", os.readlink("/etc/alternatives/cuda")),) if hold and os.path.lexists("/etc/alternatives/cuda") else ()
    )
    install = InstallPackages(
        ("demo-nvcc=13.9-1",), tuple(PackageChange(*change, 0, 0) for change in changes), ROOT, held, ""
    )
    old = FRAGMENT.read_bytes()
    edits = (
        FileEdit(str(FRAGMENT), old, old.replace(b"VOICE=old", b"VOICE=new"), ""),
        FileEdit(str(DEFAULTS), DEFAULTS.read_bytes(), DEFAULTS.read_bytes() + f"CUDA_HOME={ROOT}\n".encode(), ""),
        FileEdit(str(DROP_IN), None, b"[Service]\nTimeoutStartSec=99\n", ""),
    )
    steps: tuple[Step, ...] = (
        *((install,) if packages else ()),
        MoveCache(str(CACHE / "sampling"), 4, "flashinfer", "stale"),
        *(EditFile(edit) for edit in edits),
        RestartUnit(UNIT, True, 1.0, (str(CACHE),)),
    )
    return Plan(UNIT, "nvcc-too-old", steps, ROOT, (13, 9))


def hooks(_plan: Plan | None = None, broken: bool = False) -> Hooks:
    """A watch for the ready line; the proof runs the new compiler, unless it is broken."""
    url = "http://127.0.0.1:8399/" if os.path.exists("/etc/demo-answers") else None
    seconds = 4.0 if os.path.exists("/etc/demo-hurries") else 20.0
    expect = Expectation(ready=("ready to roll",), timeout=seconds, settle=0.1, health_url=url, any_answer=True)

    def prove(_say: Callable[[str], None]) -> str | None:
        return "nvcc fatal" if broken else None

    return Hooks(lambda: Watch(UNIT, expect), prove=prove, redact=lambda text: text.replace("secret", "***"))


def say(event: Event) -> None:
    """Each event as a line."""
    print(event.kind, event.state, event.text, file=sys.stderr, flush=True)


def result(outcome: Outcome) -> int:
    """The outcome as one line of JSON."""
    print(json.dumps([outcome.name, outcome.exit, outcome.reason, outcome.left]), flush=True)
    return outcome.exit


def state() -> dict[str, object]:
    """Everything that a transaction may touch."""
    pid = run("systemctl", "show", "-P", "MainPID", UNIT).strip()
    voices = [v for v in environment_of(pid) if v.startswith(("VOICE=", "CUDA_HOME="))]
    mine = {name: run("systemctl", "show", "-P", "ActiveState", name).strip() for name in (UNIT, "demo-child.service")}
    return {
        "files": dict(tree(Path("/etc")) | tree(Path("/usr/local")) | tree(Path("/home/demo"))),
        "packages": run("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n").splitlines(),
        "automatic": automatic(),
        "alternatives": sorted(run("update-alternatives", "--get-selections").splitlines()),
        "audit": run("dpkg", "--audit").splitlines(),
        "units": mine,
        "environment": sorted(voices),
    }


def automatic() -> list[str]:
    """apt's marks of installed packages, as ``apt-mark showauto`` reads them."""
    installed = set(run("dpkg-query", "-W", "-f", "${Package}\n").split())
    text = Path("/var/lib/apt/extended_states").read_text()
    marked = (dict(line.split(": ", 1) for line in part.splitlines() if ": " in line) for part in text.split("\n\n"))
    found = {fields["Package"] for fields in marked if fields.get("Auto-Installed") == "1"}
    return sorted(found & installed)


def environment_of(pid: str) -> list[str]:
    """The environment that a process runs with."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0") if pid != "0" else []
    except OSError:
        return []


#: Files that differ without anybody's doing: a cache of the linker's, and logs of link changes.
NOISE = (
    "/etc/demo-configure-fails",
    "/etc/demo-daemon",
    "/etc/ld.so.cache",
    "/etc/.pwd.lock",
    "/etc/demo-new-fails",
    "/etc/demo-old-works",
    "/etc/demo-answers",
    "/etc/demo-hurries",
    "/etc/machine-id",
    "/etc/resolv.conf",
)


def tree(folder: Path) -> dict[str, list[object]]:
    """Every path below a folder: kind, mode, owner, contents, attributes; times of the files that are promised."""
    return {str(path): row for path in folder.rglob("*") if not str(path).startswith(NOISE) for row in rows(path)}


def rows(path: Path) -> Iterator[list[object]]:
    """What one path looks like."""
    try:
        found = path.lstat()
        data = ""
        if stat.S_ISLNK(found.st_mode):
            data = os.readlink(path)
        elif stat.S_ISREG(found.st_mode):
            data = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        attributes = [
            (name, os.getxattr(path, name, follow_symlinks=False).hex())
            for name in os.listxattr(path, follow_symlinks=False)
        ]
        promised = stat.S_ISREG(found.st_mode) and (path in (FRAGMENT, DEFAULTS) or CACHE in path.parents)
        mtime = found.st_mtime_ns if promised else 0
        yield [oct(found.st_mode), found.st_uid, found.st_gid, data, attributes, mtime]
    except FileNotFoundError:
        return


def act(job: Job, report: Report, interrupts: Interrupts) -> Outcome:
    """What the unit of a detached change does."""
    assert isinstance(job, Apply)
    return apply(job.plan, hooks(), report, interrupts=interrupts)


def main(command: str, *options: str) -> int:
    """One command; the exit code is the outcome's."""
    chosen = dict(option.split("=", 1) for option in options)
    try:
        match command:
            case "prepare":
                prepare()
            case "state":
                print(json.dumps(state()))
            case "apply":
                wanted = plan(hold=chosen.get("hold") != "no", packages=chosen.get("packages") != "no")
                asked = hooks(broken=chosen.get("proof") == "fails")
                return result(apply(wanted, asked, say, keep_packages=chosen.get("keep") == "yes"))
            case "recover":
                outcomes = recover(say, hooks_for=None if chosen.get("watch") == "no" else hooks)
                return max([result(outcome) for outcome in outcomes], default=0)
            case "apply-masked":
                return result(apply(Plan(UNIT, "x", (RestartUnit(UNIT, True),)), hooks(), say))
            case "apply-stale":
                made = plan()
                steps = (*made.steps[:-1], EditFile(FileEdit(str(FRAGMENT), b"as it was planned", b"new", "")))
                return result(apply(replace(made, steps=steps), hooks(), say))
            case "worker":
                return serve(act)
            case "detached":
                faults = [f"{name[7:]}={value}" for name, value in os.environ.items() if name.startswith("WORKER_")]
                worker = ["env", *faults, sys.executable, "-m", "tests.change.scene", "worker"]
                choice: Choice = chosen.get("choice", "watch")  # type: ignore[assignment]
                return result(
                    start(worker, request(Apply(plan(packages=chosen.get("packages") != "no"))), say, lambda: choice)
                )
            case "rollback":
                return result(rollback(say, hooks_for=hooks))
            case _:
                raise SystemExit(f"unknown command {command}")
    except RemedyError as error:
        print(json.dumps(["error", error.exit_code, error.message, [error.hint]]), flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
