"""How the outside is reached: proxies, certificates and package index are those of whoever asked for the change."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_NAMES = re.compile(r"(https?|ftp|no|all)_proxy|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE", re.IGNORECASE)
#: pip's configuration of a user, the newer place first (pip's user guide, "Configuration files").
_PIP_FILES = (".config/pip/pip.conf", ".pip/pip.conf")


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that say how the outside is reached."""
    return {name: value for name, value in environment.items() if _NAMES.fullmatch(name)}


def give_configuration(given: Mapping[str, str], folder: Path, uid: int, home: Path = Path("/root")) -> dict[str, str]:
    """The variables by which pip, as another user, finds the configuration that root's pip would: a copy in ``folder``,
    for that user alone. /etc/pip.conf it reads by itself. Raises OSError.
    """
    named = given.get("PIP_CONFIG_FILE")
    places = [Path(named)] if named else [home / name for name in _PIP_FILES]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        return {}
    copy = folder / "pip.conf"
    handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o400)
    with open(handle, "wb") as file:
        file.write(found.read_bytes())
        os.fchown(file.fileno(), uid, -1)
    return {"PIP_CONFIG_FILE": str(copy)}
