"""This remedy once more, in a fresh interpreter that takes nothing from whoever starts it (python(1), ``-I``).

``-I`` leaves out PYTHONPATH and the current folder, from where remedy may have been imported. So this file itself is
what is run: it knows the folder. A program given as an argument would not do: systemd writes a transient unit's
command down at a daemon-reload with escapes that it does not read back (seen in 252, for ``$`` and ``;``).
"""

from __future__ import annotations

import sys
from pathlib import Path

#: This file, which is what runs, and the folder that ``remedy`` is imported from.
RUNNER = str(Path(__file__).resolve())
ROOT = str(Path(RUNNER).parents[2])


def command(module: str, *words: str) -> list[str]:
    """The command that runs a module of remedy."""
    return [sys.executable, "-I", RUNNER, module, *words]


def line(words: list[str]) -> str:
    """A command as a unit's setting has it (systemd.service(5), "Command lines")."""
    quoted = ['"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"' for word in words]
    return " ".join((quoted[0], *(word.replace("$", "$$") for word in quoted[1:])))


if __name__ == "__main__":
    # Only where it is not among the interpreter's own: nothing beside remedy goes before the standard library.
    if ROOT not in sys.path:
        sys.path.insert(0, ROOT)
    import runpy

    from remedy.change.brought import held

    with held(Path(ROOT)):
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
