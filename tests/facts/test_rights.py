from __future__ import annotations

import pytest

from remedy.facts.accounts import ROOT, Account
from remedy.facts.rights import barred, may_write
from remedy.view import Stat
from tests.memory import MemoryView

LLM = Account("llm", 1001, 1001, "/home/llm", (1001, 44))


@pytest.mark.parametrize(
    ("mode", "uid", "gid", "account", "expected"),
    [
        (0o755, 0, 0, LLM, False),
        (0o755, 1001, 1001, LLM, True),
        (0o775, 0, 44, LLM, True),
        (0o775, 0, 45, LLM, False),
        (0o777, 0, 0, LLM, True),
        # The owner's bits count for the owner, even where others have more.
        (0o077, 1001, 0, LLM, False),
        (0o772, 0, 0, LLM, False),
        (0o000, 5, 5, ROOT, True),
    ],
)
def test_who_may_write(mode: int, uid: int, gid: int, account: Account, expected: bool) -> None:
    assert may_write(Stat("directory", mode, uid, gid, 0, 0), account) is expected


class Closed(MemoryView):
    """A tree with one folder that only its owner, root, may enter."""

    def stat(self, path: str) -> Stat | None:
        found = super().stat(path)
        return Stat("directory", 0o700, 0, 0, 0, 0) if found and path == "/opt/cuda" else found


@pytest.mark.parametrize(
    ("path", "account", "said"),
    [
        ("/opt/cuda/bin/nvcc", LLM, "/opt/cuda can't be entered by llm (owner 0, mode 0700)"),
        ("/opt/cuda/bin/nvcc", ROOT, None),
        ("/opt/other/nvcc", LLM, None),
    ],
)
def test_the_way_to_a_file(path: str, account: Account, said: str | None) -> None:
    view = Closed(programs=["/opt/cuda/bin/nvcc", "/opt/other/nvcc"])
    assert barred(view, path, account) == said
