from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from remedy.facts.files import Files
from remedy.facts.follow import ANYONE, Lead, lead_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root is led anywhere that others can't go")
LLM, BOB = 1001, 1002


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("home/llm/.cache", "home/bob", "root", "srv", "tmp", "usr/local/cuda"):
        (tmp_path / folder).mkdir(parents=True)
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o755)
    (tmp_path / "tmp").chmod(0o1777)
    (tmp_path / "root").chmod(0o700)
    for name, uid, mode in (
        ("root/secret", 0, 0o600),
        ("root/open", 0, 0o644),
        ("srv/private", 0, 0o600),
        ("srv/public", 0, 0o644),
        ("home/bob/private", BOB, 0o600),
        ("home/llm/own", LLM, 0o600),
    ):
        (tmp_path / name).write_text(name)
        (tmp_path / name).chmod(mode)
        os.chown(tmp_path / name, uid, uid)
    for folder, uid in (("home/llm", LLM), ("home/llm/.cache", LLM), ("home/bob", BOB)):
        os.chown(tmp_path / folder, uid, uid)
    return tmp_path


def link(tree: Path, path: str, target: str, uid: int = LLM) -> None:
    (tree / path).symlink_to(target)
    os.chown(tree / path, uid, uid, follow_symlinks=False)


@pytest.mark.parametrize(
    ("target", "readable"),
    [
        ("/srv/public", True),
        ("/home/llm/own", True),
        ("/srv/private", False),
        ("/root/secret", False),
        # Everybody may read the file, but only root may reach it.
        ("/root/open", False),
        ("/home/bob/private", False),
    ],
)
def test_what_a_user_s_link_leads_to(tree: Path, target: str, readable: bool) -> None:
    link(tree, "home/llm/.cache/build.ninja", target)
    view = Files(str(tree))
    if readable:
        assert view.read("/home/llm/.cache/build.ninja") == target[1:].encode()
    else:
        with pytest.raises(PermissionError, match="uid 1001 leads to what it may not read"):
            view.read("/home/llm/.cache/build.ninja")
        with pytest.raises(PermissionError):
            view.read_range("/home/llm/.cache/build.ninja", 0, 4)
    # Asked for by its own name, root reads it all the same.
    assert view.read(target) == target[1:].encode()


def test_a_folder_that_a_link_leads_to_is_not_listed(tree: Path) -> None:
    link(tree, "home/llm/.cache/flashinfer", "/root")
    view = Files(str(tree))
    with pytest.raises(PermissionError):
        view.list("/home/llm/.cache/flashinfer")
    with pytest.raises(PermissionError):
        view.read("/home/llm/.cache/flashinfer/secret")
    assert view.list("/root") == ("open", "secret")


def test_root_s_own_links_are_followed(tree: Path) -> None:
    link(tree, "usr/local/link", "/root/secret", 0)
    assert Files(str(tree)).read("/usr/local/link") == b"root/secret"


def test_a_link_in_a_folder_that_everybody_may_write(tree: Path) -> None:
    link(tree, "tmp/x", "/root/secret")
    link(tree, "tmp/r", "/root/secret", 0)
    view = Files(str(tree))
    with pytest.raises(PermissionError):
        view.read("/tmp/x")
    # In a sticky folder nobody can exchange root's own link.
    assert view.read("/tmp/r") == b"root/secret"
    (tree / "tmp").chmod(0o777)
    with pytest.raises(PermissionError):
        Files(str(tree)).read("/tmp/r")


def test_what_root_left_in_someone_s_folder_is_read(tree: Path) -> None:
    (tree / "home/llm/.cache/of_root").write_text("left by a start as root")
    (tree / "home/llm/.cache/of_root").chmod(0o600)
    assert Files(str(tree)).read("/home/llm/.cache/of_root") == b"left by a start as root"


def test_an_exchange_between_the_check_and_the_open_is_noticed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own folder is exchanged for a link to another's at the last moment."""
    (tree / "home/llm/.cache/x").mkdir()
    (tree / "home/llm/.cache/x/secret").write_text("own")
    for path in ("home/llm/.cache/x", "home/llm/.cache/x/secret"):
        os.chown(tree / path, LLM, LLM)
    really_open: Callable[..., int] = os.open

    def late(path: str, flags: int, *more: int) -> int:
        if path.endswith("/x/secret"):
            (tree / "home/llm/.cache/x").rename(tree / "home/llm/.cache/y")
            link(tree, "home/llm/.cache/x", str(tree / "root"))
        return really_open(path, flags, *more)

    monkeypatch.setattr(os, "open", late)
    with pytest.raises(PermissionError, match="leads to what it may not read"):
        Files(str(tree)).read("/home/llm/.cache/x/secret")


@pytest.mark.parametrize(
    ("path", "lead"),
    [
        ("/usr/local/cuda", None),
        ("/home/llm/own", Lead(LLM, "/home/llm/own")),
        ("/home/llm/../llm/./own", Lead(LLM, "/home/llm/own")),
        ("/srv/none", None),
        ("/home/llm/.cache/none", Lead(LLM, "/home/llm/.cache/none")),
        ("/tmp/none", None),
    ],
)
def test_who_leads(tree: Path, path: str, lead: Lead | None) -> None:
    view = Files(str(tree))
    assert lead_of(path, view.lstat, view.readlink) == lead


def test_a_folder_that_a_group_may_write(tree: Path) -> None:
    os.chown(tree / "usr/local", 0, 50)
    (tree / "usr/local").chmod(0o2775)
    view = Files(str(tree))
    assert lead_of("/usr/local/cuda/x", view.lstat, view.readlink) == Lead(ANYONE, "/usr/local/cuda/x")


def test_links_in_a_circle(tree: Path) -> None:
    link(tree, "srv/a", "b", 0)
    link(tree, "srv/b", "a", 0)
    view = Files(str(tree))
    assert lead_of("/srv/a", view.lstat, view.readlink) == Lead(ANYONE, "")
