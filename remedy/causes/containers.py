"""What Docker, Podman and the kubelet say of what a unit's container was to be made of."""

from __future__ import annotations

from remedy.causes.entry import Signature
from remedy.hints import Final

#: Of --user and an image's USER.
NO_USER: Final = Signature("no matching entries in passwd file", r"unable to find (?:user|group) \S+: no matching")
#: Compose's words, and those of run --env-file.
NO_ENVIRONMENT_FILE: Final = (
    Signature("env file ", r"\benv file (?P<path>/\S+) not found"),
    Signature(".env: no such file", r"(?:^|: )open (?P<path>\S+\.env): no such file"),
)
#: Not of an image: its registry refuses with a model hub's words.
NOT_OF_AN_IMAGE: Final = r"^(?!.*(?:pull(?:ing)? (?:from )?image|resolve reference|initializing source docker|/v2/))"
