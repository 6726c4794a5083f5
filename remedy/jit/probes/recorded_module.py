"""A module that its library would build again with another toolkit, built so ahead of the start; run in the twin.

The library writes its build record anew at each load, and ninja runs what differs from the last one: a record that is
the old one but for the toolkit, with the objects to it, leaves nothing to do. Where it differs, nothing is lost.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess

RECORD = "build.ninja"
#: What ninja, a compiler or a lock made; all else are sources.
MADE = (".o", ".so", ".d", ".ninja_log", ".ninja_deps", "lock", RECORD)


def probe(work: str, path: str, old: str, new: str) -> dict[str, str]:  # noqa: ARG001
    """Build the module at ``path`` as it was built, with the toolkit ``new`` where ``old`` was."""
    before, text = aside(path)
    os.makedirs(path, exist_ok=True)
    for name in os.listdir(before):
        source = os.path.join(before, name)
        if os.path.isfile(source) and not name.endswith(MADE):
            shutil.copyfile(source, os.path.join(path, name))
    with open(os.path.join(path, RECORD), "w") as file:
        file.write(re.sub(re.escape(old) + r"(?![^/\s:])", lambda _found: new, text))
    subprocess.run(["ninja", "-v", "-j", os.environ["MAX_JOBS"]], cwd=path, check=True)
    return {"how": "record"}


def aside(path: str) -> tuple[str, str]:
    """The folder that the module was moved to, and its record; raises where there is none."""
    output = "build " + os.path.basename(path) + ".so:"
    for folder in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), ".remedy-*")):
        with open(os.path.join(folder, RECORD)) as file:
            text = file.read()
        if path + "/" in text or output in text:
            return folder, text
    raise FileNotFoundError("its earlier build record is gone")
