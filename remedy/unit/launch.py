"""From ExecStart= to the process that does the work, and the environment that this process really gets.

Read, never run: wrapper programs by their man pages, scripts by a reader of shell text. Where the chain can't be
followed, ``Launch.unknown`` says at which line.
"""

from __future__ import annotations

import errno
import posixpath
import re
from collections.abc import Iterable, Mapping

from remedy.unit.launch_python import finish_python, is_python
from remedy.unit.launch_stage import Stage, home_of
from remedy.unit.types import ExecCommand, Launch, Service, Variable
from remedy.unit.words import BadSyntax, next_word
from remedy.value import replace
from remedy.view import View

_HOPS_LIMIT = 40
_SHEBANG_LIMIT = 4096
# No script is as long as this; what is longer is not read at all.
_SCRIPT_LIMIT = 4 * 1024 * 1024
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "rbash"})
# Tools that choose a Python environment and run a command in it.
_CHOOSERS = frozenset(
    ("uv", "conda", "mamba", "micromamba", "poetry", "pdm", "rye", "pipenv", "hatch", "pixi", "pyenv")
)
_BRACED = r"\$\$|\$\{([^}]*)\}"


def launch(service: Service, view: View) -> Launch:
    """Follow ExecStart= to its end. Of several commands (Type=oneshot) the first that ends in Python counts."""
    environment = service.environment or {}
    if not service.exec_start:
        return Launch((), None, environment, unknown="the unit has no ExecStart=")
    launches: list[Launch] = []
    for command in service.exec_start:
        found = _follow(_first_stage(service, command, environment, view), view)
        if found.interpreter or found.container:
            return found
        launches.append(found)
    return launches[-1]


def _first_stage(service: Service, command: ExecCommand, environment: Mapping[str, Variable], view: View) -> Stage:
    values = {name: variable.value for name, variable in environment.items()}
    argv = command.argv if ":" in command.prefixes else tuple(expand(command.argv, values))
    # With "@" the first word is only what the process is called; what runs is the path.
    argv = (command.path or (argv[0] if argv else ""), *argv[1:])
    directory = service.working_directory or "/"
    if directory == "~":
        directory = home_of(view, service.user or "root") or "/"
    return Stage(argv, environment, directory, command.source, user=service.user or "root")


def expand(argv: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """``$VAR`` as a word of its own (split at blanks) and ``${VAR}`` anywhere: systemd.service(5), COMMAND LINES."""
    words: list[str] = []
    for word in argv:
        if word.startswith("$") and not word.startswith(("${", "$$")) and len(word) > 1:
            words += _split_value(environment.get(word[1:], ""))
        elif "$" in word:
            words.append(re.sub(_BRACED, lambda m: "$" if m[0] == "$$" else environment.get(m[1], ""), word))
        else:
            words.append(word)
    return words


def _split_value(value: str) -> list[str]:
    """A value as arguments: quotes group, and are removed."""
    words: list[str] = []
    position = 0
    try:
        while True:
            word, _, position = next_word(value, position, escapes=False, relaxed=True)
            if word is None:
                return words
            words.append(word)
    except BadSyntax:
        return value.split()


def _follow(stage: Stage, view: View) -> Launch:
    hops = 0
    while not stage.done:
        hops += 1
        if hops > _HOPS_LIMIT:
            stage = stage.note(f"{stage.place}: the chain of commands does not end").end()
            break
        stage = _step(stage, view)
    return Launch(
        argv=stage.argv,
        interpreter=stage.interpreter,
        environment=stage.environment,
        hops=stage.hops,
        container=stage.container,
        unknown=stage.notes[0] if stage.notes else None,
        module=stage.module,
        directory=stage.directory,
    )


def _step(stage: Stage, view: View) -> Stage:
    """One program: look through it where it is known to execute another."""
    name = posixpath.basename(stage.argv[0])
    if is_python(name):
        return _python(stage, name, view)
    from remedy.unit import launch_programs as programs

    if name in programs.WRAPPERS:
        return programs.follow_wrapper(stage, name)
    if name in programs.USER_SWITCHES:
        return programs.follow_user_switch(stage, view)
    if name in ("env", "genv"):
        from remedy.unit.launch_env import follow_env

        return follow_env(stage)
    if name in _SHELLS:
        from remedy.unit.launch_shell import follow_shell

        return follow_shell(stage, view)
    if name in _CHOOSERS:
        from remedy.unit.launch_environments import follow_chooser

        return follow_chooser(stage, name, view)
    if name == "uvx":
        return stage.note(f"{stage.place}: uvx makes its environment when it runs").end()
    if name in programs.CONTAINERS:
        return replace(stage.hop("runs an image: the toolchain is inside it"), container=name).end()
    path = stage.find(stage.argv[0], view)
    if path is None:
        return stage.note(f"{stage.place}: {stage.argv[0]} is nowhere on PATH").end()
    return _file(stage, path, view)


def _python(stage: Stage, name: str, view: View) -> Stage:
    path = stage.find(stage.argv[0], view)
    if path is None:
        return stage.note(f"{stage.place}: {name} is nowhere on PATH").end()
    # pyenv's and asdf's shims are scripts that look for the Python to run.
    return _file(stage, path, view) if "/shims/" in path else finish_python(stage, path, view)


def _file(stage: Stage, path: str, view: View) -> Stage:
    """A program that is known only by its file: a script leads on, anything else is the end."""
    try:
        head = view.read(path, _SCRIPT_LIMIT)[:_SHEBANG_LIMIT]
    except OSError as error:
        if error.errno == errno.EFBIG:
            return stage.hop("is a native program", path).end()
        return stage.note(f"{stage.place}: {path} can't be read ({error.strerror or error})").end()
    if head.startswith(b"#!"):
        line = head[2:].split(b"\n", 1)[0].strip(b" \t\r").decode("utf-8", "replace")
        interpreter, _, argument = line.partition(" ") if "\t" not in line else line.replace("\t", " ").partition(" ")
        if not interpreter:
            return stage.note(f"{path}:1: the #! line names no interpreter").end()
        # The kernel hands everything after the interpreter on as one argument.
        words = (interpreter, argument.strip(), path) if argument.strip() else (interpreter, path)
        return stage.hop(f"is a script for {interpreter}", path).run((*words, *stage.argv[1:]))
    if head.startswith(b"\x7fELF"):
        return stage.hop("is a native program", path).end()
    return stage.hop("is no script with a #! line", path).end()
