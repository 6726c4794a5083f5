"""What makes a service that can be read one that is refused: service_verify() of systemd's src/core/service.c."""

from __future__ import annotations

from remedy.unit.assemble import Assembly
from remedy.unit.types import Fault, Manager, Place
from remedy.unit.values import flag, last_of

_TYPES = ("simple", "exec", "forking", "oneshot", "dbus", "notify", "idle")
_RESTARTS = ("no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always")
_KILL_MODES = ("control-group", "process", "mixed", "none")
_ACTIONS = (
    "none", "reboot", "reboot-force", "reboot-immediate", "poweroff", "poweroff-force", "poweroff-immediate",
    "exit", "exit-force", "soft-reboot", "soft-reboot-force", "kexec", "kexec-force", "halt", "halt-force",
    "halt-immediate",
)  # fmt: skip


def service_type(assembly: Assembly, version: int) -> str:
    """Type= as it holds: without one, dbus where there is a BusName=, simple where there is an ExecStart=."""
    known = (*_TYPES, "notify-reload") if version >= 253 else _TYPES
    chosen = last_of(assembly.settings, "Service", "Type", known)
    if chosen is not None:
        return chosen
    if _bus_name(assembly):
        return "dbus"
    if not assembly.commands.get("ExecStart"):
        return "oneshot"
    credentials = any(setting.name in _CREDENTIALS and setting.value for setting in assembly.settings)
    return "exec" if version >= 256 and credentials else "simple"


def refusal(assembly: Assembly, kind: str, manager: Manager) -> str | None:
    """Why systemd refuses the service; None where it does not."""
    version = manager.version
    return _refusal_of_commands(assembly, kind, version) or _refusal_of_context(assembly, kind, manager)


def _refusal_of_commands(assembly: Assembly, kind: str, version: int) -> str | None:
    settings = assembly.settings
    starts = assembly.commands.get("ExecStart", [])
    oneshot = kind == "oneshot"
    succeeds = (last_of(settings, "Unit", "SuccessAction", _ACTIONS) or "none") != "none"
    if not starts and not assembly.commands.get("ExecStop") and not succeeds:
        return "there is no ExecStart=, ExecStop= or SuccessAction="
    if not oneshot and not starts:
        return "there is no ExecStart=, which only Type=oneshot may do without"
    if not starts and not succeeds and not flag(settings, "Service", "RemainAfterExit"):
        return "there is no ExecStart=, no SuccessAction= and no RemainAfterExit=yes"
    if not oneshot and len(starts) > 1:
        return "there is more than one ExecStart=, which only Type=oneshot may have"
    if oneshot:
        return _oneshot_refusal(assembly, version)
    if kind == "dbus" and not _bus_name(assembly):
        return "Type=dbus needs a BusName="
    return None


def _refusal_of_context(assembly: Assembly, kind: str, manager: Manager) -> str | None:
    settings = assembly.settings
    if _last(assembly, "PAMName") and last_of(settings, "Service", "KillMode", _KILL_MODES) in ("process", "none"):
        return "PAMName= needs KillMode=control-group or mixed"
    if manager.version < 256:
        return None
    if flag(settings, "Service", "DynamicUser"):
        directory = assembly.working_directory
        if manager.user:
            return "DynamicUser= is not supported for units of users"
        if directory is not None and directory.text == "~":
            return "WorkingDirectory=~ does not go with DynamicUser=yes"
    if kind == "forking" and flag(settings, "Service", "PrivatePIDs"):
        return "Type=forking does not go with PrivatePIDs=yes"
    return None


def as_fault(why: str, assembly: Assembly, fragment: str) -> Fault:
    """The refusal, placed at the last ExecStart= line."""
    starts = assembly.commands.get("ExecStart")
    place = starts[-1].source if starts else Place(fragment, 1)
    return Fault("bad-setting", f"systemd refuses the service: {why}", place)


_CREDENTIALS = frozenset(
    ("LoadCredential", "LoadCredentialEncrypted", "SetCredential", "SetCredentialEncrypted", "ImportCredential")
)


def has_credentials(assembly: Assembly) -> bool:
    """Whether any credential is passed, so that there is a credentials directory."""
    reset: dict[str, bool] = {}
    for setting in assembly.settings:
        if setting.section == "Service" and setting.name in _CREDENTIALS:
            reset[setting.name] = bool(setting.value)
    return any(reset.values())


def _oneshot_refusal(assembly: Assembly, version: int) -> str | None:
    settings = assembly.settings
    if last_of(settings, "Service", "Restart", _RESTARTS) in ("always", "on-success"):
        return "Type=oneshot does not go with Restart=always or on-success"
    if version < 254 and _last(assembly, "RestartForceExitStatus"):
        return "Type=oneshot does not go with RestartForceExitStatus="
    if version >= 250 and last_of(settings, "Service", "ExitType", ("main", "cgroup")) == "cgroup":
        return "Type=oneshot does not go with ExitType=cgroup"
    return None


def _bus_name(assembly: Assembly) -> str:
    return _last(assembly, "BusName")


def _last(assembly: Assembly, name: str) -> str:
    found = ""
    for setting in assembly.settings:
        if setting.section == "Service" and setting.name == name:
            found = setting.value
    return found
