"""Plays the story on a lab machine and prints it; ends with 0 only where every command ended as it should."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.lab.machine import Machine
from tests.lab.recipe import build

UNIT = "sglang-k26.service"
#: The server builds what SGLang builds: FlashInfer's sampling kernels, a minute of nvcc.
REAL = f"""mkdir -p /etc/systemd/system/{UNIT}.d
printf '[Service]\\nEnvironment="LAB_SERVER_ARGS=--module sampling"\\n' >/etc/systemd/system/{UNIT}.d/05-lab.conf
systemctl daemon-reload"""
BREAK = f"""mkdir -p /etc/systemd/system/{UNIT}.d
cat >/etc/systemd/system/{UNIT}.d/10-fault.conf <<'END'
[Service]
Environment="LAB_SERVER_ARGS=--fail-after 2 'CUDA error: an illegal memory access was encountered'"
END
systemctl daemon-reload"""
STATE = f"sha256sum /etc/systemd/system/{UNIT}; dpkg-query -W | sha256sum; readlink /etc/alternatives/cuda"


class Story:
    """One machine, and the commands typed on it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def tell(self, text: str) -> None:
        print(f"\n\x1b[1m# {text}\x1b[0m" if sys.stdout.isatty() else f"\n# {text}", flush=True)

    def type(self, command: str, expect: int = 0) -> None:
        """Run a command as root on the machine, its output going straight to the reader."""
        print(f"\nroot@lab:~# {command}", flush=True)
        done = subprocess.run(self.machine.argv(["bash", "-c", command]), stdin=subprocess.DEVNULL)
        if done.returncode != expect:
            raise SystemExit(f"the story went wrong: exit code {done.returncode}, expected {expect}")

    def quietly(self, command: str) -> str:
        return self.machine.exec(["bash", "-c", command], check=False).stdout


def play(story: Story) -> None:
    story.tell("A service that ran for weeks was restarted, and does not come up any more.")
    story.quietly(REAL)
    story.quietly(f"apt-get -qq update; systemctl start {UNIT}")
    while story.quietly(f"systemctl is-active {UNIT}").strip() in ("active", "activating"):
        story.quietly("sleep 0.5")
    story.type(f"journalctl -u {UNIT} -o cat -n 4 --no-pager")

    story.tell("The last line blames the GPU. What is it really?")
    story.type(f"remedy diagnose {UNIT}", expect=3)

    story.tell("What would be done about it? Nothing is touched yet.")
    story.type(f"remedy fix {UNIT} --dry-run", expect=3)

    story.tell("Do it: packages, proof, edit, restart, watch. The kernels are compiled for real.")
    story.type(f"remedy fix {UNIT} --yes")
    story.type("python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:30000/health\").status)'")

    story.tell("A second time there is nothing to do.")
    story.type(f"remedy fix {UNIT} --yes")

    story.tell("It can be undone, to the byte.")
    story.type("remedy rollback --yes")

    story.tell("Now the same mend, but the server will fail for another reason: it is rolled back by itself.")
    story.quietly(BREAK)
    before = story.quietly(STATE)
    story.type(f"remedy fix {UNIT} --yes", expect=5)
    if story.quietly(STATE) != before:
        raise SystemExit("the story went wrong: the machine is not as it was before")
    print("\nunit, packages and /usr/local/cuda are the same as before, byte for byte:\n" + before)
    story.type("remedy history")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    with Machine(build()) as machine:
        play(Story(machine))
    print("\nThe machine is gone; nothing of it is left.")


if __name__ == "__main__":
    main()
