"""A layer's key: what must change it, and what must not."""

from __future__ import annotations

from pathlib import Path

from tests.lab.layers import Layer, keys


def nothing(_root: Path) -> None:
    pass


def test_a_change_rekeys_its_layer_and_those_above(tmp_path: Path) -> None:
    file = tmp_path / "step.py"
    file.write_text("one")
    stack = (Layer("a", nothing), Layer("b", nothing, (file,), ("x==1",)), Layer("c", nothing))
    before = keys("bookworm", stack)
    assert keys("bookworm", stack) == before

    file.write_text("two")
    after = keys("bookworm", stack)
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert after[2] != before[2]

    pinned = (stack[0], Layer("b", nothing, (file,), ("x==2",)), stack[2])
    assert keys("bookworm", pinned)[1] != after[1]
    assert keys("trixie", stack)[0] != before[0]
