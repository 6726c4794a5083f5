"""The machine as it would be after planned edits: a view like any other."""

from __future__ import annotations

from collections.abc import Mapping

from remedy.value import dataclass
from remedy.view import READ_LIMIT, Stat, View


@dataclass(frozen=True)
class Overlaid:
    """A view with some files' bytes replaced: the machine as it would be after planned edits.

    ``files`` maps absolute paths to new bytes, or to None for a file that is removed. New parent
    directories come to exist by themselves. Files named in ``executables`` get their execute bits.
    """

    base: View
    files: Mapping[str, bytes | None]
    executables: frozenset[str] = frozenset()

    def _planned(self, path: str) -> tuple[bool, bytes | None]:
        if path in self.files:
            return True, self.files[path]
        real = self.base.realpath(path)
        return (True, self.files[real]) if real in self.files else (False, None)

    def _is_new_parent(self, path: str) -> bool:
        prefix = path.rstrip("/") + "/"
        return any(data is not None and name.startswith(prefix) for name, data in self.files.items())

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        planned, data = self._planned(path)
        if not planned:
            return self.base.read(path, limit)
        if data is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        return data

    def list(self, path: str) -> tuple[str, ...]:
        prefix = path.rstrip("/") + "/"
        added = {name[len(prefix) :].split("/", 1)[0] for name in self.files if name.startswith(prefix)}
        gone = {name[len(prefix) :] for name, data in self.files.items() if data is None and name.startswith(prefix)}
        try:
            names = set(self.base.list(path))
        except FileNotFoundError:
            if not self._is_new_parent(path):
                raise
            names = set()
        return tuple(sorted((names | added) - gone))

    def stat(self, path: str) -> Stat | None:
        planned, data = self._planned(path)
        if not planned:
            found = self.base.stat(path)
            if found is None and self._is_new_parent(path):
                return Stat("directory", 0o755, 0, 0, 0, 0)
            return found
        if data is None:
            return None
        old = self.base.stat(path)
        new_mode = 0o755 if path in self.executables else 0o644
        return Stat("file", old.mode if old else new_mode, old.uid if old else 0, old.gid if old else 0, len(data), 0)

    def lstat(self, path: str) -> Stat | None:
        if path in self.files:
            return self.stat(path)
        found = self.base.lstat(path)
        return found if found is not None else self.stat(path)

    def readlink(self, path: str) -> str:
        return self.base.readlink(path)

    def realpath(self, path: str) -> str:
        return path if path in self.files else self.base.realpath(path)
