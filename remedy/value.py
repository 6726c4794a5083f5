"""The dataclasses of the standard library, for a start-up that answers at the speed of a prompt.

``dataclasses`` writes and compiles the methods of each class anew in every process: a quarter millisecond a class, and
ten for its own import, where a bare interpreter starts in fifteen. Here ``@dataclass(frozen=True)`` and ``@dataclass``
give the same classes from closures, some fifty times faster to define; whatever else is asked for (``slots=True`` has
every class made twice) is handed to the standard library. A type checker sees the standard library's.
"""

from __future__ import annotations

from operator import attrgetter

from remedy.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    class _Nothing:
        """Stands where no default was given; needed is a value of its own, for None is a common default."""

    _NOTHING = _Nothing()
    _FIELDS = "__dataclass_fields__"

    class _Field:
        """What ``field`` says of one field."""

        def __init__(self, value: Any, factory: Any) -> None:
            self.value = value
            self.factory = factory

    class _Fields:
        """``__dataclass_fields__``, made by the standard library at the first use: fields(), asdict()."""

        def __init__(self) -> None:
            self.kinds: dict[str, Any] = {}
            self.values: dict[str, Any] = {}
            self.factories: dict[str, Any] = {}
            self._standard: Any = None

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if self._standard is None:
                import dataclasses

                made = {name: dataclasses.field(default_factory=factory) for name, factory in self.factories.items()}
                body = {**self.values, **made, "__annotations__": self.kinds, "__module__": owner.__module__}
                self._standard = dataclasses.dataclass(type(owner.__name__, (), body)).__dataclass_fields__
            return self._standard

        def extend(self, kinds: dict[str, Any], body: Mapping[str, Any]) -> None:
            """Add the fields of a class. Raises TypeError where one without a default follows one that has it."""
            for name in kinds:
                given = body.get(name, _NOTHING)
                if isinstance(given, _Field) and given.value is _NOTHING:
                    self.factories[name] = given.factory
                elif given is not _NOTHING:
                    self.values[name] = given.value if isinstance(given, _Field) else given
                elif (self.values or self.factories) and name not in self.kinds:
                    raise TypeError(f"non-default argument {name!r} follows default argument")
            self.kinds |= kinds

    def field(*, default: Any = _NOTHING, default_factory: Any = _NOTHING) -> Any:
        """A field's default, or what makes it."""
        return _Field(default, default_factory)

    def dataclass(cls: Any = None, /, *, frozen: bool = False, **more: Any) -> Any:
        """As ``dataclasses.dataclass``."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, **more)
        kinds = " ".join(map(str, cls.__annotations__.values()))
        special = more or "ClassVar" in kinds or "InitVar" in kinds
        return _standard(cls, frozen, more) if special else _made(cls, frozen)

    def replace(value: Any, /, **changes: Any) -> Any:
        """As ``dataclasses.replace``."""
        return value.__class__(**{**{name: getattr(value, name) for name in value.__match_args__}, **changes})

    def _standard(cls: Any, frozen: bool, more: dict[str, Any]) -> Any:
        import dataclasses

        for name, given in list(vars(cls).items()):
            if isinstance(given, _Field):
                said = {"default": given.value, "default_factory": given.factory}
                setattr(cls, name, dataclasses.field(**{key: it for key, it in said.items() if it is not _NOTHING}))
        return dataclasses.dataclass(frozen=frozen, **more)(cls)

    def _made(cls: Any, frozen: bool) -> Any:
        body = cls.__dict__
        fields = _Fields()
        for base in cls.__mro__[-2:0:-1]:
            known = base.__dict__.get(_FIELDS)
            if isinstance(known, _Fields):
                fields.kinds |= known.kinds
                fields.values |= known.values
                fields.factories |= known.factories
        kinds = cls.__annotations__
        fields.extend(kinds, body)
        for name in [name for name in kinds if isinstance(body.get(name), _Field)]:
            # As in the standard library, a class holds its fields' defaults under their names.
            if name in fields.factories:
                delattr(cls, name)
            else:
                setattr(cls, name, fields.values[name])
        if "__init__" not in body:
            cls.__init__ = _init(cls.__name__, fields, getattr(cls, "__post_init__", None))
        names = cls.__match_args__ = tuple(fields.kinds)
        cls.__dataclass_values__ = attrgetter(*names) if len(names) > 1 else _few(names)
        setattr(cls, _FIELDS, fields)
        for name, method in (_FROZEN if frozen else _METHODS).items():
            if name not in body:
                setattr(cls, name, method)
        return cls

    def _few(names: tuple[str, ...]) -> Any:
        """As attrgetter, which gives no tuple for a single name."""
        return staticmethod(lambda value: tuple([getattr(value, name) for name in names]))

    def _init(cls: str, fields: _Fields, after: Any) -> Any:
        kinds, factories, put = fields.kinds, fields.factories, object.__setattr__
        required = kinds.keys() - fields.values.keys() - factories.keys()
        # No field without a default stands behind one that has it.
        needed = len(required)

        def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
            values = dict(zip(kinds, args))  # noqa: B905 - fewer arguments than fields are usual
            given = len(args)
            if given > len(values):
                raise TypeError(f"{cls}() takes {len(kinds)} arguments but {given} were given")
            if kwargs:
                values |= kwargs
                if len(values) < given + len(kwargs) or not kwargs.keys() <= kinds.keys():
                    raise TypeError(f"{cls}() got an unexpected or repeated argument")
            if given < needed and not required <= values.keys():
                raise TypeError(f"{cls}() missing required arguments: {', '.join(required - values.keys())}")
            for name, make in factories.items():
                if name not in values:
                    values[name] = make()
            # Past the __setattr__ that refuses, and all at once; what has a default is found in the class.
            put(self, "__dict__", values)
            if after is not None:
                after(self)

        return __init__

    def _repr(self: Any) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__match_args__])
        return f"{type(self).__qualname__}({values})"

    def _eq(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self.__dataclass_values__(self) == self.__dataclass_values__(other)

    def _hash(self: Any) -> int:
        return hash(self.__dataclass_values__(self))

    def _setattr(self: Any, name: str, value: object) -> None:  # noqa: ARG001
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _delattr(self: Any, name: str) -> None:  # noqa: ARG001
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    _METHODS = {"__repr__": _repr, "__eq__": _eq, "__hash__": None}
    _FROZEN = {**_METHODS, "__hash__": _hash, "__setattr__": _setattr, "__delattr__": _delattr}
