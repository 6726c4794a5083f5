"""Shells in the launch chain: ``sh -c``, login shells, wrapper scripts."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from remedy.pattern import pattern
from remedy.unit.launch_stage import Stage
from remedy.unit.shell.builtins import HARMLESS
from remedy.unit.shell.state import State
from remedy.unit.shell.walk import Started, Walker
from remedy.unit.shell.words import UNKNOWN
from remedy.unit.types import Hop, Variable
from remedy.value import replace
from remedy.view import View, is_file

# The variables that decide what a JIT build finds; one of these that is not known makes the launch not known.
_TELLING = pattern(r"PATH$|^(CUDA|NVCC|FLASHINFER|TORCH|TVM|TRITON|VLLM|SGL|XDG|CONDA|VIRTUAL)|_HOME$|^(HOME|CC|CXX)$")


def follow_shell(stage: Stage, view: View) -> Stage:
    """Walk what the shell is given, and go on with the command that it leads to."""
    shell = posixpath.basename(stage.argv[0])
    words = list(stage.argv[1:])
    login = command = False
    while words and words[0][:1] in "-+" and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            login = login or word == "--login"
            if word in ("--rcfile", "--init-file"):
                words[:1] = []
            continue
        login = login or "l" in word[1:]
        command = command or "c" in word[1:]
        if word[1:].endswith(("o", "O")) and words:
            words.pop(0)
    if not words:
        return stage.note(f"{stage.place}: what {shell} reads is known only when it runs").end()
    given = words.pop(0)
    path = None if command else _script_path(stage, given, view)
    name, arguments = (words[0] if words else stage.argv[0], words[1:]) if command else (given, words)
    state = State.start(stage.environment, stage.directory, name, tuple(arguments))
    walker = Walker(view, state, stage.place, script=path, user=stage.user)
    _start_files(walker, shell, login)
    walker.hop(f"runs {path}" if path else "runs the text after -c", shell)
    if path:
        walker.run_file(path)
    else:
        walker.run_text(given)
    return _next(stage, walker)


def _script_path(stage: Stage, name: str, view: View) -> str:
    path = stage.absolute(name)
    if "/" not in name and not is_file(view, path):
        return stage.find(name, view) or path
    return path


def _start_files(walker: Walker, shell: str, login: bool) -> None:
    """bash(1), INVOCATION: a login shell reads the profiles, another one only $BASH_ENV."""
    home = walker.state.value("HOME") or "/root"
    files: list[str] = []
    if login:
        files.append("/etc/profile")
        names = (".bash_profile", ".bash_login", ".profile") if shell == "bash" else (".profile",)
        own = (posixpath.join(home, name) for name in names)
        files += [path for path in own if is_file(walker.view, path)][:1]
    elif shell == "bash" and (start := walker.state.value("BASH_ENV")):
        files.append(start)
    for path in files:
        if is_file(walker.view, path):
            walker.hop(f"reads {path}", shell)
            walker.run_file(path)


def _next(stage: Stage, walker: Walker) -> Stage:
    stage = replace(stage, hops=(*stage.hops, *walker.hops), notes=(*stage.notes, *walker.notes))
    chosen = _chosen(walker.started)
    if chosen is None:
        if not walker.notes:
            stage = stage.note(f"{walker.here}: the script starts no program that could be the service")
        return replace(stage, environment=_known(walker.state.environment())).end()
    for variable in chosen.environment.values():
        if UNKNOWN in variable.value and _TELLING.search(variable.name):
            stage = stage.note(f"{variable.source}: the value of {variable.name} is known only when the script runs")
    changes = [
        Hop("sh", f"sets {variable.name}", variable.source)
        for variable in chosen.environment.values()
        if variable.source != (stage.environment[variable.name].source if variable.name in stage.environment else None)
    ]
    return replace(
        stage,
        argv=tuple(word.replace(UNKNOWN, "") for word in chosen.argv),
        environment=_known(chosen.environment),
        directory=chosen.directory,
        place=chosen.place,
        hops=(*stage.hops, *changes),
    )


def _chosen(started: list[Started]) -> Started | None:
    """The program that is the service: what ``exec`` ran, else the last one that is no mere preparation."""
    serving = [one for one in started if posixpath.basename(one.argv[0]) not in HARMLESS]
    for one in serving:
        if one.replaced:
            return one
    return serving[-1] if serving else None


def _known(environment: Mapping[str, Variable]) -> dict[str, Variable]:
    return {
        name: replace(variable, value=variable.value.replace(UNKNOWN, "")) if UNKNOWN in variable.value else variable
        for name, variable in environment.items()
    }
