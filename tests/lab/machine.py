"""A machine to break: the lab's root under a fresh disk, booted with systemd as PID 1 in about a second.

    with Machine(recipe.build()) as machine:
        machine.exec("systemctl start sglang-k26.service", check=False)
        machine.kill()      # every process gone at once, the disk stays
        machine.boot()      # the same disk again

With ``disk="ext4"`` there is also ``machine.cut_power()``, which loses what was not yet written to the disk.

The host's units are never touched: nothing is registered with the host's systemd, and only processes that this
object started are ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.lab import cgroups, disks, layers
from tests.lab.layers import Root

PROJECT = Path(__file__).resolve().parent.parent.parent
#: What a command gets: a login's PATH and nothing of the caller's.
ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
#: Disks lie in memory while the host has this much to spare (kB), else in the lab's folder.
MEMORY_FOR_DISK = 6 * 1024 * 1024
BOOT_TIMEOUT = 60.0
#: The kernel ends the whole machine when its owner ends, however that happens: nspawn alone would leave its
#: payload running, so it gets a PID namespace, and that ends with its first process.
_LEASH = ("unshare", "--mount-proc", "--pid", "--fork", "--kill-child=KILL", "--")
_numbers = itertools.count(1)

Command = str | Sequence[str]
Done = subprocess.CompletedProcess[str]


class MachineError(RuntimeError):
    """A command in the machine failed, or the machine did not boot."""


class Machine:
    """One machine with a disk of its own; a context manager that boots it, and removes it at the end.

    `network=True` shares the host's network (Debian's mirrors, PyPI); by default the machine has only its own
    loopback, so that machines side by side can use the same ports.  The project is at /srv/remedy, read-only.
    `disk` names a file system of `disks.IMAGES` for a disk that can lose its power.

    The thread that boots a machine must outlive it: the kernel ends the machine with it (prctl(2), PR_SET_PDEATHSIG).
    """

    def __init__(self, root: Root, *, network: bool = False, project: Path = PROJECT, disk: str | None = None) -> None:
        self.root = root
        self.network = network
        self.project = project
        self.name = f"lab-{os.getpid()}-{next(_numbers)}"
        self.folder = layers.lab_dir() / "machines" / self.name
        self.disk = self.folder / "disk"
        self._store, self._image = self.folder / "store", disk
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._leader = 0
        self._owner: IO[str] | None = None

    def __enter__(self) -> Machine:
        remove_abandoned()
        try:
            self._make_disk()
            self.boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The disk

    def _make_disk(self) -> None:
        # Locked before it bears its name: else another process could take it for an abandoned one.
        new = self.folder.with_name("." + self.name)
        new.mkdir(parents=True, mode=0o700)
        self._owner = (new / "owner").open("w")
        fcntl.flock(self._owner, fcntl.LOCK_EX)
        new.rename(self.folder)
        self.disk.mkdir()
        self._store.mkdir()
        if self._image is not None:
            disks.mount_image(self._store, self._image)
        elif _memory_available() > MEMORY_FOR_DISK:
            disks.mount_memory(self._store)
        for name in ("upper", "work"):
            (self._store / name).mkdir(mode=0o755)
        self._mount_disk()

    def _mount_disk(self) -> None:
        lower = ":".join(map(str, self.root.layers))
        options = f"lowerdir={lower},upperdir={self._store}/upper,workdir={self._store}/work,{layers.OVERLAY_OPTIONS}"
        subprocess.run(["mount", "-t", "overlay", "-o", options, "remedy-lab", str(self.disk)], check=True)

    # Power

    def boot(self) -> None:
        """Boot from this machine's disk, and wait until systemd says that it is up (running or degraded)."""
        if self.running:
            return
        pycache = layers.lab_dir() / "pycache"
        pycache.mkdir(mode=0o777, exist_ok=True)
        pycache.chmod(0o777)
        argv = ["systemd-nspawn", "-q", "-D", str(self.disk), f"--machine={self.name}", "--hostname=lab"]
        argv += ["--register=no", "--keep-unit", "--console=read-only", "--kill-signal=SIGRTMIN+3"]
        argv += [f"--bind-ro={self.project}:/srv/remedy", f"--bind={pycache}:/var/cache/remedy-pyc"]
        argv += ["--resolv-conf=copy-host"] if self.network else ["--private-network", "--resolv-conf=off"]
        groups = [f"{folder}/cgroup.procs" for folder in cgroups.folders(self.name)]
        enter = 'until [ "$1" = -- ]; do echo $$ >"$1" || exit; shift; done; shift; exec "$@"'
        with (self.folder / "console.log").open("ab") as console:
            self._nspawn = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "sh", "-c", enter, "sh", *groups, "--", *_LEASH, *argv, "-b"],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
                env={"PATH": ENVIRONMENT["PATH"]},
            )
        self._wait_until_up(time.monotonic() + BOOT_TIMEOUT)

    def _wait_until_up(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            if self._nspawn is None or self._nspawn.poll() is not None:
                break
            if self._find_leader():
                asked = self.exec(["systemctl", "is-system-running", "--wait"], check=False, timeout=BOOT_TIMEOUT)
                if asked.stdout.strip() in {"running", "degraded"}:
                    return
            time.sleep(0.02)
        console = (self.folder / "console.log").read_text(errors="replace")[-2000:]
        self.kill()
        raise MachineError(f"{self.name} did not boot:\n{console}")

    def _find_leader(self) -> bool:
        """Find the machine's PID 1, as the host numbers it: the child of nspawn that runs systemd."""
        nspawns = _children(self._nspawn.pid) if self._nspawn is not None else []
        for child in itertools.chain.from_iterable(map(_children, nspawns)):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{child}/exe").endswith("/systemd"):
                    self._leader = child
                    return True
        return False

    @property
    def leader(self) -> int:
        """The machine's PID 1, as the host numbers it; 0 while it is off."""
        return self._leader

    @property
    def running(self) -> bool:
        """Whether the machine is up (it may have powered off by itself)."""
        return self._nspawn is not None and self._nspawn.poll() is None

    def kill(self) -> None:
        """End all at once: SIGKILL to the first process, and with it, by the kernel, to all that it runs. What they
        wrote stays."""
        if self._nspawn is None:
            return
        for process in _children(self._nspawn.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            self._nspawn.wait(10.0)
        except subprocess.TimeoutExpired:
            self._nspawn.kill()
            self._nspawn.wait()
        self._gone()

    def cut_power(self) -> None:
        """End all at once, and lose what the kernel had not yet written. For a machine with an image as its disk."""
        assert self._image is not None
        self.kill()
        disks.keep_written(self._store)
        subprocess.run(["umount", str(self.disk)], check=True)
        disks.lose_unwritten(self._store, self._image)
        self._mount_disk()

    def poweroff(self, timeout: float = 60.0) -> None:
        """Shut down in order, and wait for the end of it."""
        if self._nspawn is None:
            return
        self.exec(["systemctl", "poweroff", "--no-block"], check=False)
        self._nspawn.wait(timeout)
        self._gone()

    def reboot(self) -> None:
        """Shut down in order, and boot from the same disk."""
        self.poweroff()
        self.boot()

    def _gone(self) -> None:
        """Wait until the last process has let go of the disk: the kernel ends a PID namespace on its own time."""
        leader, self._nspawn, self._leader = self._leader, None, 0
        deadline = time.monotonic() + 10.0
        while leader and os.path.exists(f"/proc/{leader}") and time.monotonic() < deadline:
            time.sleep(0.005)

    def close(self) -> None:
        """End the machine and remove its disk."""
        try:
            self.kill()
        finally:
            cgroups.remove(self.name)
            if self.folder.exists():
                layers.remove(self.folder)
            if self._owner is not None:
                self._owner.close()
                self._owner = None

    # Commands and files

    def argv(self, command: Command, *, env: Mapping[str, str] | None = None, user: str | None = None) -> list[str]:
        """The host's command line that runs `command` inside; a string is given to sh."""
        if not self.running:
            raise MachineError(f"{self.name} is not running")
        if not os.path.exists(f"/proc/{self._leader}/exe"):
            self._find_leader()
        inside = ["sh", "-c", command] if isinstance(command, str) else list(command)
        extra = [f"{name}={value}" for name, value in (env or {}).items()]
        base = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
        # As from a terminal: whoever runs the tests in the background of a shell ignores SIGINT, and so would these.
        fresh = ["env", "-i", "--default-signal=INT", *base]
        argv = ["nsenter", "-t", str(self._leader), "-a", "--root", "--wd", "--", *fresh]
        if user is not None:
            argv += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env", "env"]
            argv += [f"PATH={ENVIRONMENT['PATH']}"]
        return [*argv, *extra, *inside]

    def exec(
        self,
        command: Command,
        *,
        check: bool = True,
        timeout: float | None = 600.0,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        input: str | None = None,
    ) -> Done:
        """Run a command inside, from /, and return its status and output.

        Raises MachineError with both outputs where `check` is set and the command fails, and
        subprocess.TimeoutExpired after `timeout` seconds.
        """
        done = subprocess.run(
            self.argv(command, env=env, user=user),
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
        )
        if check and done.returncode != 0:
            shown = command if isinstance(command, str) else shlex.join(command)
            raise MachineError(f"{shown}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, command: Command, *, env: Mapping[str, str] | None = None, user: str | None = None) -> Process:
        """Start a command inside without waiting for it: for what is killed, watched or answered half-way."""
        return subprocess.Popen(
            self.argv(command, env=env, user=user),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def read(self, path: str) -> bytes:
        """The bytes of a file inside; FileNotFoundError where it isn't (or isn't readable)."""
        done = subprocess.run(self.argv(["cat", "--", path]), capture_output=True)
        if done.returncode != 0:
            raise FileNotFoundError(done.stderr.decode(errors="replace").strip())
        return done.stdout

    def write(self, path: str, data: bytes | str, *, mode: int = 0o644, owner: str = "root:root") -> None:
        """Write a file inside, with its folder where that is missing.  The file is replaced, not rewritten."""
        content = data.encode() if isinstance(data, str) else data
        script = (
            'mkdir -p "$(dirname "$1")" && new=$(mktemp "$1.XXXXXX") && cat >"$new"'
            ' && chown "$3" "$new" && chmod "$2" "$new" && mv -T "$new" "$1"'
        )
        argv = self.argv(["sh", "-c", script, "sh", path, f"{mode:o}", owner])
        done = subprocess.run(argv, input=content, capture_output=True)
        if done.returncode != 0:
            raise MachineError(f"{path}: {done.stderr.decode(errors='replace').strip()}")

    def journal(self, unit: str, *options: str) -> str:
        """The messages of a unit, as `journalctl -u UNIT -o cat` prints them."""
        return self.exec(["journalctl", "--no-pager", "-o", "cat", "-u", unit, *options]).stdout


Process = subprocess.Popen[str]


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _memory_available() -> int:
    """MemAvailable of the host, in kB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))


def remove_abandoned() -> None:
    """Remove machines whose owner has died: the kernel ended their processes, and let go of the owner's lock."""
    for folder in _machine_folders():
        with contextlib.suppress(FileNotFoundError), (folder / "owner").open("r+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            cgroups.remove(folder.name)
            layers.remove(folder)


def _machine_folders() -> Iterator[Path]:
    folder = layers.lab_dir() / "machines"
    return (each for each in folder.iterdir() if not each.name.startswith(".")) if folder.is_dir() else iter(())
