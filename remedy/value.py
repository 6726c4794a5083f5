"""The dataclasses of the standard library, for a start-up that answers at the speed of a prompt.

``dataclasses`` writes and compiles the methods of each class anew in every process: about a millisecond a class, and
ten for its own import, where a bare interpreter starts in fifteen. Here ``@dataclass(frozen=True, slots=True)`` and
``@dataclass(slots=True)`` give the same classes from closures, some thirty times faster to define; whatever else
is asked for is handed to the standard library. A type checker sees the standard library's.
"""

from __future__ import annotations

from operator import attrgetter

from remedy.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    class _Nothing:
        """Stands where no default was given; needed is a value of its own, for None is a common default."""

    _NOTHING = _Nothing()
    _FIELDS = "__dataclass_fields__"
    #: A function on a class: all values of an instance in one tuple.
    _VALUES = "__dataclass_values__"
    _Arguments = tuple[tuple[str, Any], ...]

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
        body = dict(cls.__dict__)
        # These belong to the class that is replaced.
        body.pop("__dict__", None)
        body.pop("__weakref__", None)
        fields = _Fields({}, {})
        for base in cls.__mro__[-2:0:-1]:
            known = base.__dict__.get(_FIELDS)
            if isinstance(known, _Fields):
                fields.kinds |= known.kinds
                fields.defaults |= known.defaults
        own = tuple([name for name in kinds if name not in fields.kinds])
        fields.kinds |= kinds
        for name in kinds:
            if name in body:
                given = body.pop(name)
                fields.defaults[name] = given if isinstance(given, _Default) else _Default(given, _NOTHING)
        names = tuple(fields.kinds)
        arguments = tuple([(name, fields.defaults.get(name)) for name in names])
        _check_order(arguments)
        setters: list[Any] = []
        if "__init__" not in body:
            body["__init__"] = _init(cls.__name__, setters, arguments, getattr(cls, "__post_init__", None))
        body |= {"__qualname__": cls.__qualname__, "__slots__": own, "__match_args__": names, _FIELDS: fields}
        body[_VALUES] = attrgetter(*names) if len(names) > 1 else _few(names)
        made = type(cls)(cls.__name__, _bases(cls, _Frozen if frozen else _Value), body)
        # The descriptors of the slots write past the __setattr__ that refuses.
        setters += [getattr(made, name).__set__ for name in names]
        return made

    def _bases(cls: Any, ours: type) -> tuple[type, ...]:
        if issubclass(cls, _Value):
            return cls.__bases__
        return (ours, *[base for base in cls.__bases__ if base is not object])

    def _few(names: tuple[str, ...]) -> Any:
        """As attrgetter, which gives no tuple for a single name."""
        return staticmethod(lambda value: tuple([getattr(value, name) for name in names]))

    def _check_order(arguments: _Arguments) -> None:
        optional = False
        for name, default in arguments:
            if optional and default is None:
                raise TypeError(f"non-default argument {name!r} follows default argument")
            optional = default is not None

    def _init(cls: str, setters: list[Any], arguments: _Arguments, after: Any) -> Any:
        count = len(arguments)

        def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
            given = len(args)
            if given > count:
                raise TypeError(f"{cls}() takes {count} arguments but {given} were given")
            for setter, value in zip(setters, args):  # noqa: B905 - fewer arguments than setters are usual
                setter(self, value)
            for index in range(given, count):
                name, default = arguments[index]
                if name in kwargs:
                    setters[index](self, kwargs.pop(name))
                elif default is None:
                    raise TypeError(f"{cls}() missing required argument {name!r}")
                else:
                    setters[index](self, default.factory() if default.value is _NOTHING else default.value)
            if kwargs:
                raise TypeError(f"{cls}() got an unexpected or repeated argument {next(iter(kwargs))!r}")
            if after is not None:
                after(self)

        return __init__

    class _Value:
        """The methods that all classes share."""

        __slots__ = ()

        def __repr__(self) -> str:
            values = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__match_args__])
            return f"{type(self).__qualname__}({values})"

        def __eq__(self, other: object) -> Any:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return self.__dataclass_values__(self) == self.__dataclass_values__(other)

        __hash__ = None

        def __reduce__(self) -> Any:
            return type(self), self.__dataclass_values__(self)

    class _Frozen(_Value):
        """Those of a class that is frozen."""

        __slots__ = ()

        def __hash__(self) -> int:
            return hash(self.__dataclass_values__(self))

        def __setattr__(self, name: str, value: object) -> None:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name: str) -> None:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot delete field {name!r}")
