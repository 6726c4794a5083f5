"""Lines that systemd takes as they are written, and their author meant otherwise.

systemd.exec(5): "Environment=" expands no variables and knows no ``~``; "EnvironmentFile=" is no shell script.
systemd.unit(5), "Specifiers": ``%h`` is the home of the manager's user, not of User='s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remedy.pattern import pattern
from remedy.unit.launch_stage import home_of
from remedy.unit.types import SYSTEMD, Fault, Launch, Service, Variable
from remedy.view import View

# Variables that hold paths. Others may hold a dollar sign or a quote for good reason: passwords, JSON.
_PATH_ENDINGS = ("PATH", "HOME", "DIR", "DIRS", "ROOT", "CACHE", "PREFIX", "_ENV")
_PATH_NAMES = frozenset({"CC", "CXX", "CUDAHOSTCXX", "PWD"})
_REFERENCE = pattern(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::?-[^}]*)?\}|([A-Za-z_][A-Za-z0-9_]*))")
_WELL_KNOWN = frozenset({"HOME", "PATH", "USER", "PWD", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "LD_LIBRARY_PATH"})
_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OF_MANAGER = pattern(r"(?<!%)(?:%%)*%([huU])")
_SHELL_WORDS = frozenset({"&&", "||", "|", ";;", ">", ">>", "<", "2>&1", "2>", "&", "&>"})


def mistakes(service: Service, launch: Launch | None, view: View) -> tuple[Fault, ...]:
    """What the reader could not object to; ``service.faults`` holds what systemd itself complains of.

    A variable that the launch chain sets anew is left alone: its line in the unit decides nothing.
    """
    found: list[Fault] = []
    for variable in (service.environment or {}).values():
        decided = launch.environment.get(variable.name) if launch else variable
        if variable.source == SYSTEMD or decided is None or decided.source != variable.source:
            continue
        found += _in_value(variable, service, view)
    found += _specifiers(service, view)
    found += _shell_syntax(service)
    known = {(fault.kind, fault.place) for fault in service.faults}
    return tuple(fault for fault in dict.fromkeys(found) if (fault.kind, fault.place) not in known)


def _in_value(variable: Variable, service: Service, view: View) -> list[Fault]:
    """The faults of one value; each says the same mend, which makes up for all of them."""
    name, value = variable.name, variable.value
    in_file = variable.source.path not in (service.fragment, *service.drop_ins)
    found: list[tuple[str, str]] = []
    meant = value
    if (bare := _without_quotes(name, meant)) != meant:
        meant = bare
        found.append(("environment-quoting", "these quotes are part of the value"))
    if in_file and _is_path(name) and (comment := re.search(r"\s+#.*$", meant, re.DOTALL)):
        meant = meant[: comment.start()]
        found.append(("environment-quoting", "the comment is part of the value, it needs a line of its own"))
    if _has_reference(name, meant, service):
        meant = _expanded(name, meant, service, view)
        setting = "EnvironmentFile=" if in_file else "Environment="
        found.append(("environment-literal-variable", f"systemd expands no $VARIABLE in {setting}"))
    if meant == "~" or meant.startswith("~/") or (_is_list(name) and ":~/" in meant):
        home = home_of(view, service.user or "root") or "/root"
        meant = re.sub(r"(^|:)~(?=/|:|$)", lambda match: match[1] + home, meant)
        found.append(("environment-tilde", "systemd knows no ~, the program gets it as it is"))
    if _is_path(name) and value and _has_empty_entry(name, meant):
        meant = ":".join(entry for entry in meant.rstrip(";,").split(":") if entry)
        found.append(("environment-empty-entry", _empty_entry(name)))
    if not found:
        return []
    from remedy.unit.edit_quoting import assignment_word, file_value

    mend = f"{name}={file_value(meant, '')}"
    if not in_file:
        mend = "Environment=" + assignment_word(name, meant, "bare", '"')
    return [
        Fault(kind, f"{name}={value}: {text}", variable.source, f"write {mend}", name, meant) for kind, text in found
    ]


def _is_path(name: str) -> bool:
    return name.endswith(_PATH_ENDINGS) or name in _PATH_NAMES


def _is_list(name: str) -> bool:
    return name.endswith(("PATH", "PATHS"))


def _has_reference(name: str, value: str, service: Service) -> bool:
    if "$" not in value:
        return False
    known = _WELL_KNOWN | (service.environment or {}).keys()
    for match in _REFERENCE.finditer(value):
        if (match[1] or match[2]) not in known:
            continue
        before, after = value[: match.start()][-1:], value[match.end() :][:1]
        if _is_path(name) or (before in ("", ":", "/", "=") and after in ("", ":", "/")):
            return True
    return False


def _expanded(name: str, value: str, service: Service, view: View) -> str:
    """The value as its author meant it, as far as that can be told; other references stay."""
    values = service.variables()
    values["HOME"] = values.get("HOME") or home_of(view, service.user or "root") or "/root"
    values["USER"] = values.get("USER") or service.user or "root"
    # A variable that names itself meant what it was before: for PATH that is the manager's, for others nothing.
    values[name] = _USUAL_PATH if name == "PATH" else ""
    for _ in range(4):
        value = _REFERENCE.sub(lambda match: values.get(match[1] or match[2], match[0]), value)
    return value.strip(":") if _is_path(name) else value


def _without_quotes(name: str, value: str) -> str:
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] and value[0] not in value[1:-1]:
        return value[1:-1]
    return value.replace('"', "").replace("'", "") if _is_list(name) else value


def _has_empty_entry(name: str, value: str) -> bool:
    if _is_list(name) and not name.endswith("CUDA_PATH"):
        return value.startswith(":") or value.endswith(":") or "::" in value
    return bool(re.fullmatch(r"(:.*)|(.*[:;,])", value, re.DOTALL))


def _empty_entry(name: str) -> str:
    if _is_list(name) and not name.endswith("CUDA_PATH"):
        return "an empty entry stands for the working directory"
    return "this is one path, not a list: the separator is part of it"


def _specifiers(service: Service, view: View) -> Iterator[Fault]:
    if service.user in (None, "root", "0") or service.user_manager:
        return
    home = home_of(view, service.user or "root")
    for name in ("Environment", "EnvironmentFile", "ExecStart", "WorkingDirectory", "ReadWritePaths"):
        for setting in service.values("Service", name):
            for match in _OF_MANAGER.finditer(setting.value):
                meant = {"h": home or f"the home of {service.user}", "u": service.user}.get(match[1], "the number")
                subject = "home" if match[1] == "h" else "name" if match[1] == "u" else "number"
                yield Fault(
                    "home-specifier",
                    f"%{match[1]} in {name}= is root's {subject}, not that of {service.user} (User=)",
                    setting.place,
                    f"write {meant} instead of %{match[1]}",
                )


def _shell_syntax(service: Service) -> Iterator[Fault]:
    for command in service.exec_start:
        odd = [word for word in command.argv[1:] if word in _SHELL_WORDS]
        if odd and not re.search(r"(^|/)(ba|da|z|k)?sh$", command.path):
            yield Fault(
                "exec-shell-syntax",
                f"ExecStart= is no shell: {odd[0]} is handed to {command.path} as an argument",
                command.source,
                "use /bin/sh -c '…' for the whole command, or StandardOutput= for a redirection",
            )
