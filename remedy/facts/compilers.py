"""The C and C++ compilers that a build of the service would run: $CC and $CXX, and those on its PATH."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from remedy.facts.accounts import Account
from remedy.facts.run import Runner, Running
from remedy.facts.types import HostCompiler, Version
from remedy.hints import Literal
from remedy.pattern import pattern
from remedy.value import dataclass
from remedy.view import View, which

COMMANDS = ("gcc", "g++", "cc", "c++", "clang", "clang++")
_TIMEOUT = 5.0

Kind = Literal["gcc", "clang", "unknown"]

#: Debian's and Ubuntu's compilers carry their major version in the real file name, or in the folder's.
_KINDS: Mapping[str, Kind] = {"gcc": "gcc", "g++": "gcc", "clang": "clang", "clang++": "clang"}
_LLVM = pattern(r"/llvm-(\d+)/bin$")


@dataclass(frozen=True)
class Lookup:
    """A compiler that was looked up; ``asked`` is its ``--version``, running, where its name does not tell."""

    command: str
    path: str | None
    kind: Kind = "unknown"
    version: Version | None = None
    asked: Running | None = None


def look_up(view: View, runner: Runner, env: Mapping[str, str], user: Account | None) -> tuple[Lookup, ...]:
    """Find the compilers as the service would, and start asking those whose name leaves the version open."""
    named = [env[name] for name in ("CC", "CXX", "CUDAHOSTCXX", "NVCC_CCBIN") if env.get(name)]
    commands = dict.fromkeys([*named, *COMMANDS])
    asked: dict[str, Running] = {}
    found: list[Lookup] = []
    for command in commands:
        path = _path_of(view, command, env.get("PATH"))
        if path is None:
            found.append(Lookup(command, None))
            continue
        real = view.realpath(path)
        kind, version = version_of_name(real)
        running = None
        if version is None:
            # A wrapper such as ccache acts on the name that it is called by: the key is the path, not the real one.
            running = asked.get(path) or runner.start((path, "--version"), timeout=_TIMEOUT, user=user)
            asked[path] = running
        found.append(Lookup(command, path, kind, version, running))
    return tuple(found)


def finish(lookups: tuple[Lookup, ...]) -> tuple[HostCompiler, ...]:
    """The compilers with their versions, once those that were asked have answered."""
    found: list[HostCompiler] = []
    for lookup in lookups:
        kind, version = lookup.kind, lookup.version
        if lookup.asked is not None:
            answer = lookup.asked.result()
            kind, version = parse_version(answer.text) if answer.ok else (kind, version)
        found.append(HostCompiler(lookup.command, lookup.path, kind, version))
    return tuple(found)


def version_of_name(path: str) -> tuple[Kind, Version | None]:
    """Kind and version of a real path such as /usr/bin/x86_64-linux-gnu-gcc-12 or /usr/lib/llvm-15/bin/clang."""
    folder, name = posixpath.split(path)
    if name in ("clang", "clang++") and (llvm := _LLVM.search(folder)):
        return "clang", (int(llvm[1]),)
    # In front of the name there may be a target: architecture, system, ABI.
    *target, program, version = name.split("-") if "-" in name else ("", "")
    numbers = version.split(".")
    if program not in _KINDS or len(target) not in (0, 3) or not all(map(str.isdecimal, numbers)):
        return "unknown", None
    return _KINDS[program], tuple(map(int, numbers))


def parse_version(text: str) -> tuple[Kind, Version | None]:
    """Kind and version of a compiler's ``--version`` in the C locale."""
    first, _, rest = text.partition("\n")
    clang = re.search(r"clang version (\d+)\.(\d+)(?:\.(\d+))?", first)
    if clang:
        return "clang", tuple(int(part) for part in clang.groups() if part)
    number = re.search(r"\)\s+(\d+)\.(\d+)(?:\.(\d+))?|\s(\d+)\.(\d+)\.(\d+)\b", first)
    if number and ("Free Software Foundation" in rest or first.startswith(("gcc", "g++"))):
        return "gcc", tuple(int(part) for part in number.groups() if part)
    return "unknown", None


def _path_of(view: View, command: str, path: str | None) -> str | None:
    """The program of a command; of several words (``ccache gcc``) the first, where the whole is no program."""
    found = which(view, command, path)
    words = command.split()
    return found if found or len(words) < 2 else which(view, words[0], path)
