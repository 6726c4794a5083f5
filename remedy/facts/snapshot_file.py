"""A recording as a JSON text, and back: the file that ``remedy snapshot`` writes and ``--snapshot`` reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from remedy.errors import UsageError
from remedy.facts.recorded import Failure, Recording
from remedy.facts.run import Result
from remedy.hints import TypeVar
from remedy.view import Kind, Stat

T = TypeVar("T")

SCHEMA = 1
KIND = "remedy-snapshot"
_KINDS: Mapping[str, Kind] = {"file": "file", "directory": "directory", "symlink": "symlink", "other": "other"}


class _Malformed(Exception):
    """What in the file is not as a snapshot has it."""


def about(unit: str, gpu_arch: str | None, version: str, *, user: bool) -> dict[str, str]:
    """What a snapshot says of itself: what was looked at, as whom, and which remedy asked."""
    owner = str(os.geteuid()) if user else ""
    return {"unit": unit, "gpu_arch": gpu_arch or "", "owner": owner, "remedy": version}


def of_another_remedy(recording: Recording, name: str, version: str) -> str | None:
    """What to know of a snapshot that another version of remedy made; None where it was this ``version``."""
    maker = recording.about.get("remedy") or "an older one"
    if maker == version:
        return None
    return f"{name} was made by another remedy ({maker}, this is {version}): what that did not ask for is not known"


def dump(recording: Recording) -> str:
    """The recording as JSON, sorted, so that two snapshots can be compared line by line."""
    import json

    ranges = [[path, offset, size, _text(data)] for (path, offset, size), data in sorted(recording.ranges.items())]
    runs = [
        {"argv": list(argv), "user": user, **_result(result)} for (argv, user), result in sorted(recording.runs.items())
    ]
    document = {
        "schema": SCHEMA,
        "kind": KIND,
        "about": recording.about,
        "stat": {path: _stat(stat) for path, stat in recording.stats.items()},
        "lstat": {path: _stat(stat) for path, stat in recording.lstats.items()},
        "list": {path: _noted(names, list) for path, names in recording.lists.items()},
        "readlink": {path: _noted(target, str) for path, target in recording.links.items()},
        "realpath": {path: real for path, real in recording.real.items() if path != real},
        "read": {path: _noted(data, _text) for path, data in recording.contents.items()},
        "read_range": ranges,
        "run": runs,
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def load(text: str, name: str) -> Recording:
    """The recording in a snapshot's text; ``name`` is the file's. Raises UsageError for anything else."""
    import json

    try:
        return _recording(json.loads(text))
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{name}:{error.lineno}: no JSON ({error.msg})", hint="make one with: remedy snapshot UNIT > FILE"
        ) from None
    except (_Malformed, ValueError, RecursionError) as error:
        raise UsageError(
            f"{name}: no snapshot of remedy's: {error}", hint="make one with: remedy snapshot UNIT > FILE"
        ) from None


def _recording(document: object) -> Recording:
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise _Malformed(f'"kind" is not "{KIND}"')
    if document.get("schema") != SCHEMA:
        raise _Malformed(f'"schema" is {document.get("schema")!r}, this remedy reads {SCHEMA}')
    return Recording(
        about=_each(document, "about", _str),
        stats=_each(document, "stat", _read_stat),
        lstats=_each(document, "lstat", _read_stat),
        lists=_each(document, "list", lambda value: _read_noted(value, _names)),
        links=_each(document, "readlink", lambda value: _read_noted(value, _str)),
        real=_each(document, "realpath", _str),
        contents=_each(document, "read", lambda value: _read_noted(value, _bytes)),
        ranges=dict(_read_range(item) for item in _array(document.get("read_range"))),
        runs=dict(_read_run(item) for item in _array(document.get("run"))),
    )


def _text(data: bytes) -> str:
    # Bytes that are no UTF-8 become lone surrogates, which JSON writes as \udcXX: every byte comes back.
    return data.decode("utf-8", "surrogateescape")


def _stat(stat: Stat | None) -> list[str | int] | None:
    return [stat.kind, stat.mode, stat.uid, stat.gid, stat.size, stat.mtime_ns] if stat else None


def _noted(value: T | Failure, encode: Callable[[T], object]) -> object:
    return {"errno": value.number, "error": value.words} if isinstance(value, Failure) else encode(value)


def _result(result: Result) -> dict[str, object]:
    stdout, stderr = _text(result.stdout), _text(result.stderr)
    return {"returncode": result.returncode, "stdout": stdout, "stderr": stderr, "why": result.why}


def _each(document: Mapping[str, object], key: str, decode: Callable[[object], T]) -> dict[str, T]:
    section = document.get(key)
    if not isinstance(section, dict):
        raise _Malformed(f'"{key}" is no object')
    return {path: decode(value) for path, value in section.items()}


def _array(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _Malformed('"run" or "read_range" is no array')
    return value


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise _Malformed(f"a text was expected, not {value!r:.60}")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Malformed(f"a number was expected, not {value!r:.60}")
    return value


def _bytes(value: object) -> bytes:
    try:
        return _str(value).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _Malformed(f"a text holds what is no byte: {value!r:.60}") from None


def _names(value: object) -> tuple[str, ...]:
    return tuple(_str(name) for name in _array(value))


def _read_stat(value: object) -> Stat | None:
    if value is None:
        return None
    fields = _array(value)
    kind = _KINDS.get(_str(fields[0])) if len(fields) == 6 else None
    if kind is None:
        raise _Malformed(f"no stat: {value!r:.60}")
    mode, uid, gid, size, mtime = (_int(number) for number in fields[1:])
    return Stat(kind, mode, uid, gid, size, mtime)


def _read_noted(value: object, decode: Callable[[object], T]) -> T | Failure:
    if isinstance(value, dict):
        return Failure(_int(value.get("errno")), _str(value.get("error")))
    return decode(value)


def _read_range(value: object) -> tuple[tuple[str, int, int], bytes]:
    fields = _array(value)
    if len(fields) != 4:
        raise _Malformed(f"no range: {value!r:.60}")
    return (_str(fields[0]), _int(fields[1]), _int(fields[2])), _bytes(fields[3])


def _read_run(value: object) -> tuple[tuple[tuple[str, ...], str], Result]:
    if not isinstance(value, dict):
        raise _Malformed(f"no run: {value!r:.60}")
    code, why = value.get("returncode"), value.get("why")
    result = Result(
        None if code is None else _int(code),
        _bytes(value.get("stdout")),
        _bytes(value.get("stderr")),
        None if why is None else _str(why),
    )
    return (_names(value.get("argv")), _str(value.get("user"))), result
