"""The Debian package: built once, then installed, used, upgraded, removed and purged on a machine without remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.lab.machine import Machine, MachineError
from tests.packaging import shape
from tests.packaging.roots import OFFLINE, packaging_root

pytestmark = pytest.mark.machine

DEB = "/root/dist/remedy_0.1.0_*.deb"
NEWER = "/root/newer.deb"
APT = "DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends"
UNIT = "/etc/systemd/system/other.service"
#: What packages leave anywhere but in dpkg's and apt's own records, caches and logs.
TREE = "find /etc /usr /opt /srv /var -xdev \\( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o"
TREE += (
    " -path /var/log -o -path /var/lib/systemd -o -path /var/lib/private -o -path /var/tmp \\) -prune -o -print | sort"
)
#: The package is of another version and no other content.
REPACK = f"""
dpkg-deb -R {DEB} /root/unpacked && sed -i 's/^Version: .*/Version: 0.1.1/' /root/unpacked/DEBIAN/control &&
dpkg-deb -b /root/unpacked {NEWER}
"""


@dataclass(frozen=True)
class Target:
    """A machine with the built package on its disk; ``before`` is what it held without it."""

    machine: Machine
    before: list[str]

    def sh(self, command: str) -> str:
        return self.machine.exec(command).stdout

    def tree(self) -> list[str]:
        return self.sh(TREE).splitlines()


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with Machine(packaging_root(request.param)) as machine:
        machine.exec("/srv/remedy/scripts/build-deb /root/dist", env=OFFLINE)
        machine.exec(REPACK)
        # Once in and out: what the package depends on stays, and would hide what the package itself leaves.
        machine.exec(f"{APT} install {DEB} && {APT} purge remedy")
        yield Target(machine, machine.exec(TREE).stdout.splitlines())


def test_lintian_finds_no_error(target: Target) -> None:
    done = target.machine.exec(f"lintian --fail-on error,warning --suppress-tags no-manual-page {DEB}", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_installed_and_used(target: Target) -> None:
    target.sh(f"{APT} install {DEB}")
    assert target.sh("remedy --version") == "remedy 0.1.0\n"
    # The way in which a change's own unit, and the recovery at boot, call it.
    assert target.sh("/usr/lib/remedy/bin/python3 -I -m remedy --version") == "remedy 0.1.0\n"
    assert target.sh("systemctl is-enabled remedy-recover.service") == "enabled\n"
    assert target.sh("systemctl show -P LoadState remedy@x.service.service") == "loaded\n"
    assert "DIAGNOSE" in target.sh("man remedy").upper()
    assert target.sh("ls /usr/share/doc/remedy/examples").split() == ["remedy-check.conf", "remedy-on-failure.conf"]
    for file in ("bash-completion/completions/remedy", "zsh/vendor-completions/_remedy"):
        assert target.sh(f"head -c 1 /usr/share/{file}")
    assert "remedy/cli/__pycache__/app." in target.sh("find /usr/lib/remedy -name 'app.*.pyc'")
    assert target.sh("remedy history") == "No change was ever made by remedy on this machine.\n"


def test_a_failed_unit_is_diagnosed(target: Target) -> None:
    target.machine.write(UNIT, "[Unit]\nOnFailure=remedy@%n.service\n[Service]\nExecStart=/nowhere\n")
    target.machine.exec("systemctl daemon-reload; systemctl start other", check=False)
    target.sh("for i in $(seq 100); do remedy history --json | grep -q other && exit; sleep 0.1; done; exit 1")
    report = json.loads(target.sh("remedy history --json"))
    assert (report["unit"], report["cause"]) == ("other.service", "exec-failed")
    target.sh(f"rm {UNIT}; systemctl daemon-reload; systemctl reset-failed other")


def test_a_change_is_made(target: Target) -> None:
    shape.broken(target.machine)
    done = target.machine.exec("remedy fix shape --yes --json", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["outcome"] == "healthy"
    assert target.sh("systemctl is-active shape") == "active\n"
    target.sh("remedy rollback --yes")
    assert target.sh(f"cat {shape.SETTINGS}") == shape.FILES[shape.SETTINGS]
    target.sh("rm -rf /usr/local/bin/shape /etc/default/shape /etc/systemd/system/shape.service /var/lib/remedy")
    target.sh("systemctl daemon-reload")


def test_upgraded(target: Target) -> None:
    target.sh("mkdir -p -m 0700 /var/lib/remedy; systemctl disable -q remedy-recover; touch /var/lib/remedy/unfinished")
    target.sh(f"{APT} install {NEWER}")
    assert target.sh("dpkg-query -W -f '${Version} ${db:Status-Abbrev}' remedy") == "0.1.1 ii "
    assert target.sh("remedy --version; ls /var/lib/remedy") == "remedy 0.1.0\nunfinished\n"
    assert target.machine.exec("systemctl is-enabled remedy-recover", check=False).stdout == "disabled\n"
    assert target.sh("systemctl show -P ActiveState remedy-recover.service") == "inactive\n"


def test_not_removed_while_a_change_is_half_done(target: Target) -> None:
    with pytest.raises(MachineError, match="finish or undo it first: remedy recover"):
        target.sh(f"{APT} remove remedy")
    assert target.sh("remedy --version") == "remedy 0.1.0\n"
    target.sh("rm /var/lib/remedy/unfinished; touch /var/lib/remedy/kept")


def test_removed_then_purged(target: Target) -> None:
    target.sh(f"{APT} remove remedy")
    left = set(target.tree()) - set(target.before)
    assert left == {"/var/lib/remedy", "/var/lib/remedy/kept"}
    target.sh(f"{APT} purge remedy")
    assert target.tree() == target.before
    assert target.sh("systemctl --failed --no-legend") == ""


def test_a_purge_keeps_toolkits_that_services_may_use(target: Target) -> None:
    target.sh(f"{APT} install {DEB}; mkdir -p /var/lib/remedy/toolkits/13.0 /var/lib/remedy/transactions/x")
    done = target.machine.exec(f"{APT} purge remedy")
    assert "/var/lib/remedy/toolkits stays" in done.stderr + done.stdout
    assert target.sh("find /var/lib/remedy -mindepth 1") == "/var/lib/remedy/toolkits\n/var/lib/remedy/toolkits/13.0\n"


def test_pipx(target: Target) -> None:
    target.sh(
        "cp -r /srv/remedy /root/source && rm -rf /root/source/.venv /root/source/.git && python3 -m venv /root/build"
    )
    target.machine.exec("/root/build/bin/pip wheel -q --no-deps -w /root/wheel /root/source", env=OFFLINE)
    target.machine.exec("pipx install /root/wheel/remedy-*.whl", env=OFFLINE)
    assert target.sh("/root/.local/bin/remedy --version") == "remedy 0.1.0\n"
    assert "nvcc-too-old" in target.sh("/root/.local/bin/remedy explain nvcc-too-old")
    (venv,) = target.sh(
        "ls -d /root/.local/*/pipx/venvs/remedy /root/.local/pipx/venvs/remedy 2>/dev/null || true"
    ).split()
    assert "remedy@.service" in target.sh(f"ls {venv}/share/remedy/units")
