"""What a shell knows at a point of its script."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from remedy.unit.shell.tree import Node
from remedy.unit.types import Place, Variable
from remedy.value import dataclass, field


@dataclass(frozen=True)
class Parameter:
    """A shell variable; an array has several ``items``. ``places`` are where it was set, the last one first."""

    items: tuple[str, ...]
    exported: bool
    places: tuple[Place, ...]
    array: bool = False


_UNSET = Parameter((), exported=False, places=())


@dataclass
class State:
    """Variables, functions, positional parameters and working directory; the one thing here that changes."""

    variables: dict[str, Parameter]
    directory: str
    arguments: tuple[str, ...] = ()
    name: str = "sh"
    functions: dict[str, Node] = field(default_factory=dict)
    export_all: bool = False

    @classmethod
    def start(cls, environment: Mapping[str, Variable], directory: str, name: str, arguments: tuple[str, ...]) -> State:
        """A shell that was started with this environment."""
        variables = {
            variable.name: Parameter((variable.value,), True, (variable.source, *variable.overrides))
            for variable in environment.values()
        }
        return cls(variables, directory, arguments, name)

    def copy(self) -> State:
        """A subshell."""
        return State(dict(self.variables), self.directory, self.arguments, self.name, dict(self.functions))

    def value(self, name: str) -> str | None:
        """A variable's (first) value, None where it is unset."""
        found = self.variables.get(name)
        return found.items[0] if found and found.items else None

    def put(
        self, name: str, items: tuple[str, ...], place: Place, *, export: bool = False, array: bool = False
    ) -> None:
        """Assign; a variable that was exported stays so."""
        old = self.variables.get(name)
        exported = export or self.export_all or (old is not None and old.exported)
        self.variables[name] = Parameter(items, exported, (place, *(old.places if old else ())), array)

    def export(self, name: str, exported: bool) -> None:
        """``export NAME``, ``export -n NAME``; one that is unset stays so, and is exported once it is set."""
        old = self.variables.get(name, _UNSET)
        self.variables[name] = Parameter(old.items, exported, old.places, old.array)

    def environment(self) -> dict[str, Variable]:
        """What a command that starts here gets. Arrays are never exported."""
        return {
            name: Variable(name, found.items[0], found.places[0], found.places[1:])
            for name, found in self.variables.items()
            if found.exported and not found.array and found.items
        }

    def absolute(self, path: str) -> str:
        """A path as seen from the working directory."""
        return posixpath.normpath(posixpath.join(self.directory, path))
