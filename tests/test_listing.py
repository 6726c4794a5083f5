from __future__ import annotations

import pkgutil
import zipfile
from pathlib import Path

import pytest

import remedy.jit
import remedy.jit.triton
import remedy.jit.types
from remedy.listing import module, module_names, modules


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
