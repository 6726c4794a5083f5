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
from remedy.change.types import Outcome
from remedy.errors import Refused
from remedy.facts.files import Files
from remedy.facts.run import PATH
from remedy.facts.trust import distrusted
from remedy.show.events import outcome_json


def main() -> None:
    """Answer with the command to run; with none for a user who may change nothing, or with an error."""
    try:
        print(json.dumps({"command": command()}))
    except Refused as error:
        result = outcome_json(Outcome("refused", error.exit_code, reason=error.words))
        print(json.dumps({"message": error.message, "hint": error.hint, "result": result}))


def command() -> list[str] | None:
    """The words before a command of remedy's. Raises Refused where what would run can be changed by others."""
    if os.geteuid() != 0:
        return None
    installed = shutil.which("remedy", path=f"{os.environ.get('PATH', '')}:{PATH}")
    if installed is not None:
        why = distrusted(Files(), installed, os.geteuid())
        if why is not None:
            hint = f"ls -ld {installed}, and every folder above it"
            raise Refused(f"{installed} is not run as root: {why}", hint=hint)
        return [installed]
    # What is imported from: the archive itself.
    folder = bring(Path(sys.path[0]).read_bytes())
    return [sys.executable, "-I", "-X", "utf8", f"{folder}/remedy/change/again.py", "remedy"]
