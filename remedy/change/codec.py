"""Frozen dataclasses to JSON and back, for the files that must outlive the process.

Every object names its class, so that a union is read back as what it was. Bytes are base64.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import types
import typing
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
_CLASS = "is"


def dumps(value: object) -> str:
    """One line of ASCII JSON for a dataclass."""
    return json.dumps(_encode(value), separators=(",", ":"))


def loads(kind: type[T], text: str | bytes) -> T:
    """Read a value of ``kind`` (a dataclass, or a union of some). Raises ValueError where the text is none."""
    try:
        return typing.cast(T, _decode(kind, json.loads(text)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a {getattr(kind, '__name__', kind)}: {error}") from error


def _encode(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {_CLASS: type(value).__name__, **fields}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_encode(item) for item in value)
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode(hint: Any, data: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(arguments, data)
    if origin is tuple:
        many = len(arguments) == 2 and arguments[1] is Ellipsis
        hints = [arguments[0]] * len(data) if many else list(arguments)
        return tuple(_decode(one, item) for one, item in zip(hints, data, strict=True))
    if dataclasses.is_dataclass(hint):
        assert isinstance(hint, type)
        if data[_CLASS] != hint.__name__:
            raise ValueError(f"expected {hint.__name__}, found {data[_CLASS]}")
        hints_of = _hints(hint)
        known = {name: _decode(hints_of[name], item) for name, item in data.items() if name in hints_of}
        return hint(**known)
    if hint is bytes:
        return base64.b64decode(data, validate=True)
    if isinstance(hint, type) and not isinstance(data, hint) and not (hint is float and isinstance(data, int)):
        raise ValueError(f"expected {hint.__name__}, found {type(data).__name__}")
    return data


def _decode_union(choices: tuple[Any, ...], data: Any) -> Any:
    if data is None:
        return None
    real = [choice for choice in choices if choice is not type(None)]
    if isinstance(data, dict):
        named = [choice for choice in real if choice.__name__ == data.get(_CLASS)]
        if not named:
            raise ValueError(f"unknown kind of entry: {data.get(_CLASS)}")
        return _decode(named[0], data)
    return _decode(real[0], data)
