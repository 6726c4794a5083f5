"""Conda environments: where a name lies, and what activating one does."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from remedy.value import dataclass
from remedy.view import View, is_directory, which

_COMMANDS = ("conda", "mamba", "micromamba")
_USUAL_ROOTS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "conda")


@dataclass(frozen=True)
class Activation:
    """What ``conda activate`` sets, and the scripts of etc/conda/activate.d that it sources, in order."""

    variables: tuple[tuple[str, str], ...]
    scripts: tuple[str, ...]


def conda_prefix(view: View, name: str, environment: Mapping[str, str], root: str | None = None) -> str | None:
    """The folder of a named environment (or of a path), as conda searches envs_dirs; None where it is not there."""
    if "/" in name:
        return name if is_directory(view, name) else None
    for candidate in _roots(view, environment, root):
        prefix = candidate if name in ("base", "root") else posixpath.join(candidate, "envs", name)
        if is_directory(view, posixpath.join(prefix, "conda-meta")):
            return prefix
    listed = environment.get("CONDA_ENVS_PATH") or environment.get("CONDA_ENVS_DIRS") or ""
    folders = [*listed.split(":"), posixpath.join(environment.get("HOME", "/root"), ".conda/envs")]
    for folder in folders:
        prefix = posixpath.join(folder, name)
        if folder.startswith("/") and is_directory(view, posixpath.join(prefix, "conda-meta")):
            return prefix
    return None


def _roots(view: View, environment: Mapping[str, str], root: str | None) -> list[str]:
    found = [root] if root else []
    found += [environment[key] for key in ("MAMBA_ROOT_PREFIX", "CONDA_ROOT") if environment.get(key)]
    if executable := environment.get("CONDA_EXE"):
        found.append(posixpath.dirname(posixpath.dirname(executable)))
    for command in _COMMANDS:
        if path := which(view, command, environment.get("PATH")):
            found.append(posixpath.dirname(posixpath.dirname(view.realpath(path))))
    home = environment.get("HOME", "/root")
    found += [posixpath.join(parent, name) for parent in (home, "/opt") for name in _USUAL_ROOTS]
    return found


def activation(view: View, prefix: str, environment: Mapping[str, str]) -> Activation:
    """What activating the environment at ``prefix`` does to the variables. Raises nothing."""
    path = environment.get("PATH", "")
    variables = [
        ("CONDA_PREFIX", prefix),
        ("CONDA_DEFAULT_ENV", posixpath.basename(prefix) if "/envs/" in prefix else "base"),
        ("PATH", f"{prefix}/bin:{path}" if path else f"{prefix}/bin"),
    ]
    variables += _state_variables(view, prefix)
    folder = posixpath.join(prefix, "etc/conda/activate.d")
    try:
        names = view.list(folder)
    except OSError:
        names = ()
    return Activation(tuple(variables), tuple(posixpath.join(folder, n) for n in names if n.endswith(".sh")))


def _state_variables(view: View, prefix: str) -> list[tuple[str, str]]:
    """``conda env config vars set`` keeps its values in conda-meta/state."""
    import json

    try:
        state = json.loads(view.read(posixpath.join(prefix, "conda-meta/state")))
    except (OSError, ValueError):
        return []
    found = state.get("env_vars") if isinstance(state, dict) else None
    if not isinstance(found, dict):
        return []
    return [(name, value) for name, value in found.items() if isinstance(name, str) and isinstance(value, str)]
