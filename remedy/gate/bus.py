"""The manager's side of a start: unit properties and signals over D-Bus, through pystemd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from remedy.errors import RemedyError

_DESTINATION = b"org.freedesktop.systemd1"
_MANAGER_PATH = b"/org/freedesktop/systemd1"
_MANAGER = b"org.freedesktop.systemd1.Manager"
_UNIT = b"org.freedesktop.systemd1.Unit"
_SERVICE = b"org.freedesktop.systemd1.Service"
_PROPERTIES = b"org.freedesktop.DBus.Properties"


@dataclass(frozen=True, slots=True)
class UnitProperties:
    """The properties that decide a verdict, in systemd's own names (org.freedesktop.systemd1(5))."""

    active_state: str
    sub_state: str
    result: str
    invocation: str
    n_restarts: int
    exec_main_status: int
    cpu_usage_ns: int
    type: str
    condition_result: bool


class UnitBus:
    """A bus connection that is subscribed to one unit. Use it as a context manager."""

    def __init__(self, unit: str, *, user: bool = False) -> None:
        from pystemd.dbuslib import DBus, path_encode

        self.unit = unit
        self.jobs: list[tuple[int, str, str]] = []
        self.changed = False
        self._path: bytes = path_encode(b"/org/freedesktop/systemd1/unit", unit.encode())
        self._bus: Any = DBus(user_mode=user)
        try:
            self._bus.open()
            self._subscribe()
        except Exception as error:
            raise RemedyError(
                f"the service manager can't be reached over D-Bus: {_words(error)}",
                hint="is systemd running, and is /run/dbus/system_bus_socket there?",
            ) from error

    def _subscribe(self) -> None:
        # Plain functions, kept as attributes: pystemd sets an attribute on the callback (no bound method
        # takes one) and hands its bare address to libsystemd (it must outlive the subscription).
        def on_change(*_message: Any, **_rest: Any) -> None:
            self.changed = True

        def on_job(message: Any, **_rest: Any) -> None:
            self._note_job(message)

        self._callbacks = (on_change, on_job)
        self._bus.match_signal(_DESTINATION, self._path, _PROPERTIES, b"PropertiesChanged", on_change)
        self._bus.match_signal(_DESTINATION, _MANAGER_PATH, _MANAGER, b"JobRemoved", on_job)
        self._bus.call_method(_DESTINATION, _MANAGER_PATH, _MANAGER, b"Subscribe", [])

    def _note_job(self, msg: Any) -> None:
        msg.process_reply(True)
        job, _path, unit, result = msg.body
        if _text(unit) == self.unit:
            self.jobs.append((int(job), _text(unit), _text(result)))
            self.changed = True

    def fileno(self) -> int:
        """The descriptor that becomes readable when a signal arrives."""
        return int(self._bus.get_fd())

    def drain(self) -> bool:
        """Take in all signals that wait; True where one of them concerned the unit."""
        while not self._bus.process().is_empty():
            pass
        changed, self.changed = self.changed, False
        return changed

    def _get(self, interface: bytes, name: bytes, kind: bytes) -> Any:
        return self._bus.get_property(_DESTINATION, self._path, interface, name, kind)

    def properties(self) -> UnitProperties:
        """The unit's state now."""
        cpu = int(self._get(_SERVICE, b"CPUUsageNSec", b"t"))
        # The invocation comes first: read last, it could be a newer one's than the state that was read before it.
        return UnitProperties(
            invocation=bytes(self._get(_UNIT, b"InvocationID", b"ay")).hex(),
            active_state=_text(self._get(_UNIT, b"ActiveState", b"s")),
            sub_state=_text(self._get(_UNIT, b"SubState", b"s")),
            result=_text(self._get(_SERVICE, b"Result", b"s")),
            n_restarts=int(self._get(_SERVICE, b"NRestarts", b"u")),
            exec_main_status=int(self._get(_SERVICE, b"ExecMainStatus", b"i")),
            cpu_usage_ns=0 if cpu == 2**64 - 1 else cpu,
            type=_text(self._get(_SERVICE, b"Type", b"s")),
            condition_result=bool(self._get(_UNIT, b"ConditionResult", b"b")),
        )

    def close(self) -> None:
        """Close the connection."""
        self._bus.close()


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _words(error: Exception) -> str:
    return _text(error.args[-1]) if error.args else type(error).__name__
