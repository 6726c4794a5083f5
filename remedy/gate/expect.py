"""How health is recognised for one service: from its arguments, its [X-Remedy] section and earlier starts."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from remedy.errors import UsageError
from remedy.gate import servers
from remedy.gate.types import ApiKey, Expectation
from remedy.hints import Final
from remedy.unit.types import Launch, Service, Setting
from remedy.view import View

DEFAULT_TIMEOUT = 1800.0
SHORTEST_TIMEOUT = 600.0
# A start that takes three times as long as the last good one is no longer merely slow.
STRETCH = 3.0
# Seconds for which a service must not end again once it is ready: a token proves the whole way through it, a line or an
# answer only that it came so far.
PROVEN_SETTLE = 2.0
SETTLE = 5.0


def seconds(text: str) -> float | None:
    """A time span as systemd.time(7) writes it ("90", "5min 20s", "1h"); None where it is none."""
    units = {
        "": 1.0, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6,
        "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0,
        "hours": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
    }  # fmt: skip
    total, number, unit, seen = 0.0, "", "", False
    for char in text.replace(" ", "") + "\0":
        if char.isdigit() or char == "." or char == "\0":
            if unit or char == "\0":
                if not number or unit not in units:
                    return None
                try:
                    total += float(number) * units[unit]
                except ValueError:
                    return None
                number, unit, seen = "", "", True
            number += char if char != "\0" else ""
        else:
            unit += char
    return total if seen else None


def deadline(service: Service, wanted: float | None, last_start: float | None) -> float:
    """Seconds that a start is given: the operator's wish, the unit's, then what earlier good starts took."""
    if wanted is not None:
        return wanted
    own = service.value("X-Remedy", "StartTimeout")
    span = seconds(own.value) if own else None
    if span:
        return span
    if last_start is not None:
        return max(SHORTEST_TIMEOUT, STRETCH * last_start)
    return DEFAULT_TIMEOUT


def expectation(
    service: Service,
    launch: Launch | None,
    view: View | None = None,
    *,
    timeout: float | None = None,
    last_start: float | None = None,
) -> Expectation:
    """What a healthy start of this service looks like; ``view`` is where a configuration file that its command line
    names is read.

    Raises UsageError for a bad value in the unit's own [X-Remedy] section.
    """
    check_wishes(service)
    argv = launch.argv if launch else (service.exec_start[-1].argv if service.exec_start else ())
    if launch and view:
        argv = servers.arguments(launch, view)
    variables = launch.variables() if launch else service.variables()
    server = servers.server_of(argv, launch.module if launch else None)
    ready = tuple(setting.value for setting in service.values("X-Remedy", "ReadyPattern"))
    wish = service.value("X-Remedy", "HealthURL")
    base = None if _is_out_of_reach(service) else servers.address(argv, variables, server)
    token = bool(base and server and server.generate)
    return Expectation(
        ready=ready or (server.ready if server and "--headless" not in argv else ()),
        fatal=servers.fatal(server, base) if server else (),
        health_url=wish.value if wish else base and base + (server.health if server else "/"),
        # Who knows nothing of the server can only say that it answers.
        any_answer=wish is None and server is None,
        models_url=f"{base}/v1/models" if token and server and server.names_model else None,
        generate_url=f"{base}{server.generate}" if token and server else None,
        generate_body=server.body if token and server else "",
        api_key=ApiKey(servers.key(argv, variables, server)),
        timeout=deadline(service, timeout, last_start),
        settle=PROVEN_SETTLE if token else SETTLE,
        expected=last_start,
        soft=timeout is None and service.value("X-Remedy", "StartTimeout") is None,
        elsewhere=bool(launch and launch.container),
    )


def _is_out_of_reach(service: Service) -> bool:
    """Whether the service has a network namespace of its own (systemd.exec(5)): nothing can be asked from here."""
    private = service.value("Service", "PrivateNetwork")
    closed = private is not None and private.value.lower() in ("yes", "true", "on", "1", "y", "t")
    return closed or service.value("Service", "NetworkNamespacePath") is not None


def check_wishes(service: Service) -> None:
    """Raise UsageError for the first line of the unit's [X-Remedy] section that can't be followed."""
    for setting in service.settings:
        if setting.section == "X-Remedy" and setting.value:
            _CHECKS.get(setting.name, _check_name)(setting)


def _check_name(setting: Setting) -> None:
    raise UsageError(
        f"{setting.place}: [X-Remedy] has no setting {setting.name}=", hint=f"there are {', '.join(_CHECKS)}"
    )


def _check_pattern(setting: Setting) -> None:
    import re

    try:
        re.compile(setting.value)
    except re.error as error:
        raise UsageError(
            f"{setting.place}: ReadyPattern={setting.value} is not a regular expression: {error}",
            hint="it is matched with Python's re.search against each log line",
        ) from None


def _check_url(setting: Setting) -> None:
    try:
        parts = urlsplit(setting.value)
        good = parts.scheme in ("http", "https", "http+unix") and bool(parts.netloc) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(
            f"{setting.place}: HealthURL={setting.value} is no HTTP address",
            hint="write it as http://127.0.0.1:8000/health, or http+unix://%2Frun%2Fx.sock/health for a socket",
        )


def _check_timeout(setting: Setting) -> None:
    if not seconds(setting.value):
        raise UsageError(
            f"{setting.place}: StartTimeout={setting.value} is not a time span", hint="write it as 900 or 15min"
        )


_CHECKS: Final[dict[str, Callable[[Setting], None]]] = {
    "ReadyPattern": _check_pattern,
    "HealthURL": _check_url,
    "StartTimeout": _check_timeout,
}
