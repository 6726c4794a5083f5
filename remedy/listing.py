"""The modules of a package by its folder's own listing, so that a new file is found without being named anywhere.

``pkgutil.iter_modules`` does the same, but imports ``inspect`` for it: ten milliseconds of a start that has fifty.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from remedy.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def module(name: str) -> ModuleType:
    """As ``importlib.import_module``, without the imports that importlib needs itself."""
    __import__(name)
    return sys.modules[name]


def modules(package: str, paths: Iterable[str]) -> Iterator[ModuleType]:
    """The modules of a package (its ``__name__`` and ``__path__``), imported one after the other, sorted by name."""
    return (module(f"{package}.{name}") for name in module_names(paths))


def module_names(paths: Iterable[str]) -> tuple[str, ...]:
    """The names of the modules in a package's folders (its ``__path__``), sorted, private ones left out.

    A package that lies in no folder (a zip archive) is listed by the standard library.
    """
    names: set[str] = set()
    for path in paths:
        try:
            names.update(name.removesuffix(".py") for name in os.listdir(path) if name.endswith(".py"))
        except NotADirectoryError:
            import pkgutil

            names.update(module.name for module in pkgutil.iter_modules([path]))
    return tuple(sorted(name for name in names if not name.startswith("_")))


class Finder:
    """Finds the modules of one package (its ``__name__`` and ``__spec__``) where they are most likely to be: as the
    source file of that name in the folder of their parent.

    A diagnosis imports over a hundred, and the import system's own finders and loader take a tenth of its time: they
    ask about built-in and frozen modules, look at each folder again for every module in it, and for extension modules
    first; then each file is taken for a stream that may be a terminal. Whatever is not found at once (packages,
    archives) is left to them.
    """

    def __init__(self, package: str, spec: ModuleSpec) -> None:
        self._prefix = f"{package}."
        # By the classes of the package's own, for importing importlib.machinery costs more than a module.
        self._spec: type[ModuleSpec] = type(spec)
        self._known: Any = type(spec.loader)
        self._loader: Any = type("Loader", (self._known,), {"path_stats": _path_stats, "get_data": _get_data})
        folder, _, self._ending = (spec.cached or "").rpartition("__pycache__/__init__")
        self._beside = f"{folder}__init__.py" == spec.origin

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:  # noqa: ARG002
        """As ``importlib.abc.MetaPathFinder.find_spec``."""
        if not path or not name.startswith(self._prefix):
            return None
        stem = name.rpartition(".")[2]
        file = f"{path[0]}/{stem}.py"
        try:
            found = os.stat(file)
        except OSError:
            return None
        loader = self._loader(name, file)
        loader.stats = {"mtime": found.st_mtime, "size": found.st_size}
        spec = self._spec(name, loader, origin=file)
        spec.has_location = True
        if self._beside:
            # Where byte code lies beside the sources, its name need not be worked out (PYTHONPYCACHEPREFIX=).
            spec.cached = f"{path[0]}/__pycache__/{stem}{self._ending}"
        return spec

    def install(self) -> None:
        """Have it asked before all others, unless the package itself was not loaded from a source file."""
        known = any(isinstance(finder, Finder) for finder in sys.meta_path)
        if self._known.__name__ == "SourceFileLoader" and not known:
            sys.meta_path.insert(0, self)


#: Bytes read at once: byte code is shorter nearly always.
_CHUNK = 1 << 16


def _path_stats(loader: Any, path: str) -> dict[str, float]:  # noqa: ARG001
    """As ``importlib.abc.SourceLoader.path_stats``, by the look that found the file."""
    stats: dict[str, float] = loader.stats
    return stats


def _get_data(loader: Any, path: str) -> bytes:  # noqa: ARG001
    """As ``importlib.abc.ResourceLoader.get_data``. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = part = os.read(handle, _CHUNK)
        while len(part) == _CHUNK:
            part = os.read(handle, _CHUNK)
            data += part
    finally:
        os.close(handle)
    return data
