"""Ordinary services on a machine whose CUDA toolchain is wrong: none of them is told that, and nothing is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from remedy.cli.diagnose import exit_code
from remedy.facts.ask import ask
from remedy.facts.run import Result
from remedy.repair import Wishes, plan_for
from remedy.road import look, seen_through
from tests.facts.answers import Answers
from tests.facts.test_gpus import SMI
from tests.facts.test_interpreter import VENV
from tests.facts.test_journal import entry
from tests.facts.test_toolkits import NVCC_128, apt_toolkit
from tests.memory import MemoryView

ACTIVE = "ActiveState=active\nSubState=running\nResult=success\nActiveEnterTimestampMonotonic=90000000\n"
EXITED = "ActiveState=inactive\nSubState=dead\nResult=success\nExecMainCode=1\nExecMainStatus=0\n"
FAILED = "ActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainCode=1\nExecMainStatus=1\n"
STARTING = "ActiveState=activating\nSubState=start\nResult=success\n"


@dataclass(frozen=True)
class Ordinary:
    """A unit of a Debian system, its state, what it logged, and the cause that may be named."""

    name: str
    service: str
    state: str = ACTIVE
    log: Sequence[str] = ()
    cause: str = "healthy"


UNITS = [
    Ordinary("ssh", "Type=notify\nExecStartPre=/usr/sbin/sshd -t\nExecStart=/usr/sbin/sshd -D $SSHD_OPTS\n"
             "EnvironmentFile=-/etc/default/ssh", log=["error: kex_exchange_identification: Connection reset by peer"]),
    Ordinary("cron", "ExecStart=/usr/sbin/cron -f $EXTRA_OPTS\nKillMode=process", log=["pam_unix: session opened"]),
    Ordinary("dbus", "Type=notify\nExecStart=/usr/bin/dbus-daemon --system --nofork\nOOMScoreAdjust=-900"),
    Ordinary("systemd-journald", "Type=notify\nExecStart=/lib/systemd/systemd-journald\nProtectHome=yes\n"
             "MemoryDenyWriteExecute=yes\nSystemCallFilter=@system-service"),
    Ordinary("getty@tty1", "Type=idle\nExecStart=-/sbin/agetty -o '-p -- \\\\u' --noclear %I $TERM"),
    Ordinary("apt-daily", "Type=oneshot\nExecStart=/usr/lib/apt/apt.systemd.daily update", EXITED),
    Ordinary("networking", "Type=oneshot\nRemainAfterExit=yes\nExecStart=/sbin/ifup -a --read-environment",
             FAILED, ["ifup: failed to bring up eth1"], "unknown"),
    Ordinary("nginx", "Type=forking\nPIDFile=/run/nginx.pid\nExecStart=/usr/sbin/nginx -g 'daemon on;'", FAILED,
             ["nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)"], "port-in-use"),
    Ordinary("nginx", "Type=forking\nPIDFile=/run/nginx.pid\nExecStart=/usr/sbin/nginx -g 'daemon on;'", FAILED,
             ["nginx: [emerg] unknown directive \"servre\" in /etc/nginx/nginx.conf:12"], "unknown"),
    Ordinary("unattended-upgrades", "ExecStart=/usr/bin/python3 /usr/share/unattended-upgrades/unattended-upgrade-"
             "shutdown --wait-for-signal"),
    Ordinary("fail2ban", "ExecStart=/usr/bin/fail2ban-server -xf start", FAILED,
             ["ERROR   Failed during configuration: Have not found any log file for sshd jail"], "unknown"),
    Ordinary("postgresql@15-main", "Type=forking\nExecStart=-/usr/bin/pg_ctlcluster --skip-systemctl-redirect %i start",
             FAILED, ["FATAL:  could not create shared memory segment: No space left on device"], "disk-full"),
    Ordinary("redis-server", "Type=notify\nUser=redis\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf",
             STARTING, ["WARNING Memory overcommit must be enabled!", "Ready to accept connections"]),
    Ordinary("docker", "Type=notify\nExecStart=/usr/bin/dockerd -H fd://", FAILED,
             ["failed to start daemon: error initializing graphdriver: driver not supported"], "unknown"),
    Ordinary("nvidia-persistenced", "Type=forking\nExecStart=/usr/bin/nvidia-persistenced --verbose"),
    Ordinary("dkms-build", "Type=oneshot\nExecStart=/usr/sbin/dkms autoinstall", FAILED,
             ["Building module: make -j16 KERNELRELEASE=6.1.0", "make: *** [Makefile:1918] Error 2"], "unknown"),
    Ordinary("buildbot", "ExecStart=/usr/bin/ninja -C /srv/build\nUser=build", FAILED,
             ["FAILED: src/main.o", "ninja: build stopped: subcommand failed."], "unknown"),
    Ordinary("buildbot", "ExecStart=/usr/bin/ninja -C /srv/build", FAILED,
             ["FAILED: main.o", "fatal error: foo.h: No such file or directory"], "unknown"),
    Ordinary("web", "WorkingDirectory=/srv/web\nExecStart=/srv/web/venv/bin/gunicorn app:app", FAILED,
             ["ModuleNotFoundError: No module named 'flask'"], "python-package-missing"),
    Ordinary("celery", "ExecStart=/srv/web/venv/bin/python -m celery worker", FAILED,
             ["subprocess.CalledProcessError: Command '['convert', 'a.png']' returned non-zero exit status 1."],
             "unknown"),
    Ordinary("exporter", "ExecStart=/usr/bin/prometheus-node-exporter $ARGS\nEnvironment=ARGS=--no-collector.wifi",
             log=["collected metric failed: permission denied"]),
    Ordinary("backup", "Type=oneshot\nExecStart=/bin/sh -c 'tar cf /b/x.tar /srv && echo done'", FAILED,
             ["tar: /srv/secret: Cannot open: Permission denied"], "sandbox-denied"),
    Ordinary("java-app", "ExecStart=/usr/bin/java -jar /srv/app.jar", FAILED,
             ["java.lang.OutOfMemoryError: Java heap space"], "unknown"),
    Ordinary("mailer", "Environment=PATH=/usr/local/cuda-12.8/bin:/usr/bin\nExecStart=/usr/bin/mailer", FAILED,
             ["Engine core initialization failed"], "unknown"),
]  # fmt: skip


def machine(unit: Ordinary) -> tuple[MemoryView, Answers, str]:
    """A machine with an nvcc that is too old for its GPUs, and an inference server's interpreter beside the unit."""
    template, _, instance = unit.name.partition("@")
    file = f"{template}@.service" if instance else f"{unit.name}.service"
    files, links, programs = apt_toolkit("12.8", 12080)
    view = MemoryView(
        {
            **VENV,
            **files,
            f"/lib/systemd/system/{file}": f"[Unit]\nDescription=x\n\n[Service]\n{unit.service}\n",
            "/srv/web/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.2\n",
            "/srv/web/venv/bin/gunicorn": "#!/srv/web/venv/bin/python\n",
            "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nredis:x:9:9::/var/lib/redis:/bin/false\n"
            "build:x:10:10::/srv/build:/bin/sh\n",
            "/etc/os-release": "ID=debian\nVERSION_ID=12\n",
            "/root/.cache/flashinfer/0.6.8.post1/120f/cached_ops/page/build.ninja": "rule x\n",
        },
        {**links, "/usr/lib/systemd": "/lib/systemd", "/usr/local/cuda": "/usr/local/cuda-12.8"},
        [*programs, "/usr/bin/gcc-12", "/srv/web/venv/bin/python", "/usr/bin/python3"],
    )
    asking, name = Answers({}), f"{unit.name}.service"
    ask(view, asking, name)
    journal, state, smi = asking.asked
    answers = {
        state: Result(0, (unit.state + "InvocationID=" + "a" * 32 + "\n").encode()),
        journal: Result(0, b"".join(entry(line.encode()) for line in unit.log)),
        smi: Result(0, SMI.encode()),
        ("/usr/local/cuda-12.8/bin/nvcc", "--version"): Result(0, NVCC_128),
    }
    return view, Answers(answers), name


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.name}: {unit.cause}")
def test_no_toolchain_cause_and_no_plan(unit: Ordinary) -> None:
    view, runner, name = machine(unit)
    there = seen_through(view, runner)
    seen = look(name, there)
    assert seen.snapshot.capabilities == ((12, 0),) and seen.snapshot.toolkits
    root = seen.diagnosis.root
    assert root.id == unit.cause, root
    assert not any(finding.toolchain for finding in seen.diagnosis.findings), seen.diagnosis.findings
    assert exit_code(seen.diagnosis) == (0 if unit.cause == "healthy" else 4)
    assert plan_for(seen, there, Wishes()).steps == ()
