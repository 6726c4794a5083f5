"""The commands that act on the shell itself, and those that a script runs on the way to its server."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from enum import Enum, auto

from remedy.hints import TYPE_CHECKING
from remedy.pattern import pattern
from remedy.unit.shell.conditions import evaluate
from remedy.unit.shell.tree import Simple
from remedy.unit.shell.words import UNKNOWN
from remedy.view import is_file, which

if TYPE_CHECKING:
    from remedy.unit.shell.walk import Walker


class Control(Enum):
    """What comes after a statement."""

    GO = auto()
    BREAK = auto()
    RETURN = auto()
    EXIT = auto()


Builtin = Callable[["Walker", Simple, list[str]], "bool | None"]

# Programs that prepare or report; none of them is ever the service itself.
HARMLESS = frozenset((
    "aws", "awk", "basename", "cat", "chmod", "chown", "cp", "curl", "cut", "date", "df", "dirname", "du", "expr",
    "fallocate", "find", "free", "fuser", "getent", "git", "grep", "groups", "gsutil", "head", "hf", "host", "hostname",
    "huggingface-cli", "id", "install", "ip", "jq", "ldconfig", "ln", "logger", "ls", "lsof", "lspci", "mkdir",
    "mkfifo", "mktemp", "modprobe", "mount", "mountpoint", "mv", "nc", "nproc", "nvcc", "nvidia-persistenced",
    "nvidia-smi", "pgrep",
    "ping", "pip", "pip3", "pkill", "printenv", "ps", "readlink", "realpath", "rm", "rmdir", "rsync",
    "sed", "seq", "sleep", "sort", "ss", "stat", "sync", "sysctl", "systemctl", "systemd-cat", "systemd-notify", "tail",
    "tar", "tee", "touch", "tput", "tr", "umount", "uname", "unzip", "uptime", "wget", "which", "whoami", "xargs",
))  # fmt: skip

_VENV = pattern(r"""^[ \t]*(?:export[ ]+)?VIRTUAL_ENV=(['"]?)(/[^'"\n]+)\1[ \t]*$""", re.MULTILINE)


def _nothing(_walker: Walker, _node: Simple, _argv: list[str]) -> bool | None:
    return True


def _unknown_status(_walker: Walker, _node: Simple, _argv: list[str]) -> bool | None:
    return None


def _false(_walker: Walker, _node: Simple, _argv: list[str]) -> bool | None:
    return False


def _export(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    options = "".join(word[1:] for word in argv[1:] if re.fullmatch(r"-[A-Za-z]+", word))
    export = argv[0] == "export" or "x" in options
    for word in argv[1:]:
        name, sign, value = word.partition("=")
        append = name.endswith("+")
        name = name.rstrip("+")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            continue
        if "g" not in options:
            walker.declare(argv[0], name)
        if sign:
            old = walker.state.value(name) if append else None
            walker.state.put(name, ((old or "") + value,), walker.here, export=export)
        elif export:
            walker.state.export(name, not ("n" in options and argv[0] == "export"))
    return True


def _unset(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    for name in argv[1:]:
        walker.state.variables.pop(name, None)
        if "-f" in argv:
            walker.state.functions.pop(name, None)
    return True


def _set(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    words = argv[1:]
    while words:
        word = words.pop(0)
        if word == "--":
            walker.state.arguments = tuple(words)
            break
        if word[:1] not in "+-" or len(word) < 2:
            walker.state.arguments = (word, *words)
            break
        named = words.pop(0) if "o" in word[1:] and words else ""
        if named == "allexport" or "a" in word[1:]:
            walker.state.export_all = word[0] == "-"
    return True


def _shift(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    count = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    walker.state.arguments = walker.state.arguments[count:]
    return True


def _cd(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    words = [word for word in argv[1:] if word not in ("-L", "-P", "-e", "--", "-n")]
    target = words[0] if words else walker.state.value("HOME")
    if target is None or UNKNOWN in target or target == "-":
        walker.note("which folder this goes to is known only when the script runs")
        return None
    walker.state.directory = walker.state.absolute(target)
    return True


def _source(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    if len(argv) < 2:
        return False
    name = argv[1]
    if UNKNOWN in name:
        walker.note("which file is sourced here is known only when the script runs")
        return None
    if "/" in name:
        path = walker.state.absolute(name)
    else:
        path = which(walker.view, name, walker.state.value("PATH")) or walker.state.absolute(name)
    if posixpath.basename(path) == "activate":
        return _activate(walker, path, argv[2:])
    if posixpath.basename(path) in ("conda.sh", "mamba.sh", "micromamba.sh"):
        prefix = posixpath.dirname(posixpath.dirname(posixpath.dirname(path)))
        walker.state.put("_CONDA_ROOT", (prefix,), walker.here)
        return True
    if path == "/dev/null":
        return True
    if not is_file(walker.view, path):
        walker.note(f"{path}, which this sources, is not there")
        return False
    walker.hop(f"sources {path}", argv[0])
    return walker.run_file(path, argv[2:])


def _activate(walker: Walker, path: str, arguments: Sequence[str]) -> bool | None:
    """venv's, virtualenv's and uv's bin/activate; conda's script of the same name."""
    prefix = posixpath.dirname(posixpath.dirname(path))
    if not is_file(walker.view, path):
        walker.note(f"{path}, which this sources, is not there")
        return False
    if is_file(walker.view, posixpath.join(prefix, "bin", "conda")):
        walker.state.put("_CONDA_ROOT", (prefix,), walker.here)
        return _conda_activate(walker, arguments[0] if arguments else "base")
    # The folder is written into the script when the venv is made; a venv that was moved activates its old place.
    written = _VENV.search(walker.view.read(path).decode("utf-8", "replace"))
    root = written[2] if written else prefix
    walker.hop(f"activates {root}", path)
    walker.state.put("VIRTUAL_ENV", (root,), walker.here, export=True)
    walker.state.put("PATH", (f"{root}/bin:{walker.state.value('PATH') or ''}",), walker.here, export=True)
    walker.state.variables.pop("PYTHONHOME", None)
    return True


def _conda(walker: Walker, node: Simple, argv: list[str]) -> bool | None:
    if len(argv) > 1 and argv[1] == "activate":
        return _conda_activate(walker, argv[2] if len(argv) > 2 else "base")
    if len(argv) > 1 and argv[1] == "run":
        walker.start(argv, node)
    return None


def _conda_activate(walker: Walker, name: str) -> bool | None:
    from remedy.unit.launch_conda import activation, conda_prefix

    environment = {key: variable.value for key, variable in walker.state.environment().items()}
    root = walker.state.value("_CONDA_ROOT")
    prefix = conda_prefix(walker.view, name, environment, root)
    if prefix is None:
        walker.note(f"the conda environment {name!r} was not found")
        return None
    walker.hop(f"activates the conda environment {prefix}", "conda")
    found = activation(walker.view, prefix, environment)
    for key, value in found.variables:
        walker.state.put(key, (value,), walker.here, export=True)
    for script in found.scripts:
        walker.run_file(script)
    return True


def _exec(walker: Walker, node: Simple, argv: list[str]) -> bool | None:
    words = argv[1:]
    cleared = False
    while words and words[0].startswith("-"):
        option = words.pop(0)
        cleared = cleared or (option != "--" and "c" in option)
        if option == "-a" and words:
            words.pop(0)
        if option == "--":
            break
    if not words:
        return True
    if UNKNOWN in words[0]:
        walker.note("which program this executes is known only when the script runs")
        walker.control = Control.EXIT
        return None
    walker.start(words, node, replaced=True, cleared=cleared)
    return None


def _eval(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    script = " ".join(argv[1:])
    if "shell.bash hook" in script or "shell hook" in script:
        return True
    if UNKNOWN in script:
        walker.note("what eval is given is known only when the script runs")
        return None
    kept = walker.script, walker.fixed
    walker.script, walker.fixed = None, walker.here
    walker.depth += 1
    status = walker.run_text(script) if walker.depth < 24 else None
    walker.depth -= 1
    walker.script, walker.fixed = kept
    return status


def _exit(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    walker.control = Control.EXIT
    return argv[1:2] in ([], ["0"])


def _return(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    walker.control = Control.RETURN
    return argv[1:2] in ([], ["0"])


def _break(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    if argv[0] == "break":
        walker.control = Control.BREAK
    return True


def _test(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    words = argv[1:-1] if argv[0] == "[" and argv[-1] == "]" else argv[1:]
    return evaluate(words, walker.view, walker.state.absolute, patterns=False)


def _command(walker: Walker, node: Simple, argv: list[str]) -> bool | None:
    words = argv[1:]
    if words and words[0] in ("-v", "-V"):
        if words[1:] and (words[1] in BUILTINS or words[1] in walker.state.functions):
            return True
        return which(walker.view, words[1], walker.state.value("PATH")) is not None if words[1:] else False
    if words and words[0] == "-p":
        words = words[1:]
    if not words:
        return True
    if words[0] in BUILTINS:
        return BUILTINS[words[0]](walker, node, words)
    walker.start(words, node)
    return None


def _read(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    for word in argv[1:]:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word):
            walker.state.put(word, (UNKNOWN,), walker.here)
    return None


def _module(walker: Walker, _node: Simple, argv: list[str]) -> bool | None:
    walker.note(f"`{' '.join(argv)}` changes the environment in ways that only running it would tell")
    return None


BUILTINS: dict[str, Builtin] = {
    **dict.fromkeys((":", "true", "echo", "printf", "trap", "ulimit", "umask", "wait", "shopt", "hash"), _nothing),
    **dict.fromkeys(("alias", "unalias", "enable", "disown", "times", "let"), _nothing),
    **dict.fromkeys(("kill", "jobs", "type", "getopts", "fg", "bg"), _unknown_status),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _export),
    **dict.fromkeys(("cd", "pushd"), _cd),
    **dict.fromkeys(("source", "."), _source),
    **dict.fromkeys(("read", "mapfile", "readarray"), _read),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("break", "continue"), _break),
    **dict.fromkeys(("command", "builtin"), _command),
    **dict.fromkeys(("module", "ml"), _module),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _conda),
    "false": _false,
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "exec": _exec,
    "eval": _eval,
    "exit": _exit,
    "return": _return,
}
