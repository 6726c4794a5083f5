"""Another machine's words: what is said there, over ``--host``, is read here."""

from __future__ import annotations

import os
import re

from remedy.hints import Final

#: Commands for ``--host`` that read only, and those that change a machine.
LOOKS: Final = frozenset(("check", "diagnose", "history", "show", "snapshot", "toolkits", "watch"))
CHANGES: Final = frozenset(("fix", "recover", "rollback"))
#: The machine, as ssh takes it, in the environment of a command that runs there.
VARIABLE: Final = "REMEDY_HOST"


def typed(text: str) -> str:
    """Our own sentences with their commands as the reader is to type them: with ``--host`` where we run for one."""
    host = os.environ.get(VARIABLE)
    if not host:
        return text
    root = f"root@{host.rpartition('@')[2]}"

    def addressed(found: re.Match[str]) -> str:
        return f"remedy --host {root if found[1] else host} "

    return re.sub(rf"\b(sudo )?remedy (?=(?:{'|'.join(sorted(LOOKS | CHANGES))})\b|…)", addressed, text)
