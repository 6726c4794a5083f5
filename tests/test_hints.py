from __future__ import annotations

import typing

from remedy import hints


def test_it_has_the_names_of_typing() -> None:
    names = {name for name in vars(hints) if not name.startswith("_")} - {"annotations", "TYPE_CHECKING"}
    assert names <= set(typing.__all__)


def test_a_literal_is_the_type_of_its_values() -> None:
    kinds: list[object] = [hints.Literal["a", "b"], hints.Literal["a"]]
    assert kinds == [str, str]


def test_a_protocol_can_be_followed_by_a_class_with_slots() -> None:
    class Speaks(hints.Protocol):
        def speak(self) -> str: ...

    class Dog(Speaks):
        __slots__ = ()

        def speak(self) -> str:
            return "woof"

    assert Dog().speak() == "woof"
