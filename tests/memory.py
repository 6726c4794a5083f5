"""A file system in a dictionary, for tests of the pure rooms."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from remedy.view import READ_LIMIT, Stat


@dataclass
class MemoryView:
    """Files by path, symlinks by path, programs (mode 0755) by path; folders exist where something lies in them."""

    files: Mapping[str, bytes | str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    programs: Iterable[str] = ()
    folders: Iterable[str] = ()

    def __post_init__(self) -> None:
        self._data = {path: text.encode() if isinstance(text, str) else text for path, text in self.files.items()}
        self._programs = frozenset(self.programs)
        for path in self._programs:
            self._data.setdefault(path, b"#!/bin/sh\n")
        self._folders = {"/"}
        for path in (*self._data, *self.links):
            self._add_parents(path)
        for folder in self.folders:
            self._folders.add(folder)
            self._add_parents(folder)

    def _add_parents(self, path: str) -> None:
        while path != "/":
            path = posixpath.dirname(path)
            self._folders.add(path)

    def _real(self, path: str, *, last: bool = True) -> str:
        """Every symlink resolved, the last component's only if asked; a missing tail stays as it is."""
        todo, done = [part for part in path.split("/") if part not in ("", ".")], ""
        for _ in range(1000):
            if not todo:
                break
            part = todo.pop(0)
            if part == "..":
                done = posixpath.dirname(done or "/").rstrip("/")
                continue
            here = f"{done}/{part}"
            if here in self.links and (todo or last):
                target = self.links[here]
                todo = [word for word in target.split("/") if word not in ("", ".")] + todo
                done = "" if target.startswith("/") else done
            else:
                done = here
        return done or "/"

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        real = self._real(path)
        if real in self._folders:
            raise IsADirectoryError(21, "Is a directory", path)
        if real not in self._data:
            raise FileNotFoundError(2, "No such file or directory", path)
        if len(self._data[real]) > limit:
            raise OSError(27, "File too large", path)
        return self._data[real]

    def list(self, path: str) -> tuple[str, ...]:
        real = self._real(path)
        if real not in self._folders:
            raise FileNotFoundError(2, "No such file or directory", path)
        prefix = real.rstrip("/") + "/"
        every = (*self._data, *self.links, *self._folders)
        return tuple(sorted({one[len(prefix) :].split("/")[0] for one in every if one.startswith(prefix)} - {""}))

    def stat(self, path: str) -> Stat | None:
        return self._at(self._real(path))

    def lstat(self, path: str) -> Stat | None:
        here = self._real(path, last=False)
        return Stat("symlink", 0o777, 0, 0, 0, 0) if here in self.links else self._at(here)

    def _at(self, real: str) -> Stat | None:
        if real in self._data:
            return Stat("file", 0o755 if real in self._programs else 0o644, 0, 0, len(self._data[real]), 0)
        return Stat("directory", 0o755, 0, 0, 0, 0) if real in self._folders else None

    def readlink(self, path: str) -> str:
        here = self._real(path, last=False)
        if here not in self.links:
            raise OSError(22, "Invalid argument", path)
        return self.links[here]

    def realpath(self, path: str) -> str:
        return self._real(path)
