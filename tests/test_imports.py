"""The rooms: what is in the tree, what is written about it, and which way imports flow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "remedy"
#: Each room may import those before it, and the plain tools below all rooms.
ROOMS = ("unit", "facts", "jit", "causes", "plan", "gate", "change")
TOOLS = ("errors", "hints", "value", "view", "overlay", "listing", "pattern")
#: What leads through the rooms, shows what they say, or takes what people type.
ABOVE = ("show", "road", "proof", "prewarm", "repair", "worker", "settle", "remote", "cli", "__main__")
PURE = ("unit", "jit", "causes", "plan")
#: Modules that reach for files, processes, clocks, the network or a bus.
EFFECTS = frozenset(
    {
        "os", "pathlib", "io", "subprocess", "shutil", "tempfile", "glob", "time", "socket", "select", "selectors",
        "signal", "fcntl", "asyncio", "threading", "multiprocessing", "urllib", "http", "logging", "pystemd",
        "systemd", "ctypes",
    }
)  # fmt: skip
#: Run by the service's own interpreter in the twin, never imported.
PROBES = PACKAGE / "jit/probes"


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PROBES)))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module that a file imports, at its top or inside a function."""
    return tuple(_imports(ast.parse(path.read_text())))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield node.module or ""
            if node.module == "remedy":
                yield from (f"remedy.{alias.name}" for alias in node.names)


def test_the_rooms_are_the_folders() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders == {*ROOMS, "show", "cli"}
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert files == {*TOOLS, *(name for name in ABOVE if name not in folders)}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_stands_before_it(room: str) -> None:
    allowed = {*TOOLS, *ROOMS[: ROOMS.index(room) + 1]}
    wrong = [
        f"{path.relative_to(PROJECT)} imports {name}"
        for path in modules()
        if room_of(path) == room
        for name in imports(path)
        if name.startswith("remedy.") and name.split(".")[1] not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_reaches_for_nothing(room: str) -> None:
    wrong = [
        f"{path.relative_to(PROJECT)} imports {name}"
        for path in modules()
        if room_of(path) == room
        for name in imports(path)
        if name.split(".")[0] in EFFECTS
    ]
    assert wrong == []


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_imports_no_room(tool: str) -> None:
    names = {name.split(".")[1] for name in imports(PACKAGE / f"{tool}.py") if name.startswith("remedy.")}
    assert names <= set(TOOLS)


@pytest.mark.parametrize("path", sorted(PROBES.glob("*.py")), ids=lambda path: path.name)
def test_a_probe_imports_nothing_of_ours(path: Path) -> None:
    assert [name for name in imports(path) if name.split(".")[0] == "remedy"] == []


def test_nothing_imports_the_command_line() -> None:
    wrong = [
        f"{path.relative_to(PROJECT)} imports {name}"
        for path in modules()
        if room_of(path) not in ("cli", "__main__")
        for name in imports(path)
        if name.startswith("remedy.cli")
    ]
    assert wrong == []


def test_the_page_on_architecture_names_what_is_there() -> None:
    page = (PROJECT / "docs/architecture.md").read_text()
    named = set(re.findall(r"`((?:remedy|tests|units|scripts|docs|debian|ansible)/[\w./@-]*)`", page))
    assert named and [name for name in sorted(named) if not (PROJECT / name).exists()] == []
    for room in (*ROOMS, "show", "cli"):
        assert f"`remedy/{room}/`" in page
    files = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert [name for name in sorted(files) if f"`remedy/{name}`" not in page] == []
    road = re.search(r"^    (unit .*)$", page, re.MULTILINE)
    assert road is not None
    assert tuple(road[1].split(" <- ")) == ROOMS
