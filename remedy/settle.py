"""The far side of a change over ``--host``: which remedy is to make it, in one line of JSON on standard output.

The one that is installed there knows its machine's open transactions, and its recovery runs at boot. Where there is
none, the code that came over the connection stays as long as it is needed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from remedy.change.brought import bring
from remedy.errors import Refused, RemedyError
from remedy.facts.files import Files
from remedy.facts.run import PATH
from remedy.facts.trust import distrusted


def main() -> None:
    """Answer with the command to run; with none for a user who may change nothing, or with an error."""
    try:
        print(json.dumps({"command": command()}))
    except RemedyError as error:
        print(json.dumps({"message": error.message, "hint": error.hint, "code": error.exit_code}))


def command() -> list[str] | None:
    """The words before a command of remedy's. Raises Refused where what would run can be changed by others."""
    if os.geteuid() != 0:
        return None
    installed = shutil.which("remedy", path=f"{os.environ.get('PATH', '')}:{PATH}")
    if installed is not None:
        _trust(installed)
        return [installed]
    # What is imported from: the archive itself.
    folder = bring(Path(sys.path[0]).read_bytes())
    runner = f"{folder}/remedy/change/again.py"
    _trust(runner)
    return [sys.executable, "-I", "-X", "utf8", runner, "remedy"]


def _trust(program: str) -> None:
    why = distrusted(Files(), program, os.geteuid())
    if why is not None:
        raise Refused(f"{program} is not run as root: {why}", hint=f"ls -ld {program}, and every folder above it")
