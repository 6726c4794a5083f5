"""A service as systemd runs it: JSON for programs, a table for people."""

from __future__ import annotations

from remedy.hints import Any
from remedy.show.secrets import redact, redact_argv, redact_value
from remedy.show.text import plain, wrap
from remedy.unit.types import ExecCommand, Fault, Service, Variable
from remedy.view import View, is_executable

SCHEMA = 1
_LABEL = 19
_NAME = 28
#: Variables whose entries get a line each.
_LISTS = frozenset({"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "PYTHONPATH"})


def unit_json(service: Service, show_secrets: bool = False) -> dict[str, Any]:
    """The object of ``remedy show --json``. Values of secrets are hidden unless asked for."""
    environment = service.environment
    return {
        "schema": SCHEMA,
        "unit": service.name,
        "load_state": service.load_state,
        "fragment": service.fragment,
        "drop_ins": list(service.drop_ins),
        "user": service.user,
        "working_directory": working_directory(service),
        "exec_start": [_command_json(command, show_secrets) for command in service.exec_start],
        "environment": None
        if environment is None
        else {name: _variable_json(environment[name], show_secrets) for name in sorted(environment)},
        "errors": [_fault_json(fault, show_secrets) for fault in service.faults],
    }


def working_directory(service: Service) -> str | None:
    """WorkingDirectory= as ``systemctl show`` spells it: ``!`` before a path that may be missing."""
    path = service.working_directory
    return f"!{path}" if path is not None and service.working_directory_optional else path


def unit_text(service: Service, view: View, columns: int = 80, show_secrets: bool = False) -> str:
    """The service for people: its files, command, environment with places, and what is odd about it.

    ``view`` tells which entry of PATH holds an nvcc.
    """
    blocks = [_head(service, columns, show_secrets)]
    if service.environment:
        blocks.append(_environment(service, view, columns, show_secrets))
    elif service.load_state == "loaded":
        blocks.append("Environment\n  none: the process can't be started, see below")
    if service.faults:
        blocks.append("\n".join(["Oddities", *(_fault(fault, columns, show_secrets) for fault in service.faults)]))
    return "\n\n".join(blocks)


def _command_json(command: ExecCommand, show_secrets: bool) -> dict[str, Any]:
    argv = list(command.argv) if show_secrets else redact_argv(command.argv)
    return {"argv": argv, "prefixes": command.prefixes, "source": str(command.source)}


def _variable_json(variable: Variable, show_secrets: bool) -> dict[str, Any]:
    return {
        "value": _value(variable, show_secrets),
        "source": str(variable.source),
        "overrides": [str(place) for place in variable.overrides],
    }


def _fault_json(fault: Fault, show_secrets: bool) -> dict[str, str]:
    text = fault.text if show_secrets else redact(fault.text)
    return {"kind": fault.kind, "text": text, "source": str(fault.place), "mend": fault.mend}


def _value(variable: Variable, show_secrets: bool) -> str:
    return variable.value if show_secrets else redact_value(variable.name, variable.value)


def _head(service: Service, columns: int, show_secrets: bool) -> str:
    lines = [f"{service.name}: {service.load_state}"]
    if service.id and service.id != service.name:
        lines.append(_row("Main name", service.id))
    if service.fragment:
        lines.append(_row("Fragment", service.fragment))
    lines += [_row("Drop-ins" if not index else "", path) for index, path in enumerate(service.drop_ins)]
    if service.load_state != "loaded":
        return "\n".join(lines)
    lines.append(_row("User", service.user or ("the manager's" if service.user_manager else "root")))
    directory = service.working_directory
    if directory:
        lines.append(
            _row("Working directory", directory + (" (may be missing)" if service.working_directory_optional else ""))
        )
    for command in service.exec_start:
        lines += _command(command, columns, show_secrets)
    return "\n".join(lines)


def _command(command: ExecCommand, columns: int, show_secrets: bool) -> list[str]:
    import shlex

    argv = list(command.argv) if show_secrets else redact_argv(command.argv)
    text = command.prefixes + " ".join(plain(shlex.quote(word)) if word != "***" else word for word in argv)
    indent = _LABEL + 2
    body = wrap(text, indent, columns)
    return [_row("Command", body.lstrip()), " " * (indent + 2) + str(command.source)]


def _environment(service: Service, view: View, columns: int, show_secrets: bool) -> str:
    environment = service.environment or {}
    width = min(_NAME, max(map(len, environment)) + 2)
    lines = ["Environment"]
    for name in sorted(environment):
        variable = environment[name]
        entries = _entries(variable, view, show_secrets)
        label = f"  {name}".ljust(width + 2)
        if len(name) + 2 > width:
            lines.append(label)
            label = " " * (width + 2)
        for index, entry in enumerate(entries):
            start = label if not index else " " * (width + 2)
            lines.append(
                f"{start}{wrap(entry, 0, columns - width - 2).replace(chr(10), chr(10) + ' ' * (width + 2))}".rstrip()
            )
        lines.append(f"{' ' * (width + 4)}{variable.source}")
        lines += [f"{' ' * (width + 4)}over {place}" for place in variable.overrides]
    return "\n".join(lines)


def _entries(variable: Variable, view: View, show_secrets: bool) -> list[str]:
    shown = plain(_value(variable, show_secrets))
    if variable.name not in _LISTS or ":" not in shown:
        return [shown or '""']
    entries = shown.split(":")
    if variable.name != "PATH":
        return [entry or "(empty)" for entry in entries]
    return [_path_entry(entry, view) for entry in entries]


def _path_entry(entry: str, view: View) -> str:
    if not entry:
        return "(empty)"
    return f"{entry}  <- nvcc" if entry.startswith("/") and is_executable(view, f"{entry}/nvcc") else entry


def _fault(fault: Fault, columns: int, show_secrets: bool) -> str:
    text = plain(fault.text if show_secrets else redact(fault.text))
    lines = [wrap(text, 2, columns, hanging=4), f"    {fault.place}"]
    if fault.mend:
        lines.append(wrap(f"mend: {plain(fault.mend)}", 4, columns, hanging=6))
    return "\n".join(lines)


def _row(label: str, text: str) -> str:
    return f"  {label.ljust(_LABEL)}{text}"
