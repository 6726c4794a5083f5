"""Tools that choose a Python environment and run a command in it: uv, conda, poetry, pdm, pipenv, pixi."""

from __future__ import annotations

import posixpath

from remedy.unit.launch_conda import activation, conda_prefix
from remedy.unit.launch_stage import Stage
from remedy.unit.shell.state import State
from remedy.unit.shell.walk import Walker
from remedy.value import replace
from remedy.view import View, is_directory, is_file, which


def follow_chooser(stage: Stage, tool: str, view: View) -> Stage:
    """Step through one of these tools."""
    match tool:
        case "uv":
            return follow_uv(stage, view)
        case "conda" | "mamba" | "micromamba":
            return follow_conda(stage, view)
        case "pyenv":
            return follow_pyenv(stage, view)
        case _:
            return follow_project_tool(stage, view)


def follow_pyenv(stage: Stage, view: View) -> Stage:
    """``pyenv exec``: the version that PYENV_VERSION, .python-version or the global file names."""
    words = stage.argv[1:]
    root = stage.get("PYENV_ROOT") or f"{stage.get('HOME') or '/root'}/.pyenv"
    local = _nearest(stage.directory, ".python-version", view, "/.python-version")
    version = stage.get("PYENV_VERSION") or _first_word(view, local) or _first_word(view, f"{root}/version")
    prefix = f"{root}/versions/{version}"
    if words[:1] != ("exec",) or not version or not is_directory(view, prefix):
        return stage.note(f"{stage.place}: the version that pyenv chooses was not found").end()
    return stage.hop(f"chooses {prefix}", "pyenv").prepend_path(f"{prefix}/bin").run(words[1:])


def _first_word(view: View, path: str | None) -> str:
    try:
        words = view.read(path, 4096).decode("utf-8", "replace").split() if path else []
    except OSError:
        return ""
    return words[0] if words else ""


def follow_uv(stage: Stage, view: View) -> Stage:
    """``uv run``: the project's environment first on PATH, then the command. docs.astral.sh/uv, "Project structure"."""
    words = list(stage.argv[1:])
    directory, project, python, active, module, no_project = stage.directory, None, None, False, False, False
    valued = ("--with", "--with-editable", "--with-requirements", "--extra", "--group", "--env-file", "--python", "-p",
              "--project", "--directory", "--index-url", "--index", "--default-index", "--package", "--config-file",
              "--cache-dir", "--no-group", "--only-group", "-i", "--extra-index-url", "-f", "--find-links")  # fmt: skip
    if "run" not in words:
        return stage.note(f"{stage.place}: what uv runs here is not known").end()
    layered = False
    while words:
        word = words.pop(0)
        name, sign, value = word.partition("=")
        if name in valued and not sign:
            value = words.pop(0) if words else ""
        match name:
            case "--directory":
                directory = stage.absolute(value)
            case "--project":
                project = value
            case "--python" | "-p":
                python = value
            case "--active":
                active = True
            case "--no-project":
                no_project = True
            case "--with" | "--with-editable" | "--with-requirements":
                layered = True
            case "-m" | "--module":
                module = True
            case "--":
                break
            case _ if not name.startswith("-") and name != "run":
                words.insert(0, word)
                break
    stage = replace(stage, directory=directory)
    if layered:
        stage = stage.note(
            f"{stage.place}: uv run --with puts a temporary environment in front, known only when it runs"
        )
    root = None if no_project else _project_root(stage.absolute(project) if project else directory, view)
    venv = _uv_environment(stage, root, active, view)
    if venv is None:
        note = f"{stage.place}: the environment that uv run uses was not found"
        return stage.note(note).run(_uv_command(words, python or "python", module))
    stage = _in_venv(stage.hop(f"uses the environment {venv}", "uv"), venv)
    return stage.run(_uv_command(words, f"{venv}/bin/python", module))


def _uv_command(words: list[str], python: str, module: bool) -> tuple[str, ...]:
    if module:
        return (python, "-m", *words)
    if words and (words[0].endswith((".py", ".pyw")) or words[0] == "-"):
        return (python, *words)
    return tuple(words)


def _uv_environment(stage: Stage, root: str | None, active: bool, view: View) -> str | None:
    current = stage.get("VIRTUAL_ENV")
    if current and (active or root is None) and is_directory(view, current):
        return current
    if root is not None:
        named = stage.get("UV_PROJECT_ENVIRONMENT") or ".venv"
        venv = posixpath.normpath(posixpath.join(root, named))
        return venv if is_file(view, f"{venv}/pyvenv.cfg") else None
    return _nearest(stage.directory, ".venv/pyvenv.cfg", view, "/.venv")


def _project_root(directory: str, view: View) -> str | None:
    return _nearest(directory, "pyproject.toml", view, "")


def _nearest(directory: str, wanted: str, view: View, suffix: str) -> str | None:
    """The folder, here or above, that holds a file."""
    while True:
        if is_file(view, posixpath.join(directory, wanted)):
            return directory.rstrip("/") + suffix
        if directory in ("/", ""):
            return None
        directory = posixpath.dirname(directory)


def _in_venv(stage: Stage, venv: str) -> Stage:
    return stage.put("VIRTUAL_ENV", venv, stage.place).prepend_path(f"{venv}/bin")


def follow_conda(stage: Stage, view: View) -> Stage:
    """``conda run``, ``mamba run``, ``micromamba run``: the environment is activated, then the command runs."""
    words = list(stage.argv[1:])
    tool = posixpath.basename(stage.argv[0])
    if words[:1] != ["run"]:
        return stage.note(f"{stage.place}: what {tool} runs here is not known").end()
    words.pop(0)
    name = "base"
    while words and words[0].startswith("-"):
        option, sign, value = words.pop(0).partition("=")
        if option in ("-n", "--name", "-p", "--prefix", "--cwd", "-r", "--root-prefix", "-e", "--env") and not sign:
            value = words.pop(0) if words else ""
        if option in ("-n", "--name"):
            name = value
        elif option in ("-p", "--prefix"):
            name = stage.absolute(value)
        elif option == "--cwd":
            stage = replace(stage, directory=stage.absolute(value))
        elif option.startswith("-n") and not option.startswith("--") and len(option) > 2 and option != "-no":
            name = option[2:]
    environment = {key: variable.value for key, variable in stage.environment.items()}
    program = stage.find(stage.argv[0], view)
    root = posixpath.dirname(posixpath.dirname(view.realpath(program))) if program else None
    prefix = conda_prefix(view, name, environment, root)
    if prefix is None:
        return stage.note(f"{stage.place}: the conda environment {name!r} was not found").run(tuple(words))
    return _activate_conda(stage, prefix, view).hop(f"activates {prefix}", tool).run(tuple(words))


def _activate_conda(stage: Stage, prefix: str, view: View) -> Stage:
    found = activation(view, prefix, {key: variable.value for key, variable in stage.environment.items()})
    for name, value in found.variables:
        stage = stage.put(name, value, stage.place)
    state = State.start(stage.environment, stage.directory, "bash", ())
    walker = Walker(view, state, stage.place, script=None, user=stage.user)
    for script in found.scripts:
        walker.run_file(script)
    return replace(
        stage, environment=state.environment(), hops=(*stage.hops, *walker.hops), notes=(*stage.notes, *walker.notes)
    )


def follow_project_tool(stage: Stage, view: View) -> Stage:
    """``poetry run``, ``pdm run``, ``rye run``, ``pipenv run``, ``hatch run``, ``pixi run``."""
    tool = posixpath.basename(stage.argv[0])
    words = list(stage.argv[1:])
    if "run" not in words:
        return stage.note(f"{stage.place}: what {tool} runs here is not known").end()
    options, words = words[: words.index("run")], words[words.index("run") + 1 :]
    directory = stage.directory
    for flag in ("-C", "--directory", "--project", "-P", "-p", "--manifest-path"):
        if flag in options[:-1]:
            directory = stage.absolute(options[options.index(flag) + 1])
    environment = "default"
    while words and words[0].startswith("-"):
        option, sign, value = words.pop(0).partition("=")
        if option in ("-e", "--environment", "--manifest-path", "-p", "--project") and not sign:
            value = words.pop(0) if words else ""
        if option in ("-e", "--environment"):
            environment = value
        elif option == "--manifest-path":
            directory = posixpath.dirname(stage.absolute(value)) if value.endswith(".toml") else stage.absolute(value)
    if tool == "pixi":
        prefix = _nearest(directory, f".pixi/envs/{environment}/conda-meta/history", view, f"/.pixi/envs/{environment}")
        if prefix and words and which(view, words[0], f"{prefix}/bin:{stage.get('PATH') or ''}"):
            return _activate_conda(stage, prefix, view).hop(f"activates {prefix}", tool).run(tuple(words))
        return stage.note(f"{stage.place}: the task {' '.join(words[:1])!r} of pixi is known only when it runs").end()
    venv = _nearest(directory, ".venv/pyvenv.cfg", view, "/.venv")
    if venv is None and (active := stage.get("VIRTUAL_ENV")) and is_directory(view, active):
        venv = active
    if venv is None:
        return stage.note(f"{stage.place}: the environment that {tool} run uses was not found").run(tuple(words))
    return _in_venv(stage.hop(f"uses the environment {venv}", tool), venv).run(tuple(words))
