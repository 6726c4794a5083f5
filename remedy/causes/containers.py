"""What Docker, Podman and the kubelet say of what a unit's container was to be made of."""

from __future__ import annotations

from remedy.causes.entry import Signature
from remedy.hints import Final

#: Of --user and an image's USER.
NO_USER: Final = Signature("no matching entries in ", r"unable to find (?:user|group) \S+: no matching")
#: Compose's words, and those of run --env-file.
NO_ENVIRONMENT_FILE: Final = (
    Signature("env file ", r"\benv file (?P<path>(?:/|[A-Z]:\\).{0,200}?) not found(?:: |$)"),
    # of the versions before 2
    Signature("ouldn't find env file"),
    Signature(".env: no such file", r"(?:^|: )open (?P<path>\S*\.env): no such file"),
    Signature("reading environment file: open "),
    # uv and Node.js, of their own options
    Signature("o environment file found at"),
    Signature(".env: not found", r"^node: (?P<path>\S+): not found"),
    # Python, and a script that goes on after it
    Signature(".env'", r"No such file or directory: '(?P<path>(?:[^']*/)?\.env)'$"),
    Signature(".env", r": line \d+: (?P<path>[^\s:]*\.env(?:\.\w+)?): No such file", weak=True),
)
#: Not of an image: its registry refuses with a model hub's words.
NOT_OF_AN_IMAGE: Final = r"^(?!.*(?:pull(?:ing)? (?:from )?image|resolve reference|initializing source docker|/v2/))"
#: What a file of --env-file or env_file holds and is no assignment: such files know neither export nor a shell's names.
NO_ASSIGNMENT: Final = (
    Signature("oorly formatted environment", r"environment: variable '(?P<assignment>[^']*)"),
    Signature("in variable name ", r"unexpected character .{1,10} in variable name \"?(?P<assignment>[^\"]*)"),
)
