from __future__ import annotations

import importlib.util
import os
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import remedy.jit
import remedy.jit.triton
import remedy.jit.types
from remedy.listing import Finder, module, module_names, modules


def test_it_lists_what_pkgutil_lists() -> None:
    assert module_names(remedy.jit.__path__) == tuple(
        sorted(one.name for one in pkgutil.iter_modules(remedy.jit.__path__))
    )


def test_modules_are_imported_by_name() -> None:
    assert module("remedy.jit.types").Library is remedy.jit.types.Library
    assert remedy.jit.triton in modules("remedy.jit", remedy.jit.__path__)
    with pytest.raises(ModuleNotFoundError):
        module("remedy.jit.none")


def test_private_names_and_folders_are_left_out(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "_private.py", "__init__.py", "data.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert module_names([str(tmp_path)]) == ("a", "b")


def test_a_package_in_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("package/__init__.py", "")
        file.writestr("package/one.py", "")
    assert module_names([f"{archive}/package"]) == ("one",)


def test_the_finder_finds_what_the_import_system_finds() -> None:
    finder = Finder("remedy", remedy.__spec__)
    names = [one.name for one in pkgutil.walk_packages(remedy.__path__, "remedy.") if one.name != "remedy.__main__"]
    assert len(names) > 200
    for name in names:
        known = importlib.util.find_spec(name)
        assert known is not None
        found = finder.find_spec(name, module(name.rpartition(".")[0]).__path__)
        if known.submodule_search_locations is not None:
            assert found is None
            continue
        assert (found.name, found.origin, found.cached) == (name, known.origin, known.cached)
        assert isinstance(found.loader, type(known.loader)) and vars(found.loader).items() >= vars(known.loader).items()
        assert found.loader.get_code(name) == known.loader.get_code(name)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("remedy", None),
        ("remedy.jit", None),
        ("json.decoder", ["/usr"]),
        ("remedyx.jit", ["/usr"]),
        ("remedy.no", ["/"]),
    ],
)
def test_the_finder_leaves_the_rest_to_others(name: str, path: list[str] | None) -> None:
    assert Finder("remedy", remedy.__spec__).find_spec(name, path) is None


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_finder_is_asked_first_and_once(elsewhere: bool, tmp_path: Path) -> None:
    code = (
        "import importlib.util, sys, remedy; from remedy.listing import Finder, module\n"
        "for _ in range(2): Finder('remedy', remedy.__spec__).install()\n"
        "assert [type(one).__name__ for one in sys.meta_path].count('Finder') == 1\n"
        "assert isinstance(sys.meta_path[0], Finder)\n"
        "found = module('remedy.jit.types')\n"
        "assert found.__file__ == sys.argv[1]\n"
        "assert found.__cached__ == importlib.util.cache_from_source(sys.argv[1])"
    )
    environment = {**os.environ, **({"PYTHONPYCACHEPREFIX": str(tmp_path)} if elsewhere else {})}
    argv = [sys.executable, "-c", code, str(remedy.jit.types.__file__)]
    subprocess.run(argv, check=True, env=environment)
