"""The catalogue of faults: what a change does on a machine where something else goes wrong, one test a fault."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.change.compare import changed
from tests.change.stage import PROGRAM, Ended, Stage
from tests.lab.machine import Machine

pytestmark = pytest.mark.machine
BUILT = "/files//home/demo/.cache/flashinfer/cached_ops/sampling/built"
FRAGMENT = "/etc/systemd/system/demo.service"


@pytest.fixture
def stage(machine: Machine) -> Stage:
    """One machine for all of this file: each test sets the scene anew, and puts back what else it changed."""
    return Stage(machine)


def working(stage: Stage) -> dict[str, object]:
    """The service runs under the old toolchain."""
    stage.sh("touch /etc/demo-old-works; systemctl start demo demo-child; sleep 0.5")
    state = stage.state()
    assert state["units"] == {"demo.service": "active", "demo-child.service": "active"}
    return state


def refused(stage: Stage, ended: Ended, old: dict[str, object], *words: str) -> None:
    """Nothing was touched, and the reason says all of ``words``."""
    assert ended.exit == 7, ended
    assert all(word in f"{ended.reason} {ended.left}" for word in words), ended
    assert changed(old, stage.state()) == []
    assert stage.sh("ls /var/lib/remedy/transactions 2>/dev/null || true") == ""


def went_back(stage: Stage, ended: Ended, old: dict[str, object], *words: str) -> None:
    """All is as before, and the reason says all of ``words``."""
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 5, ()), ended
    assert all(word in ended.reason for word in words), ended
    assert changed(old, stage.state(), but=(BUILT,)) == []


def test_etc_is_read_only(stage: Stage) -> None:
    old = working(stage)
    stage.sh("mount --bind /etc /etc && mount -o remount,ro,bind /etc")
    try:
        refused(stage, stage.play("apply", "packages=no"), old, "read-only")
    finally:
        stage.sh("umount /etc")


def test_etc_turns_read_only_while_the_service_starts(stage: Stage) -> None:
    """What can't be put back is named, and comes back once /etc can be written again."""
    stage.sh("sed -i 's/^mkdir/[ $VOICE = old ] || { sleep 2; exit 1; }\\n&/' /usr/local/bin/demo")
    old = working(stage)
    stage.sh("mount --bind /etc /etc")
    try:
        process = stage.begin("apply", "packages=no")
        stage.wait_for(process, "progress running")
        stage.sh("mount -o remount,ro,bind /etc")
        ended = stage.finish(process)
        assert (ended.name, ended.exit) == ("rollback-incomplete", 6), ended
        for path in (FRAGMENT, "/etc/default/demo", f"{FRAGMENT}.d/50-remedy.conf"):
            assert any(path in line and "Read-only" in line and "remedy recover" in line for line in ended.left), ended
    finally:
        stage.sh("umount -l /etc")
    ended = stage.play("recover")
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 0, ()), ended
    assert changed(old, stage.state(), but=(BUILT,)) == []


def test_the_disk_of_the_ledger_is_full(stage: Stage) -> None:
    old = working(stage)
    stage.sh("mkdir -p /var/lib/remedy && mount -t tmpfs -o size=100k none /var/lib/remedy")
    try:
        refused(stage, stage.play("apply"), old, "/var/lib/remedy", "No space left")
    finally:
        stage.sh("umount /var/lib/remedy")


def test_the_managers_reload_fails(stage: Stage) -> None:
    # systemd refuses to reload where /run has too little space for its own state (16 MiB, since 251).
    old = working(stage)
    stage.sh("mount -o remount,size=20m /run && head -c 18M /dev/zero > /run/filler")
    try:
        if stage.machine.exec("systemctl daemon-reload", check=False).returncode == 0:
            pytest.skip("this systemd reloads on a full /run")
        went_back(stage, stage.play("apply"), old, "daemon-reload failed")
    finally:
        stage.sh("rm /run/filler; mount -o remount,size=50% /run")


def test_the_message_bus_is_away(stage: Stage) -> None:
    old = working(stage)
    stage.sh("systemctl stop dbus.socket dbus.service; systemctl mask --runtime dbus.socket dbus.service")
    try:
        refused(stage, stage.play("apply"), old, "D-Bus")
    finally:
        stage.sh("systemctl unmask --runtime dbus.socket dbus.service; systemctl start dbus.socket dbus.service")


def test_the_message_bus_goes_during_the_watch(stage: Stage) -> None:
    stage.sh("sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 3\\n&/' /usr/local/bin/demo")
    old = working(stage)
    process = stage.begin("apply")
    stage.wait_for(process, "progress running")
    stage.sh("systemctl restart dbus.service")
    ended = stage.finish(process)
    if ended.name == "healthy":
        assert stage.state()["environment"] == ["CUDA_HOME=/usr/local/cuda-13.9", "VOICE=new"]
    else:
        went_back(stage, ended, old)


def test_the_unit_was_masked_meanwhile(stage: Stage) -> None:
    working(stage)
    stage.sh(f"mv {FRAGMENT} /var/tmp/demo; ln -s /dev/null {FRAGMENT}; systemctl daemon-reload")
    try:
        old = stage.state()
        ended = stage.play("apply-masked")
        refused(stage, ended, old, "masked")
    finally:
        stage.sh(f"rm {FRAGMENT}; systemctl daemon-reload; systemctl stop demo")


def test_the_start_limit_was_hit(stage: Stage) -> None:
    stage.sh(f"sed -i 's/^Description=Demo/&\\nStartLimitIntervalSec=1h\\nStartLimitBurst=2/' {FRAGMENT}")
    stage.sh("systemctl daemon-reload")
    # A start of Type=simple succeeds whatever comes of it: only one that the limit forbids is refused.
    at_rest = "while systemctl is-active -q demo; do sleep 0.1; done"
    limit = f"for i in $(seq 9); do systemctl start demo || exit 42; {at_rest}; done"
    assert stage.machine.exec(limit, check=False).returncode == 42
    assert stage.play("apply").name == "healthy"


def test_units_bound_to_it_come_back_with_it(stage: Stage) -> None:
    bound = "[Unit]\\nBindsTo=demo.service\\nAfter=demo.service\\n[Service]\\nExecStart=/bin/sleep infinity\\n"
    stage.sh(f"printf '{bound}' > /etc/systemd/system/bound.service; systemctl daemon-reload")
    try:
        old = working(stage)
        stage.sh("systemctl start bound; touch /etc/demo-new-fails")
        went_back(stage, stage.play("apply"), old)
        assert stage.sh("systemctl is-active bound") == "active\n"
    finally:
        stage.sh("systemctl stop bound; rm /etc/systemd/system/bound.service; systemctl daemon-reload")


def test_its_socket_stays(stage: Stage) -> None:
    socket = "[Socket]\\nListenStream=/run/demo.sock\\n"
    stage.sh(f"printf '{socket}' > /etc/systemd/system/demo.socket; systemctl daemon-reload")
    try:
        stage.sh("systemctl start demo.socket")
        old = working(stage)
        stage.sh("touch /etc/demo-new-fails")
        went_back(stage, stage.play("apply"), old)
        assert stage.sh("systemctl is-active demo.socket") == "active\n"
    finally:
        stage.sh("systemctl stop demo.socket demo; rm /etc/systemd/system/demo.socket; systemctl daemon-reload")


@pytest.mark.parametrize(
    "command",
    [
        "journalctl --rotate",
        "journalctl --rotate; journalctl --vacuum-files=1 --vacuum-size=1",
        "systemctl restart systemd-journald",
        "journalctl --relinquish-var",
    ],
    ids=["rotated", "vacuumed", "restarted", "becomes-volatile"],
)
def test_the_journal_during_the_watch(stage: Stage, command: str) -> None:
    """The ready line is found in whatever file it comes to stand."""
    stage.sh("sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 2\\n&/' /usr/local/bin/demo")
    working(stage)
    process = stage.begin("apply")
    stage.wait_for(process, "progress running")
    stage.sh(command)
    ended = stage.finish(process)
    stage.sh("journalctl --flush")
    assert (ended.name, ended.reason) == ("healthy", "the ready line was logged"), ended


JOURNALD = "systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket"


@pytest.fixture
def no_journal(stage: Stage) -> Iterator[Stage]:
    """journald away, and its sockets with it."""
    stage.sh("touch /etc/demo-old-works; systemctl start demo demo-child")
    stage.sh(f"systemctl mask --runtime {JOURNALD} systemd-journald.service")
    stage.sh(f"systemctl stop {JOURNALD} systemd-journald.service")
    yield stage
    stage.sh(f"systemctl unmask --runtime {JOURNALD} systemd-journald.service; systemctl start {JOURNALD}")
    stage.sh("systemctl start systemd-journald; rm -f /etc/demo-answers /etc/demo-hurries")


def test_without_a_journal_the_answer_decides(no_journal: Stage) -> None:
    no_journal.sh("touch /etc/demo-answers")
    ended = no_journal.play("apply")
    assert (ended.name, ended.reason) == ("healthy", "http://127.0.0.1:8399/ answers"), ended


def test_without_a_journal_and_an_answer_the_reason_is_told(no_journal: Stage) -> None:
    no_journal.sh("touch /etc/demo-hurries")
    ended = no_journal.play("apply", "packages=no")
    assert "a ready line could not have been seen: systemd-journald does not run" in ended.reason, ended
    # The old service can't be seen to be ready either; it runs, and that was its state.
    assert (ended.name, ended.exit, ended.left) == ("rolled-back", 5, ()), ended


def test_a_ready_line_that_journald_drops_is_not_needed(stage: Stage) -> None:
    """systemd.exec(5), LogRateLimitBurst=; journald lets some more through the more space its disk has."""
    stage.sh(f"sed -i 's/^ExecStart/LogRateLimitIntervalSec=1h\\nLogRateLimitBurst=1\\n&/' {FRAGMENT}")
    stage.sh("sed -i 's/^echo \"ready/seq 30\\n&/' /usr/local/bin/demo; touch /etc/demo-answers")
    stage.sh("systemctl daemon-reload")
    ended = stage.play("apply", "packages=no")
    assert (ended.name, ended.reason) == ("healthy", "http://127.0.0.1:8399/ answers"), ended
    stage.sh("systemctl stop demo; rm /etc/demo-answers")


@pytest.mark.parametrize("days", [-400, 400])
def test_the_clock_jumps_during_the_watch(stage: Stage, days: int) -> None:
    """The wall clock is another one from a second after the process began: no deadline counts by it."""
    stage.sh("gcc -shared -fPIC -O1 -o /var/tmp/clock.so /srv/remedy/tests/change/clock.c -ldl")
    stage.sh("sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 2\\n&/' /usr/local/bin/demo")
    working(stage)
    process = stage.machine.start(
        ["env", "LD_PRELOAD=/var/tmp/clock.so", f"CLOCK_DAYS={days}", *PROGRAM, "apply", "packages=no"]
    )
    ended = stage.finish(process)
    assert (ended.name, ended.reason) == ("healthy", "the ready line was logged"), ended
    assert stage.play("rollback").exit == 0


def test_a_start_that_is_under_way_is_replaced(stage: Stage) -> None:
    stage.sh("sed -i 's/^echo \"ready/[ $VOICE = new ] || sleep 60\\n&/' /usr/local/bin/demo")
    stage.sh("touch /etc/demo-old-works; systemctl start demo; sleep 0.5")
    ended = stage.play("apply")
    assert (ended.name, ended.reason) == ("healthy", "the ready line was logged"), ended
    assert stage.state()["environment"] == ["CUDA_HOME=/usr/local/cuda-13.9", "VOICE=new"]


def test_the_unit_is_edited_between_plan_and_apply(stage: Stage) -> None:
    working(stage)
    old = stage.state()
    ended = stage.play("apply-stale")
    refused(stage, ended, old, "has changed since the plan was made")


@pytest.mark.parametrize(
    ("settings", "line", "words"),
    [
        ("Type=notify", "sleep infinity", "timeout"),
        ("Type=forking", "sleep infinity \\& exit 0", ""),
        ("Type=simple", "exit 0", ""),
        ("Restart=always\\nRestartSec=1", "exit 3", "restarts it"),
    ],
    ids=["job-timeout", "forks-and-stays-silent", "ends-at-once", "restart-loop"],
)
def test_starts_that_never_come_up(stage: Stage, settings: str, line: str, words: str) -> None:
    # The old voice still works: only the new one meets the line.
    stage.sh(f"sed -i 's/^echo \"starting.*/&\\n[ $VOICE = old ] || {{ {line}; }}/' /usr/local/bin/demo")
    stage.sh(
        "sed -i 's/^exec sleep infinity/[ -z \"$NOTIFY_SOCKET\" ] || systemd-notify --ready\\n&/' /usr/local/bin/demo"
    )
    if "forking" in settings:
        stage.sh("sed -i 's/^exec sleep infinity/sleep infinity \\& exit 0/' /usr/local/bin/demo")
    stage.sh(f"sed -i 's/^ExecStart/NotifyAccess=all\\n{settings}\\n&/' {FRAGMENT}; systemctl daemon-reload")
    stage.sh(f"sed -i 's/^Description=Demo/&\\nJobRunningTimeoutSec=3/' {FRAGMENT}; systemctl daemon-reload")
    old = working(stage)
    ended = stage.play("apply")
    went_back(stage, ended, old, words)


def test_a_loop_from_before_goes_on_looping(stage: Stage) -> None:
    stage.sh(f"sed -i 's/^ExecStart/Restart=always\\nRestartSec=3\\n&/' {FRAGMENT}; systemctl daemon-reload")
    stage.sh("touch /etc/demo-new-fails; systemctl start demo; sleep 0.5")
    assert "auto-restart" in stage.sh("systemctl show -P SubState demo")
    ended = stage.play("apply")
    assert (ended.exit, ended.left) == (5, ()), ended
    time.sleep(0.5)
    assert stage.sh("systemctl show -P ActiveState demo") == "activating\n"
    stage.sh("systemctl stop demo")


def test_two_at_once(stage: Stage) -> None:
    stage.sh("sed -i 's/^echo \"ready/sleep 2\\n&/' /usr/local/bin/demo")
    process = stage.begin("apply")
    stage.wait_for(process, "Unpacking demo-crt")
    second = stage.play("apply", "packages=no")
    assert second.exit == 7 and "another change is under way: pid" in second.reason, second
    assert "transaction 2" in second.reason
    assert stage.finish(process).name == "healthy"


def test_the_repository_vanished(stage: Stage) -> None:
    old, begun = working(stage), stage.sh("systemctl show -P InvocationID -P NRestarts demo")
    stage.sh("rm /srv/tiny/demo-crt_*.deb")
    ended = stage.play("apply")
    assert (ended.name, ended.exit, ended.left) == ("refused", 7, ()), ended
    assert "demo-crt" in ended.reason and "can't be fetched" in ended.reason, ended
    assert changed(old, stage.state()) == []
    assert stage.sh("systemctl show -P InvocationID -P NRestarts demo") == begun, "it was never stopped"
    assert "Unpacking" not in ended.said


def test_a_package_that_fails_to_configure(stage: Stage) -> None:
    old = working(stage)
    stage.sh("touch /etc/demo-configure-fails")
    went_back(stage, stage.play("apply"), old, "apt-get install failed", "demo-config-common")


def test_the_new_compiler_is_broken(stage: Stage) -> None:
    old = working(stage)
    ended = stage.play("apply", "proof=fails")
    assert (ended.name, ended.exit, ended.left) == ("refused", 7, ()), ended
    assert "the proof failed: nvcc fatal" in ended.reason
    assert changed(old, stage.state()) == []


def test_dpkg_was_interrupted_before(stage: Stage) -> None:
    working(stage)
    stage.sh("dpkg --unpack /srv/tiny/demo-config-common_13.9-1_amd64.deb")
    try:
        old = stage.state()
        refused(stage, stage.play("apply"), old, "broken off", "dpkg --configure -a")
    finally:
        stage.sh("dpkg --purge demo-config-common")


def test_a_held_package_is_explained(stage: Stage) -> None:
    working(stage)
    stage.sh("apt-mark hold demo-base")
    try:
        old = stage.state()
        refused(stage, stage.play("apply"), old, "held: demo-base", "apt-mark unhold demo-base")
    finally:
        stage.sh("apt-mark unhold demo-base")


def test_dpkgs_lock_is_waited_for_and_its_holder_named(stage: Stage) -> None:
    holder = "import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); fcntl.lockf(f, fcntl.LOCK_EX)"
    holder += "; print(flush=True); time.sleep(4)"
    process = stage.machine.start(["python3", "-c", holder])
    assert process.stdout is not None
    process.stdout.readline()
    ended = stage.play("apply")
    assert ended.name == "healthy", ended
    assert "waiting for python3 (pid" in ended.said


def test_settings_of_a_package_from_before_stay(stage: Stage) -> None:
    stage.sh("DEBIAN_FRONTEND=noninteractive apt-get install -y demo-crt && echo mine > /etc/demo-toolkit.conf")
    stage.sh("apt-get remove -y demo-crt demo-config-common")
    try:
        old = working(stage)
        stage.sh("touch /etc/demo-new-fails")
        went_back(stage, stage.play("apply"), old)
        assert stage.sh("cat /etc/demo-toolkit.conf") == "mine\n"
    finally:
        stage.sh("dpkg --purge demo-config-common")


def test_someone_edits_the_unit_while_it_starts(stage: Stage) -> None:
    stage.sh(
        "touch /etc/demo-new-fails; "
        'sed -i \'s/^\\[ "$VOICE" = new/[ "$VOICE" = old ] || sleep 2\\n&/\' /usr/local/bin/demo'
    )
    old = working(stage)
    process = stage.begin("apply")
    stage.wait_for(process, "progress running")
    stage.sh(f"echo '# mine' >> {FRAGMENT}")
    ended = stage.finish(process)
    assert (ended.name, ended.exit) == ("rollback-incomplete", 6), ended
    (left,) = [line for line in ended.left if FRAGMENT in line]
    assert "changed by someone else" in left and f"/backups/2 {FRAGMENT}" in left
    assert stage.sh(f"tail -n 1 {FRAGMENT}") == "# mine\n"
    # The command that is shown does what it says.
    stage.sh(left[left.index("cp ") :])
    # The edited unit was started as it is, and built what it builds.
    built = (BUILT, BUILT.replace("sampling/built", "fresh"))
    assert changed(old, stage.state(), but=(*built, "/units", "/environment", f"/files/{FRAGMENT}")) == []
    assert stage.sh(f"grep -c VOICE=old {FRAGMENT}") == "1\n"


def test_an_orderly_reboot_in_the_middle(stage: Stage) -> None:
    stage.sh(
        "systemctl enable demo demo-child; "
        "sed -i 's/^echo \"ready/[ $VOICE = old ] || sleep 30\\n&/' /usr/local/bin/demo"
    )
    old = working(stage)
    process = stage.begin("detached")
    stage.wait_for(process, "progress running")
    stage.machine.reboot()
    new = stage.state()
    assert changed(old, new, but=(BUILT,)) == [], stage.machine.exec("journalctl -n 100 --no-pager").stdout
    assert json.dumps(new["environment"]) == '["VOICE=old"]'
    assert stage.play("recover").name == "nothing"
