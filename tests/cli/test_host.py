"""``--host`` on a machine with a real sshd: its own python3 has none of what remedy is made with."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import host, recipe
from tests.lab.layers import Layer, build
from tests.lab.machine import Machine
from tests.lab.terminal import PROMPT, Terminal
from tests.packaging import shape

pytestmark = pytest.mark.machine

PACKAGES = ("openssh-server", "openssh-client")
#: A key, a user without rights, and one whose shell finds no program.
SETUP = """
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
for user in guest bare; do useradd -m -s /bin/sh $user; mkdir /home/$user/.ssh; done
tee /root/.ssh/authorized_keys /home/guest/.ssh/authorized_keys /home/bare/.ssh/authorized_keys \
    </root/.ssh/id_ed25519.pub >/dev/null
printf 'Match User bare\\n  SetEnv PATH=/nowhere\\n' >/etc/ssh/sshd_config.d/bare.conf
systemctl start ssh
ssh-keyscan -t ed25519 localhost >/root/.ssh/known_hosts 2>/dev/null
"""
LEFT = "find /tmp /var/tmp /dev/shm /root /run /var/lib -xdev -newer /root/stamp -type f -path '*remedy*'"


def install(root: Path) -> None:
    with host.chroot(root):
        host.run_in(root, "apt-get", "-q", "update")
        host.run_in(root, "apt-get", "-q", "-y", "--no-install-recommends", "install", *PACKAGES)
        host.run_in(root, "systemctl", "disable", "ssh")
        host.run_in(root, "mkdir", "-p", "-m", "700", "/root/.ssh")


@pytest.fixture(scope="module")
def served() -> Iterator[Machine]:
    host.check_rights()
    host.install_tools()
    layers = (*recipe.layers("bookworm")[:2], Layer("ssh", install, (Path(__file__),)))
    with Machine(build("bookworm", layers, print)) as machine:
        machine.exec(["sh", "-ec", SETUP])
        shape.broken(machine)
        yield machine


def same(said: str) -> str:
    """What was said, wherever it was: commands without the host that they lead to, on lines of any length."""
    return re.sub(r"\s+", " ", said.replace("--host root@localhost ", ""))


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("diagnose shape --json", 3),
        ("diagnose shape", 3),
        ("show shape --json", 0),
        ("show nosuch", 2),
        ("check shape", 0),
        ("toolkits --json", 0),
        ("history", 0),
        ("fix shape --dry-run --json", 3),
        ("diagnose 'no such'", 2),
        ("diagnose --help", 0),
    ],
)
def test_a_look_says_there_what_it_says_here(served: Machine, command: str, code: int) -> None:
    here = served.exec(["sh", "-c", f"remedy {command}"], check=False)
    served.exec("touch /root/stamp")
    there = served.exec(["sh", "-c", f"remedy --host root@localhost {command}"], check=False)
    assert (same(there.stdout), same(there.stderr)) == (same(here.stdout), same(here.stderr))
    assert "remedy fix" not in there.stdout and there.returncode == here.returncode
    assert there.returncode == code
    assert served.exec(LEFT, check=False).stdout == ""


def test_a_snapshot_from_there_is_diagnosed_here(served: Machine) -> None:
    served.exec("remedy snapshot shape --host root@localhost >/root/facts.json")
    done = served.exec("remedy diagnose shape --snapshot /root/facts.json --json", check=False)
    assert json.loads(done.stdout)["causes"][0]["id"] == shape.CAUSE


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--host bare@localhost diagnose shape", 1, "there is no python3 on bare@localhost"),
        ("--host nobody@localhost diagnose shape", 1, "the ssh connection to nobody@localhost failed"),
        ("--host bare@localhost fix shape --yes", 1, "there is no python3 on bare@localhost"),
        (
            "--host guest@localhost fix shape --yes",
            7,
            "can change the machine\n  remedy --host root@localhost",
        ),
    ],
)
def test_what_is_missing_is_said(served: Machine, line: str, code: int, said: str) -> None:
    done = served.exec(f"remedy {line}", check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert said in done.stderr


def test_what_others_can_write_is_not_run_as_root(served: Machine) -> None:
    served.exec("chmod o+w /usr/local/bin/remedy")
    line = "/opt/remedy-venv/bin/python -m remedy --host root@localhost fix shape --yes --json"
    done = served.exec(line, check=False)
    served.exec("chmod o-w /usr/local/bin/remedy")
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (7, "refused")
    assert "/usr/local/bin/remedy is not run as root: /usr/local/bin/remedy is writable by everyone" in done.stderr


def test_a_watch_needs_nothing_compiled(served: Machine) -> None:
    done = served.exec("remedy --host root@localhost watch shape --json", check=False)
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["causes"][0]["id"] == shape.CAUSE


def test_a_report_needs_nothing_compiled(served: Machine) -> None:
    served.exec("remedy --host root@localhost diagnose shape --report", check=False)
    served.exec("journalctl --sync")
    told = served.exec("remedy --host root@localhost history --json").stdout.splitlines()
    assert [one["cause"] for one in map(json.loads, told)] == [shape.CAUSE]


def test_a_watch_ends_there_when_it_ends_here(served: Machine) -> None:
    def there() -> str:
        return served.exec("pgrep -f '^python3 -I -X utf8'", check=False).stdout

    watching = served.start("exec remedy --host root@localhost watch shape --timeout 100")
    deadline = time.monotonic() + 20
    while not there() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert there()
    served.exec("pkill -INT -f '[r]emedy --host'")
    assert watching.wait(timeout=20) == 130
    while there() and time.monotonic() < deadline + 20:
        time.sleep(0.1)
    assert there() == ""


def test_a_terminal_reaches_through(served: Machine) -> None:
    with Terminal(served, 60) as terminal:
        terminal.type("remedy diagnose shape")
        terminal.type("remedy --host root@localhost diagnose shape")
        _, here, there, _ = re.split(re.escape(PROMPT) + r"[^\r]*\r\n|" + re.escape(PROMPT) + "$", terminal.output)
        assert "\x1b[1mshape.service: " in here
        assert same(there) == same(here)
        terminal.type("remedy --host root@localhost fix shape", until="[y/N] ")
        terminal.type("n")
    assert "not confirmed; nothing was touched" in terminal.output


def test_a_change_is_made_and_undone_by_the_remedy_there(served: Machine) -> None:
    before = served.read(shape.SETTINGS)
    done = served.exec("remedy --host root@localhost fix shape --yes --json", check=False)
    assert (done.returncode, json.loads(done.stdout.splitlines()[-1])["outcome"]) == (0, "healthy"), done.stderr
    assert served.read(shape.SETTINGS) != before
    assert served.exec("remedy --host root@localhost rollback --yes", check=False).returncode == 0
    assert served.read(shape.SETTINGS) == before


@pytest.fixture
def nothing_there(served: Machine) -> Iterator[str]:
    """The command as an operator has it, elsewhere; over ssh no remedy is found, and nothing that is compiled."""
    served.exec("mkdir -p /opt/operator && mv /usr/local/bin/remedy /opt/operator/remedy; systemctl reset-failed")
    shape.broken(served)
    yield "/opt/operator/remedy --host root@localhost"
    served.exec("mv /opt/operator/remedy /usr/local/bin/remedy")


CODE = "find /var/lib/remedy/code -mindepth 1 | head"


def test_a_change_is_made_and_undone_where_there_is_only_python(served: Machine, nothing_there: str) -> None:
    before = served.read(shape.SETTINGS)
    shown = served.exec(f"{nothing_there} diagnose shape", check=False).stdout
    assert "remedy --host root@localhost fix shape.service\n" in shown
    done = served.exec(f"{nothing_there} fix shape --yes", check=False)
    assert (done.returncode, "remedy --host root@localhost rollback" in done.stdout) == (0, True), done.stderr
    assert served.read(shape.SETTINGS) != before
    assert served.exec(f"{nothing_there} rollback --yes --json", check=False).returncode == 0
    assert served.read(shape.SETTINGS) == before
    assert served.exec(CODE).stdout == ""


def test_a_power_cut_is_made_good_by_the_code_that_was_brought(served: Machine, nothing_there: str) -> None:
    before = served.read(shape.SETTINGS)
    served.write("/usr/local/bin/shape", "#!/bin/sh\necho begun\nexec sleep infinity\n", mode=0o755)
    served.start(f"{nothing_there} fix shape --yes")
    served.exec("for i in $(seq 200); do systemctl is-active -q shape && exit; sleep 0.1; done; exit 1")
    assert served.read(shape.SETTINGS) != before
    left = served.exec("stat -c '%a %U' /var/lib/remedy/code/* /var/lib/remedy/code").stdout.split("\n")
    assert left == ["700 root", "700 root", ""]
    served.kill()
    served.boot()
    assert served.read(shape.SETTINGS) == before
    assert served.exec(CODE).stdout == ""
    assert served.exec("test -e /etc/systemd/system/remedy-recover.service", check=False).returncode == 1
    served.exec("systemctl start ssh")
    assert "rolled-back" in served.exec(f"{nothing_there} history").stdout
