"""Programs that execute another one: where the command stands among their options.

One row a program, from its man page: options that take a value, and the operands before the command. Those that
change the environment too have a function of their own.
"""

from __future__ import annotations

import re

from remedy.unit.launch_stage import Stage, home_of
from remedy.value import dataclass
from remedy.view import View


@dataclass(frozen=True)
class Wrapper:
    """``short`` letters and ``long`` names of the options that take a value; ``operands`` before the command."""

    short: str = ""
    long: frozenset[str] = frozenset()
    operands: int = 0


def _wrapper(short: str = "", long: str = "", operands: int = 0) -> Wrapper:
    return Wrapper(short, frozenset(long.split()), operands)


WRAPPERS: dict[str, Wrapper] = {
    "nice": _wrapper("n", "adjustment"),
    "ionice": _wrapper("cn", "class classdata"),
    "taskset": _wrapper("", "", 1),
    "chrt": _wrapper("TPD", "sched-runtime sched-period sched-deadline", 1),
    "stdbuf": _wrapper("ioe", "input output error"),
    "setsid": _wrapper(),
    "timeout": _wrapper("ks", "kill-after signal", 1),
    "time": _wrapper("fo", "format output"),
    "nohup": _wrapper(),
    "flock": _wrapper("wE", "timeout conflict-exit-code", 1),
    "choom": _wrapper("n", "adjust"),
    "prlimit": _wrapper(),
    "unbuffer": _wrapper(),
    "dumb-init": _wrapper("r", "rewrite"),
    "tini": _wrapper("pe"),
    "tini-static": _wrapper("pe"),
    "catatonit": _wrapper(),
    "systemd-cat": _wrapper("tp", "identifier priority stderr-priority level-prefix namespace"),
    "systemd-inhibit": _wrapper("", "what who why mode"),
    "numactl": _wrapper(
        "CNmipPwSLofM",
        "physcpubind cpunodebind membind interleave preferred preferred-many weighted-interleave shm file offset length"
        " shmmode shmid mode",
    ),
    "setpriv": _wrapper(
        "",
        "reuid regid euid egid ruid rgid groups inh-caps ambient-caps bounding-set securebits pdeathsig ptracer"
        " selinux-label apparmor-profile landlock-access landlock-rule seccomp-filter",
    ),
    "screen": _wrapper("SchetpTX"),
    "strace": _wrapper("aoeEOpsSuIXbP", "output trace"),
    "mpirun": _wrapper("", "np n hostfile machinefile host mca bind-to map-by x wdir oversubscribe-limit"),
}
WRAPPERS |= {"mpiexec": WRAPPERS["mpirun"], "orterun": WRAPPERS["mpirun"]}

# Programs that become another user and then run a command.
USER_SWITCHES = frozenset({"sudo", "su", "runuser", "gosu", "su-exec"})

# The toolchain of what these run is inside an image.
CONTAINERS = frozenset(
    ("docker", "podman", "nerdctl", "ctr", "apptainer", "singularity", "enroot", "nspawn", "systemd-nspawn", "crun",
     "runc", "lxc-start", "lxc-execute", "docker-compose", "podman-compose", "kubectl", "microk8s", "k3s", "toolbox",
     "distrobox")
)  # fmt: skip


def skip_options(argv: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...]:
    """The command after a wrapper's options and operands. Options end at the first word that is none."""
    words = list(argv[1:])
    while words:
        word = words[0]
        if word == "--":
            words.pop(0)
            break
        if word.startswith("--") or (word.startswith("-") and word[1:] in wrapper.long):
            words.pop(0)
            if "=" not in word and word.lstrip("-") in wrapper.long:
                words[:1] = []
        elif len(word) > 1 and word[0] == "-":
            words.pop(0)
            if _takes_next(word[1:], wrapper.short):
                words[:1] = []
        else:
            break
    return tuple(words[wrapper.operands :])


def _takes_next(letters: str, short: str) -> bool:
    for position, letter in enumerate(letters):
        if letter in short:
            return position == len(letters) - 1
    return False


def follow_wrapper(stage: Stage, name: str) -> Stage:
    """Step through one of WRAPPERS."""
    argv = stage.argv
    if name == "chrt" and not any(re.fullmatch(r"\d+", word) for word in argv[1:3]):
        return stage.hop("runs the command after its options").run(skip_options(argv, _wrapper("TPD")))
    if name == "flock" and (command := _flock_command(argv)):
        return stage.hop("takes a lock first").run(("/bin/sh", "-c", command))
    if name in ("mpirun", "mpiexec", "orterun"):
        for position, word in enumerate(argv[1:-1], 1):
            if word == "-x" and "=" in argv[position + 1]:
                variable, _, value = argv[position + 1].partition("=")
                stage = stage.put(variable, value, stage.place)
    if name == "setpriv" and "--reset-env" in argv:
        return (
            stage.hop("resets the environment")
            .note(f"{stage.place}: setpriv --reset-env")
            .run(skip_options(argv, WRAPPERS[name]))
        )
    return stage.hop("runs the command after its options").run(skip_options(argv, WRAPPERS[name]))


def _flock_command(argv: tuple[str, ...]) -> str | None:
    for option in ("-c", "--command"):
        if option in argv[:-1]:
            return argv[argv.index(option) + 1]
    return None


def follow_user_switch(stage: Stage, view: View) -> Stage:
    """sudo, runuser, su, gosu, su-exec: HOME, USER and LOGNAME become the other user's."""
    name = stage.argv[0].rpartition("/")[2]
    plain = name in ("gosu", "su-exec")
    user, command = (stage.argv[1:2], stage.argv[2:]) if plain else _user_and_command(stage, name)
    stage = stage.hop(f"becomes the user {user[0]}" if user else "becomes root", name)
    home = home_of(view, (user[0] if user else "root").partition(":")[0])
    if home:
        stage = stage.put("HOME", home, stage.place)
    if name in ("sudo", "su"):
        stage = stage.note(f"{stage.place}: {name} builds the environment by rules of its own (sudoers, PAM)")
    return stage.run(command)


def _user_and_command(stage: Stage, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    argv = stage.argv
    for option in ("-c", "--command", "--session-command"):
        if name != "sudo" and option in argv[:-1]:
            script = argv[argv.index(option) + 1]
            named = tuple(w for w in argv[1 : argv.index(option)] if not w.startswith("-"))
            return named[:1], ("/bin/sh", "-c", script)
    users = tuple(argv[i + 1] for i, word in enumerate(argv[:-1]) if word in ("-u", "--user"))[:1]
    command = skip_options(argv, _wrapper("ugghpCcTDR", "user group host prompt chdir shell command"))
    while name == "sudo" and command and "=" in command[0]:
        command = command[1:]
    return users, command
