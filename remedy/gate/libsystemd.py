"""libsystemd through ctypes, under the names that pystemd and systemd-python give it, for a machine that has neither.

``--host`` brings sources to a machine, and nothing that is compiled; libsystemd is wherever systemd is. Here is what
the watch and the report call, no more. sd-bus(3) and sd-journal(3) have the functions; all return -errno on failure.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

from remedy.hints import Any, Final

_LIBRARY: Final = ctypes.CDLL("libsystemd.so.0")
#: SD_JOURNAL_LOCAL_ONLY (sd_journal_open(3)).
LOCAL_ONLY: Final = 1
#: The basic types that are read here (sd_bus_message_read_basic(3)).
_BASIC: Final[Mapping[bytes, type[Any]]] = {
    **dict.fromkeys((b"s", b"o", b"g"), c_char_p),
    b"y": c_uint8,
    b"b": c_int,
    b"i": ctypes.c_int32,
    b"u": c_uint32,
    b"t": c_uint64,
}
_ON_MESSAGE: Final = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)


class _Error(ctypes.Structure):
    """sd_bus_error (sd_bus_error(3))."""

    _fields_ = (("name", c_char_p), ("message", c_char_p), ("need_free", c_int))


class _Part(ctypes.Structure):
    """iovec (iovec(3type))."""

    _fields_ = (("base", c_char_p), ("length", c_size_t))


def _call(name: str, *arguments: Any) -> int:
    """Call a function; returns what it returns. Raises OSError where that is an error."""
    result = int(getattr(_LIBRARY, name)(*arguments))
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def path_encode(prefix: bytes, name: bytes) -> bytes:
    """An object's path out of a prefix and any name (sd_bus_path_encode(3))."""
    safe = (b"%c" % c if chr(c).isalnum() and c < 128 and (at or c > 57) else b"_%02x" % c for at, c in enumerate(name))
    return prefix + b"/" + (b"".join(safe) or b"_")


class Message:
    """A message, or none where there was none to take."""

    def __init__(self, handle: c_void_p | int | None, *, empty: bool = False) -> None:
        self._handle = handle
        self._empty = empty
        self.body: tuple[Any, ...] = ()

    def is_empty(self) -> bool:
        """Whether nothing was taken off the queue."""
        return self._empty

    def process_reply(self, _with_headers: bool) -> None:
        """Read everything that the message holds into ``body``."""
        self.body = tuple(self._values())

    def _values(self) -> list[Any]:
        values: list[Any] = []
        kind, inside = ctypes.c_char(), c_char_p()
        while _call("sd_bus_message_peek_type", self._handle, byref(kind), byref(inside)):
            values.append(self._value(kind.value, inside.value))
        return values

    def _value(self, kind: bytes, inside: bytes | None) -> Any:
        basic = _BASIC.get(kind)
        if basic is not None:
            value = basic()
            _call("sd_bus_message_read_basic", self._handle, ctypes.c_char(kind), byref(value))
            return value.value
        _call("sd_bus_message_enter_container", self._handle, ctypes.c_char(kind), c_char_p(inside))
        values = self._values()
        _call("sd_bus_message_exit_container", self._handle)
        return values


class DBus:
    """A connection to the system's bus, or the user's."""

    def __init__(self, user_mode: bool = False) -> None:
        self._open = "sd_bus_open_user" if user_mode else "sd_bus_open_system"
        self._bus = c_void_p()
        self._callbacks: list[Any] = []

    def open(self) -> None:
        """Connect."""
        _call(self._open, byref(self._bus))

    def close(self) -> None:
        """Send what waits, and disconnect."""
        _LIBRARY.sd_bus_flush_close_unref.restype = c_void_p
        _LIBRARY.sd_bus_flush_close_unref(self._bus)
        self._bus = c_void_p()

    def get_fd(self) -> int:
        """The connection's descriptor."""
        return _call("sd_bus_get_fd", self._bus)

    def call_method(self, name: bytes, path: bytes, interface: bytes, member: bytes, _arguments: Sequence[Any]) -> None:
        """Call a method that takes nothing, and wait until it has returned."""
        message = c_void_p()
        words = map(c_char_p, (name, path, interface, member))
        _call("sd_bus_message_new_method_call", self._bus, byref(message), *words)
        try:
            self._asked("sd_bus_call", self._bus, message, c_uint64(0), said=None)
        finally:
            _unref(message)

    def get_property(self, name: bytes, path: bytes, interface: bytes, member: bytes, kind: bytes) -> Any:
        """A property's value; arrays and structures as lists. Raises OSError with the manager's own words."""
        reply = c_void_p()
        words = map(c_char_p, (name, path, interface, member))
        self._asked("sd_bus_get_property", self._bus, *words, said=byref(reply), kind=kind)
        try:
            message = Message(reply)
            message.process_reply(True)
        finally:
            _unref(reply)
        (value,) = message.body
        return value

    def _asked(self, function: str, *arguments: Any, said: Any, kind: bytes | None = None) -> None:
        """Call, and put the manager's own words into what is raised."""
        error = _Error()
        rest = () if kind is None else (c_char_p(kind),)
        try:
            _call(function, *arguments, byref(error), said, *rest)
        except OSError as raised:
            raise OSError(raised.errno, error.message or raised.strerror) from None
        finally:
            _LIBRARY.sd_bus_error_free(byref(error))

    def match_signal(
        self, name: bytes, path: bytes, interface: bytes, member: bytes, callback: Callable[[Message], None]
    ) -> None:
        """Have a function called for each such signal, until the connection is closed."""

        def called(message: int, _data: int, _error: int) -> int:
            callback(Message(c_void_p(message)))
            return 0

        # libsystemd keeps the bare address.
        self._callbacks.append(_ON_MESSAGE(called))
        words = map(c_char_p, (name, path, interface, member))
        _call("sd_bus_match_signal", self._bus, None, *words, self._callbacks[-1], None)

    def process(self) -> Message:
        """Take one message off the queue, and call who waits for it."""
        message = c_void_p()
        taken = _call("sd_bus_process", self._bus, byref(message))
        _unref(message)
        return Message(None, empty=not taken)


def _unref(message: c_void_p) -> None:
    _LIBRARY.sd_bus_message_unref.restype = c_void_p
    _LIBRARY.sd_bus_message_unref(message)


class Reader:
    """A reader of the journal's files. ``converters`` make a field's bytes into its value; others are taken as text."""

    def __init__(self, flags: int, converters: Mapping[str, Callable[[Any], Any]]) -> None:
        self._journal = c_void_p()
        self._converters = converters
        _call("sd_journal_open", byref(self._journal), c_int(flags))

    @property
    def data_threshold(self) -> int:
        """Bytes of a field that are read at most."""
        threshold = c_size_t()
        _call("sd_journal_get_data_threshold", self._journal, byref(threshold))
        return threshold.value

    @data_threshold.setter
    def data_threshold(self, threshold: int) -> None:
        _call("sd_journal_set_data_threshold", self._journal, c_size_t(threshold))

    def add_match(self, **fields: str) -> None:
        """Take entries that have all of these fields, beside what was matched before the last disjunction."""
        for name, value in fields.items():
            data = f"{name}={value}".encode()
            _call("sd_journal_add_match", self._journal, data, c_size_t(len(data)))

    def add_disjunction(self) -> None:
        """Begin another group of fields; an entry of either group is taken."""
        _call("sd_journal_add_disjunction", self._journal)

    def seek_head(self) -> None:
        """Go before the first entry."""
        _call("sd_journal_seek_head", self._journal)

    def seek_tail(self) -> None:
        """Go behind the last entry."""
        _call("sd_journal_seek_tail", self._journal)

    def get_previous(self) -> dict[str, Any]:
        """The entry before; empty where there is none."""
        return self._entry() if _call("sd_journal_previous", self._journal) else {}

    def get_next(self) -> dict[str, Any]:
        """The next entry; empty where there is none yet."""
        return self._entry() if _call("sd_journal_next", self._journal) else {}

    def _entry(self) -> dict[str, Any]:
        stamp, data, length = c_uint64(), c_void_p(), c_size_t()
        _call("sd_journal_get_realtime_usec", self._journal, byref(stamp))
        entry: dict[str, Any] = {"__REALTIME_TIMESTAMP": stamp.value}
        _LIBRARY.sd_journal_restart_data.restype = None
        _LIBRARY.sd_journal_restart_data(self._journal)
        while _call("sd_journal_enumerate_data", self._journal, byref(data), byref(length)):
            name, _, value = ctypes.string_at(data.value or 0, length.value).partition(b"=")
            entry[name.decode()] = self._converted(name.decode(), value)
        return entry

    def _converted(self, name: str, value: bytes) -> Any:
        try:
            return self._converters.get(name, bytes.decode)(value)
        except ValueError:
            return value

    def process(self) -> None:
        """Take in what the descriptor has told."""
        _call("sd_journal_process", self._journal)

    def fileno(self) -> int:
        """The descriptor that becomes readable when the journal grows."""
        return _call("sd_journal_get_fd", self._journal)

    def close(self) -> None:
        """Close the files."""
        _LIBRARY.sd_journal_close.restype = None
        _LIBRARY.sd_journal_close(self._journal)


def send(message: str, **fields: str) -> None:
    """Log one entry (sd_journal_sendv(3)). Raises OSError."""
    data = [f"{name}={value}".encode() for name, value in {"MESSAGE": message, **fields}.items()]
    parts = (_Part * len(data))(*(_Part(one, len(one)) for one in data))
    _call("sd_journal_sendv", parts, c_int(len(parts)))
