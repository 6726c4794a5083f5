"""Paths and the directories of units."""

from __future__ import annotations

import pytest

from remedy.unit import paths
from remedy.unit.types import Manager
from tests.memory import MemoryView


@pytest.mark.parametrize(
    ("path", "version", "clean"),
    [
        ("/a//b/", 252, "/a/b"),
        ("/./a/.", 252, "/a"),
        ("a/./b", 252, "a/b"),
        ("/", 252, "/"),
        (".", 252, "."),
        ("/../a", 252, "/../a"),
        ("/../a", 257, "/a"),
        ("/a/../b", 257, "/a/../b"),
    ],
)
def test_simplify(path: str, version: int, clean: str) -> None:
    assert paths.simplify(path, version) == clean


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("a", "not absolute"),
        ("/a/../b", "not normalized"),
        ("/" + "a" * 256, "too long"),
        ("/a" * 2100, "too long"),
        ("/\udcff", "UTF-8"),
    ],
)
def test_clean_absolute_says_why_not(path: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        paths.clean_absolute(path, 252)


def test_search_path_of_a_merged_tree_names_a_directory_once() -> None:
    merged = MemoryView(links={"/lib": "/usr/lib"}, folders=("/usr/lib/systemd/system",))
    split = MemoryView(folders=("/lib/systemd/system", "/usr/lib/systemd/system"))
    vendor = [path for path in paths.search_path(merged, Manager(252)) if "lib/systemd" in path]
    assert vendor == ["/usr/local/lib/systemd/system", "/lib/systemd/system"]
    assert "/usr/lib/systemd/system" in paths.search_path(split, Manager(252))
    assert "/lib/systemd/system" not in paths.search_path(merged, Manager(257))


def test_search_path_of_a_user() -> None:
    env = {"XDG_CONFIG_HOME": "/home/a/conf", "XDG_RUNTIME_DIR": "/run/user/7"}
    found = paths.search_path(MemoryView(), Manager(252, user=True, home="/home/a", uid=7, environment=env))
    assert found.index("/home/a/conf/systemd/user") < found.index("/etc/systemd/user")
    assert found.index("/etc/systemd/user") < found.index("/run/user/7/systemd/user")
    assert "/home/a/.local/share/systemd/user" in found
