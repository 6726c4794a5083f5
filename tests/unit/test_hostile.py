"""Files that nobody writes by accident: the reader says what is wrong, in bounded time, and never fails."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedy.facts.files import Files
from remedy.unit.find import Units
from remedy.unit.load import load
from remedy.unit.manager import manager_from
from remedy.unit.types import Service
from tests.memory import MemoryView

START = b"[Service]\nExecStart=/bin/a\n"
PIECES = st.sampled_from(
    [
        "[Service]", "[Service", "[X-A]", "ExecStart=/bin/a", "ExecStart=", "Environment=", "EnvironmentFile=/e",
        "EnvironmentFile=-/etc/system*", "User=", "A=1", "'", '"', "\\", "\n", "\r", "\0", "%", "%n", "%I", "é",
        "\udcff", "\ufeff", " ", "=", "#", ";", "\\x", "\\x41", "\\000", "\\U", "$A", "-", "@", "PassEnvironment=PATH",
        "UnsetEnvironment=A", "ExecSearchPath=:", "StateDirectory=a:b", "Type=oneshot", "WorkingDirectory=~",
    ]
)  # fmt: skip
TEXT = st.lists(PIECES, max_size=40).map(lambda parts: "".join(parts).encode("utf-8", "surrogateescape"))


@given(TEXT, TEXT, TEXT, st.sampled_from(["a.service", "a@b.service", "a-b-.service"]))
@settings(max_examples=200, deadline=None)
def test_any_bytes_load(fragment: bytes, drop_in: bytes, file: bytes, name: str) -> None:
    view = MemoryView(
        files={
            f"/etc/systemd/system/{name}": START + fragment, f"/run/systemd/system/{name}.d/1.conf": drop_in,
            "/e": file, "/etc/system.conf": file, "/etc/passwd": file, "/etc/os-release": file,
        }
    )  # fmt: skip
    service = load(name, view, manager_from(view, 257))
    assert service.load_state in ("loaded", "bad-setting", "error")
    assert all(setting.place.line >= 1 and setting.end_line >= setting.place.line for setting in service.settings)
    for variable in (service.environment or {}).values():
        assert "\0" not in variable.value and variable.source.path


class Tree:
    """A tree on disk with one service that starts as it should."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("etc/systemd/system/a.service", START)

    def write(self, path: str, data: bytes) -> Path:
        where = self.root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(data)
        return where

    def load(self, name: str = "a.service") -> Service:
        started = time.monotonic()
        view = Files(str(self.root))
        service = load(name, view, manager_from(view, 252))
        assert time.monotonic() - started < 10
        return service


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize("optional", ["", "-"])
def test_a_fifo_as_environment_file_is_never_opened(tree: Tree, optional: str) -> None:
    tree.write("etc/systemd/system/a.service", START + f"EnvironmentFile={optional}/etc/pipe\n".encode())
    os.mkfifo(tree.root / "etc/pipe")
    service = tree.load()
    assert (service.environment is None) is (not optional)
    assert [fault.kind for fault in service.faults] == ["environment-file-unreadable"]


def test_a_fifo_as_fragment_or_drop_in(tree: Tree) -> None:
    os.mkfifo(tree.root / "etc/systemd/system/b.service")
    assert tree.load("b.service").load_state == "not-found"
    (tree.root / "etc/systemd/system/a.service.d").mkdir()
    os.mkfifo(tree.root / "etc/systemd/system/a.service.d/1.conf")
    service = tree.load()
    assert (service.load_state, [fault.kind for fault in service.faults]) == ("loaded", ["unreadable"])


def test_directories_in_the_place_of_files(tree: Tree) -> None:
    (tree.root / "etc/systemd/system/b.service").mkdir()
    assert tree.load("b.service").load_state == "not-found"
    (tree.root / "etc/systemd/system/a.service.d/1.conf").mkdir(parents=True)
    (tree.root / "etc/systemd/system/a.service.d/2.conf").write_bytes(b"[Service]\nEnvironment=A=1\n")
    service = tree.load()
    assert service.variables()["A"] == "1" and [fault.kind for fault in service.faults] == ["unreadable"]


def test_a_file_in_the_place_of_a_directory(tree: Tree) -> None:
    tree.write("etc/systemd/system/a.service.d", b"x")
    assert tree.load().load_state == "loaded"


def test_links_in_circles(tree: Tree) -> None:
    folder = tree.root / "etc/systemd/system"
    (folder / "b.service").symlink_to("c.service")
    (folder / "c.service").symlink_to("b.service")
    (folder / "d.service").symlink_to("/opt/loop")
    (tree.root / "opt").mkdir()
    (tree.root / "opt/loop").symlink_to("/opt/loop")
    (folder / "a.service.d").symlink_to("a.service.d")
    tree.write("etc/systemd/system/a.service", START + b"EnvironmentFile=-/opt/loop\n")
    assert tree.load("b.service").load_state == "not-found"
    assert tree.load("d.service").load_state in ("not-found", "error")
    assert tree.load().load_state == "loaded"


def test_ten_thousand_drop_ins(tree: Tree) -> None:
    folder = tree.root / "etc/systemd/system/a.service.d"
    folder.mkdir()
    for number in range(10_000):
        with open(f"{folder}/{number:05}.conf", "wb") as file:
            file.write(b"[Service]\nEnvironment=A=%d\n" % number)
    service = tree.load()
    assert service.variables()["A"] == "9999" and len(service.drop_ins) == 10_000
    assert service.environment is not None and len(service.environment["A"].overrides) == 9999


def test_ten_thousand_variables_and_a_megabyte_of_words(tree: Tree) -> None:
    lines = b"".join(b"Environment=A%d=x\n" % number for number in range(10_000))
    words = b"Environment=" + b" ".join(b"B%d=%d" % (number, 10**80) for number in range(10_000)) + b"\n"
    tree.write("etc/systemd/system/a.service", START + lines + words)
    assert len(tree.load().variables()) > 20_000


@pytest.mark.parametrize(
    ("data", "state"),
    [
        pytest.param(b"#" + b"x" * 1_100_000 + b"\n", "error", id="comment"),
        pytest.param(b"Environment=A=" + b"x" * 1_100_000 + b"\n", "error", id="value"),
        pytest.param(b"A=\\\n" + (b"x" * 900 + b"\\\n") * 1_200, "error", id="continued"),
        pytest.param(b"\\\n" * 50_000, "loaded", id="continued-blanks"),
        pytest.param(b"\n" * 30_000, "loaded", id="blank-lines"),
        pytest.param(b"x" * 9_000_000, "error", id="file"),
        pytest.param(b"Environment=" + b"'" * 999_999 + b"\n", "loaded", id="quotes"),
        pytest.param(b"Environment=" + b"\\" * 399_998 + b"\n", "loaded", id="escapes"),
        pytest.param(b"Environment=A=" + b"%%" * 400_000 + b"\n", "loaded", id="specifiers"),
        pytest.param(b"ExecStartPre=/a " + b"; /a " * 20_000 + b"\n", "loaded", id="commands"),
    ],
)
def test_long_lines(tree: Tree, data: bytes, state: str) -> None:
    tree.write("etc/systemd/system/a.service", START + data)
    assert tree.load().load_state == state


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"A=" + b"x" * 4_000_000, id="value"),
        pytest.param(b"A='" + b"x\n" * 400_000, id="open-quote"),
        pytest.param(b'A="' + b"\\" * 400_000, id="escapes-in-quotes"),
        pytest.param(b"A=" + b"\\\n" * 200_000, id="continued"),
        pytest.param(b"# " + b"\\\n" * 200_000, id="continued-comment"),
        pytest.param(b"A=x " + b" " * 2_000_000 + b"y", id="blanks"),
        pytest.param(b"A=" + b"''" * 200_000, id="empty-quotes"),
        pytest.param(b"A=" + b"\\a" * 200_000, id="escapes"),
        pytest.param(b"A=1\n" * 50_000, id="lines"),
        pytest.param(b"1=1\n" * 50_000, id="bad-lines"),
    ],
)
def test_long_environment_files(tree: Tree, data: bytes) -> None:
    tree.write("etc/systemd/system/a.service", START + b"EnvironmentFile=-/etc/env\n")
    tree.write("etc/env", data)
    assert tree.load().load_state == "loaded"


def test_a_file_too_long_to_read_says_so(tree: Tree) -> None:
    tree.write("etc/systemd/system/a.service", START + b"EnvironmentFile=/etc/env\n")
    tree.write("etc/env", b"A=1\n" * 3_000_000)
    (fault,) = tree.load().faults
    assert fault.kind == "environment-file-unreadable" and "longer than" in fault.text


def test_a_directory_of_many_units_is_listed_once(tree: Tree) -> None:
    for number in range(500):
        tree.write(f"etc/systemd/system/u{number}.service", START + b"Environment=A=%d B='x y'\n" % number)
    view = Files(str(tree.root))
    manager = manager_from(view, 252)
    units = Units(view, manager)
    started = time.monotonic()
    for number in range(500):
        assert load(f"u{number}.service", view, manager, units).variables()["A"] == str(number)
    assert (time.monotonic() - started) / 500 < 0.005
