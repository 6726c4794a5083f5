"""The dataclasses of the standard library, for a start-up that answers at the speed of a prompt.

``dataclasses`` writes and compiles the methods of each class anew in every process: about a millisecond a class, and
ten for its own import, where a bare interpreter starts in fifteen. Here ``@dataclass(frozen=True, slots=True)`` and
``@dataclass(slots=True)`` give the same classes from closures, some thirty times faster to define; whatever else
is asked for is handed to the standard library. A type checker sees the standard library's.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    class _Nothing:
        """Stands where no default was given; needed is a value of its own, for None is a common default."""

    _NOTHING = _Nothing()
    _FIELDS = "__dataclass_fields__"

    class _Default:
        """What ``field`` says of one field."""

        __slots__ = ("factory", "value")

        def __init__(self, value: Any, factory: Any) -> None:
            self.value = value
            self.factory = factory

        def standard(self) -> Any:
            import dataclasses

            given = {"default": self.value, "default_factory": self.factory}
            return dataclasses.field(**{name: value for name, value in given.items() if value is not _NOTHING})

    class _Fields:
        """``__dataclass_fields__``, made by the standard library at the first use: fields(), asdict()."""

        def __init__(self, kinds: dict[str, Any], defaults: dict[str, _Default]) -> None:
            self.kinds = kinds
            self.defaults = defaults
            self._standard: Any = None

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if self._standard is None:
                import dataclasses

                body = {name: default.standard() for name, default in self.defaults.items()}
                body |= {"__annotations__": self.kinds, "__module__": owner.__module__}
                self._standard = dataclasses.dataclass(type(owner.__name__, (), body)).__dataclass_fields__
            return self._standard

    def field(*, default: Any = _NOTHING, default_factory: Any = _NOTHING) -> Any:
        """A field's default, or what makes it."""
        return _Default(default, default_factory)

    def dataclass(cls: Any = None, /, *, frozen: bool = False, slots: bool = False, **more: Any) -> Any:
        """As ``dataclasses.dataclass``."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, slots=slots, **more)
        kinds = cls.__annotations__
        special = any("ClassVar" in str(kind) or "InitVar" in str(kind) for kind in kinds.values())
        return _standard(cls, frozen, slots, more) if special or more or not slots else _made(cls, kinds, frozen)

    def replace(value: Any, /, **changes: Any) -> Any:
        """As ``dataclasses.replace``."""
        return value.__class__(**{**{name: getattr(value, name) for name in value.__match_args__}, **changes})

    def _standard(cls: Any, frozen: bool, slots: bool, more: dict[str, Any]) -> Any:
        import dataclasses

        for name, given in list(vars(cls).items()):
            if isinstance(given, _Default):
                setattr(cls, name, given.standard())
        return dataclasses.dataclass(frozen=frozen, slots=slots, **more)(cls)

    def _made(cls: Any, kinds: dict[str, Any], frozen: bool) -> Any:
        body = {name: given for name, given in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
        fields = _Fields({}, {})
        for base in reversed(cls.__mro__[1:]):
            known = base.__dict__.get(_FIELDS)
            if isinstance(known, _Fields):
                fields.kinds |= known.kinds
                fields.defaults |= known.defaults
        own = tuple(name for name in kinds if name not in fields.kinds)
        fields.kinds |= kinds
        for name in kinds:
            given = body.pop(name, _NOTHING)
            if given is not _NOTHING:
                fields.defaults[name] = given if isinstance(given, _Default) else _Default(given, _NOTHING)
        names = tuple(fields.kinds)
        _check_order(names, fields.defaults)
        members = {**_methods(names, frozen), **body, "__slots__": own, "__match_args__": names, _FIELDS: fields}
        made = type(cls)(cls.__name__, cls.__bases__, members)
        made.__qualname__ = cls.__qualname__
        if "__init__" not in cls.__dict__:
            made.__init__ = _init(made, names, fields.defaults)
        return made

    def _check_order(names: tuple[str, ...], defaults: dict[str, _Default]) -> None:
        optional = False
        for name in names:
            if optional and name not in defaults:
                raise TypeError(f"non-default argument {name!r} follows default argument")
            optional = name in defaults

    def _init(cls: Any, names: tuple[str, ...], defaults: dict[str, _Default]) -> Any:
        # The descriptors of the slots write past the __setattr__ that refuses.
        setters = tuple(getattr(cls, name).__set__ for name in names)
        rest = tuple((name, setter, defaults.get(name)) for name, setter in zip(names, setters, strict=True))
        count = len(names)
        after = getattr(cls, "__post_init__", None)

        def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
            given = len(args)
            if given > count:
                raise TypeError(f"{cls.__name__}() takes {count} arguments but {given} were given")
            for setter, value in zip(setters, args):  # noqa: B905 - fewer arguments than setters are usual
                setter(self, value)
            for name, setter, default in rest[given:]:
                if name in kwargs:
                    setter(self, kwargs.pop(name))
                elif default is None:
                    raise TypeError(f"{cls.__name__}() missing required argument {name!r}")
                else:
                    setter(self, default.factory() if default.value is _NOTHING else default.value)
            if kwargs:
                raise TypeError(f"{cls.__name__}() got an unexpected or repeated argument {next(iter(kwargs))!r}")
            if after is not None:
                after(self)

        return __init__

    def _methods(names: tuple[str, ...], frozen: bool) -> dict[str, Any]:
        get: Any = attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)

        def __repr__(self: Any) -> str:
            values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{type(self).__qualname__}({values})"

        def __eq__(self: Any, other: Any) -> Any:
            return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self: Any) -> int:
            return hash(get(self))

        def __reduce__(self: Any) -> Any:
            return type(self), tuple(getattr(self, name) for name in names)

        methods: dict[str, Any] = {"__repr__": __repr__, "__eq__": __eq__, "__reduce__": __reduce__, "__hash__": None}
        if frozen:
            methods |= {"__hash__": __hash__, "__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        return methods

    def _refuse_to_set(self: Any, name: str, value: Any) -> None:  # noqa: ARG001
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(self: Any, name: str) -> None:  # noqa: ARG001
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")
