"""The quick dataclasses behave as the standard library's: each shape is made by both, and they are compared."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from remedy import value


def shapes(made_by: Any) -> SimpleNamespace:
    """The same classes, made by one of the two."""
    dataclass, field = made_by.dataclass, made_by.field

    @dataclass(frozen=True)
    class Point:
        """A point."""

        x: int
        y: int = 7
        tags: tuple[str, ...] = ()
        notes: Mapping[str, str] = field(default_factory=dict)
        nothing: str | None = None

        @property
        def sum(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True)
    class One:
        only: int

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass
    class Mutable:
        items: list[int] = field(default_factory=list)
        count: int = field(default=3)

    @dataclass(frozen=True)
    class Checked:
        low: int

        def __post_init__(self) -> None:
            if self.low < 0:
                raise ValueError("negative")

        def __repr__(self) -> str:
            return "own repr"

    @dataclass(frozen=True)
    class Open:
        x: int = field(default=1)

    @dataclass(frozen=True)
    class Child(One):
        more: int = 2

    return SimpleNamespace(**{name: kind for name, kind in locals().items() if isinstance(kind, type)})


OURS, THEIRS = shapes(value), shapes(dataclasses)
BOTH = pytest.mark.parametrize("kinds", [OURS, THEIRS], ids=["ours", "theirs"])


@pytest.mark.parametrize(
    "make",
    [
        lambda kinds: kinds.Point(1),
        lambda kinds: kinds.Point(1, 2, ("a",), {"b": "c"}, "d"),
        lambda kinds: kinds.Point(y=2, x=1),
        lambda kinds: kinds.Point(1, nothing="x"),
        lambda kinds: kinds.One(5),
        lambda kinds: kinds.Empty(),
        lambda kinds: kinds.Mutable([1]),
        lambda kinds: kinds.Mutable(),
        lambda kinds: kinds.Checked(1),
        lambda kinds: kinds.Open(),
        lambda kinds: kinds.Child(1, 4),
    ],
)
def test_instances_look_and_compare_alike(make: Callable[[SimpleNamespace], Any]) -> None:
    ours, theirs = make(OURS), make(THEIRS)
    assert repr(ours) == repr(theirs).replace("THEIRS", "OURS")
    assert ours == make(OURS) and ours != theirs
    assert {f.name: getattr(ours, f.name) for f in dataclasses.fields(ours)} == dataclasses.asdict(theirs)
    assert type(ours).__match_args__ == type(theirs).__match_args__
    assert dataclasses.is_dataclass(ours)
    assert [(f.name, f.type) for f in dataclasses.fields(ours)] == [
        (f.name, f.type) for f in dataclasses.fields(theirs)
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda kinds: kinds.Point(),
        lambda kinds: kinds.Point(1, 2, (), {}, None, 6),
        lambda kinds: kinds.Point(1, x=1),
        lambda kinds: kinds.Point(1, z=1),
        lambda kinds: kinds.One(),
        lambda kinds: kinds.Empty(1),
    ],
)
@BOTH
def test_wrong_arguments(kinds: SimpleNamespace, make: Callable[[SimpleNamespace], Any]) -> None:
    with pytest.raises(TypeError):
        make(kinds)


@BOTH
def test_frozen(kinds: SimpleNamespace) -> None:
    point = kinds.Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.other = 2
    assert point.x == 1


@BOTH
def test_hashing(kinds: SimpleNamespace) -> None:
    assert hash(kinds.One(5)) == hash(kinds.One(5)) and len({kinds.One(5), kinds.One(5), kinds.One(6)}) == 2
    assert hash(kinds.Empty()) == hash(kinds.Empty())
    with pytest.raises(TypeError):
        hash(kinds.Mutable())
    with pytest.raises(TypeError):
        hash(kinds.Point(1))


@BOTH
def test_mutable(kinds: SimpleNamespace) -> None:
    one, two = kinds.Mutable(), kinds.Mutable()
    one.items.append(1)
    one.count = 9
    assert (one.items, one.count, two.items, two.count) == ([1], 9, [], 3)


@BOTH
@pytest.mark.parametrize("change", [dataclasses.replace, value.replace], ids=["their replace", "our replace"])
def test_replace(kinds: SimpleNamespace, change: Callable[..., Any]) -> None:
    point = kinds.Point(1, tags=("a",))
    assert change(point, y=3) == kinds.Point(1, 3, ("a",)) and point.y == 7
    with pytest.raises(TypeError):
        change(point, z=3)


@BOTH
def test_matching_methods_and_own_members(kinds: SimpleNamespace) -> None:
    match kinds.Point(1, 2):
        case kinds.Point(1, y=2):
            pass
        case _:
            raise AssertionError
    assert kinds.Point(1).sum == 8 and kinds.Point.__doc__ == "A point."
    with pytest.raises(ValueError, match="negative"):
        kinds.Checked(-1)


@BOTH
def test_copies(kinds: SimpleNamespace) -> None:
    point = kinds.Point(1, notes={"a": "b"})
    assert copy.copy(point) == point and copy.deepcopy(point) == point
    assert copy.deepcopy(point).notes is not point.notes


@value.dataclass(frozen=True)
class Kept:
    x: int
    y: str = ""


def test_pickling() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, "a"))) == Kept(1, "a")


@BOTH
def test_a_field_without_a_default_after_one_that_has_it(kinds: SimpleNamespace) -> None:
    made_by = value if kinds is OURS else dataclasses
    with pytest.raises(TypeError, match="non-default argument 'b' follows default argument"):

        @made_by.dataclass(frozen=True)
        class Wrong:
            a: int = 1
            b: int


def test_definition_is_cheap() -> None:
    """What it is for: neither ``dataclasses`` nor the ``inspect`` that it loads is imported."""
    program = "import sys, remedy.value; sys.exit('dataclasses' in sys.modules or 'inspect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
