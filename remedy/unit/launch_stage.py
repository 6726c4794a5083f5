"""One command of the launch chain, about to be executed."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from remedy.unit.accounts import login_of
from remedy.unit.types import Hop, Place, Variable
from remedy.value import dataclass, replace
from remedy.view import View, which

# What execvp(3) searches where PATH is unset.
FALLBACK_PATH = "/bin:/usr/bin"


@dataclass(frozen=True)
class Stage:
    """A command with the environment and working directory that it is executed with.

    ``place`` is where the command is written. ``notes`` say, in the order met, what could not be followed.
    ``done`` ends the chain: there is nothing more to look through (a container, a native program).
    """

    argv: tuple[str, ...]
    environment: Mapping[str, Variable]
    directory: str
    place: Place
    hops: tuple[Hop, ...] = ()
    notes: tuple[str, ...] = ()
    container: str | None = None
    interpreter: str | None = None
    module: str | None = None
    user: str = "root"
    done: bool = False

    def get(self, name: str) -> str | None:
        """The value of a variable, None where it is unset."""
        found = self.environment.get(name)
        return found.value if found else None

    def hop(self, what: str, program: str | None = None, place: Place | None = None) -> Stage:
        """The same command with one more step recorded."""
        step = Hop(program or posixpath.basename(self.argv[0]), what, place or self.place)
        return replace(self, hops=(*self.hops, step))

    def note(self, text: str) -> Stage:
        """The same command with a reason why the chain is not wholly known."""
        return replace(self, notes=(*self.notes, text))

    def run(self, argv: tuple[str, ...]) -> Stage:
        """The command that this one executes; without a word left, the chain ends in this one."""
        return replace(self, argv=argv) if argv else self.end()

    def end(self) -> Stage:
        """The chain ends with this command."""
        return replace(self, done=True)

    def put(self, name: str, value: str, place: Place | None = None) -> Stage:
        """With a variable set here."""
        old = self.environment.get(name)
        if old is not None and old.value == value and place is None:
            return self
        overrides = (old.source, *old.overrides) if old else ()
        variable = Variable(name, value, place or self.place, overrides)
        return replace(self, environment={**self.environment, name: variable})

    def drop(self, *names: str) -> Stage:
        """With variables unset."""
        return replace(self, environment={n: v for n, v in self.environment.items() if n not in names})

    def prepend_path(self, directory: str) -> Stage:
        """With a directory first on PATH, as activation scripts do."""
        path = self.get("PATH")
        return self.put("PATH", f"{directory}:{path}" if path else directory)

    def absolute(self, path: str) -> str:
        """A path as seen from the working directory."""
        return posixpath.normpath(posixpath.join(self.directory, path))

    def find(self, name: str, view: View) -> str | None:
        """The program that execvp(3) would run for a name; a path is taken as it is, there or not."""
        if "/" in name:
            return name if name.startswith("/") else self.absolute(name)
        return which(view, name, self.get("PATH"), FALLBACK_PATH)


def home_of(view: View, user: str) -> str | None:
    """A user's home folder, by name or number."""
    login = login_of(view, user, "/bin/sh")
    return login.home if login else None
