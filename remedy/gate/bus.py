"""The manager's side of a start: unit properties and signals over D-Bus, through pystemd or libsystemd itself."""

from __future__ import annotations

from remedy.errors import RemedyError
from remedy.hints import Any
from remedy.value import dataclass

_DESTINATION = b"org.freedesktop.systemd1"
_MANAGER_PATH = b"/org/freedesktop/systemd1"
_MANAGER = b"org.freedesktop.systemd1.Manager"
_UNIT = b"org.freedesktop.systemd1.Unit"
_SERVICE = b"org.freedesktop.systemd1.Service"
_JOB = b"org.freedesktop.systemd1.Job"
_PROPERTIES = b"org.freedesktop.DBus.Properties"


@dataclass(frozen=True)
class UnitProperties:
    """The properties that decide a verdict, in systemd's own names (org.freedesktop.systemd1(5))."""

    active_state: str
    sub_state: str
    result: str
    invocation: str
    n_restarts: int
    exec_main_status: int
    type: str
    condition_result: bool
    control_group: str
    #: When the unit last left the inactive state (InactiveExitTimestampMonotonic=), in seconds; 0 where it never did.
    left_inactive: float
    #: The same for when it last came to be inactive or failed (InactiveEnterTimestampMonotonic=).
    entered_inactive: float


class BusError(RemedyError):
    """The connection to the service manager can't be made, or was lost."""


class UnitBus:
    """A bus connection that is subscribed to one unit. Raises BusError where there is none, or no longer.

    ``unit`` may be an alias: ``self.unit`` is the name that signals and the journal know the unit by. ``jobs`` are
    the jobs of the unit that have ended since, each with its number and its result.
    """

    def __init__(self, unit: str, *, user: bool = False) -> None:
        DBus, path_encode = _library()
        self.jobs: list[tuple[int, str]] = []
        self._changed = False
        self._bus: Any = DBus(user_mode=user)
        self._path: bytes = path_encode(b"/org/freedesktop/systemd1/unit", unit.encode())
        try:
            self._bus.open()
            self.unit = _text(self._get(_UNIT, b"Id", b"s"))
            self._path = path_encode(b"/org/freedesktop/systemd1/unit", self.unit.encode())
            self._subscribe()
        except Exception as error:
            self._bus.close()
            raise BusError(
                f"the service manager can't be reached over D-Bus: {_words(error)}",
                hint="is systemd running, and is /run/dbus/system_bus_socket there?",
            ) from error

    def _subscribe(self) -> None:
        # Plain functions, kept as attributes: pystemd sets an attribute on the callback (no bound method
        # takes one) and hands its bare address to libsystemd (it must outlive the subscription).
        def on_change(*_message: Any, **_rest: Any) -> None:
            self._changed = True

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
            self.jobs.append((int(job), _text(result)))
            self._changed = True

    def fileno(self) -> int:
        """The descriptor that becomes readable when a signal arrives."""
        return int(self._bus.get_fd())

    def drain(self) -> bool:
        """Take in all signals that wait; True where one concerned the unit since the last call."""
        self.take_in()
        changed, self._changed = self._changed, False
        return changed

    def take_in(self) -> None:
        """Take in all signals that wait: jobs that have ended are in ``jobs`` then."""
        try:
            while not self._bus.process().is_empty():
                pass
        except Exception as error:
            raise BusError(f"the connection to the service manager was lost: {_words(error)}") from error

    def _get(self, interface: bytes, name: bytes, kind: bytes) -> Any:
        try:
            return self._bus.get_property(_DESTINATION, self._path, interface, name, kind)
        except Exception as error:
            raise BusError(f"the service manager does not answer over D-Bus: {_words(error)}") from error

    def log_limit(self) -> tuple[float, int]:
        """The unit's own LogRateLimitIntervalSec= (seconds) and LogRateLimitBurst=, 0 where it has none."""
        interval = int(self._get(_SERVICE, b"LogRateLimitIntervalUSec", b"t"))
        return interval / 1e6, int(self._get(_SERVICE, b"LogRateLimitBurst", b"u"))

    def job(self) -> int:
        """The number of the job that waits or runs for the unit; 0 for none."""
        return int(self._get(_UNIT, b"Job", b"(uo)")[0])

    def job_type(self) -> str:
        """What that job is: start, stop, restart, …; empty for none."""
        number, path = self._get(_UNIT, b"Job", b"(uo)")
        if not number:
            return ""
        try:
            return _text(self._bus.get_property(_DESTINATION, path, _JOB, b"JobType", b"s"))
        except Exception:
            # It ended between the two questions.
            return ""

    def properties(self) -> UnitProperties:
        """The unit's state now."""
        # The invocation comes first: read last, it could be a newer one's than the state that was read before it.
        return UnitProperties(
            invocation=bytes(self._get(_UNIT, b"InvocationID", b"ay")).hex(),
            active_state=_text(self._get(_UNIT, b"ActiveState", b"s")),
            sub_state=_text(self._get(_UNIT, b"SubState", b"s")),
            result=_text(self._get(_SERVICE, b"Result", b"s")),
            n_restarts=int(self._get(_SERVICE, b"NRestarts", b"u")),
            exec_main_status=int(self._get(_SERVICE, b"ExecMainStatus", b"i")),
            type=_text(self._get(_SERVICE, b"Type", b"s")),
            condition_result=bool(self._get(_UNIT, b"ConditionResult", b"b")),
            control_group=_text(self._get(_SERVICE, b"ControlGroup", b"s")),
            entered_inactive=int(self._get(_UNIT, b"InactiveEnterTimestampMonotonic", b"t")) / 1e6,
            left_inactive=int(self._get(_UNIT, b"InactiveExitTimestampMonotonic", b"t")) / 1e6,
        )

    def close(self) -> None:
        """Close the connection."""
        self._bus.close()


def _library() -> Any:
    """What connects to a bus, and what makes an object's path: pystemd's, else ours. Raises BusError for neither."""
    try:
        try:
            from pystemd import dbuslib as found
        except ImportError:
            from remedy.gate import libsystemd as found
    except (ImportError, OSError) as error:
        hint = "apt-get install libsystemd0 libpython3-stdlib"
        raise BusError(f"the service manager can't be reached over D-Bus: {error}", hint=hint) from None
    return found.DBus, found.path_encode


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _words(error: Exception) -> str:
    return _text(error.args[-1]) if error.args else type(error).__name__
