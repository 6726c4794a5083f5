"""``remedy toolkits``: what CUDA toolkits there are, how complete, and who uses each."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.errors import Exit
from remedy.road import Machine, this_machine
from remedy.show.toolkits import Use, toolkits_json, toolkits_text
from remedy.unit.types import Service


def toolkits(*, json: bool) -> int:
    """Print every toolkit of this machine."""
    from remedy.show.text import width

    uses = uses_of(this_machine())
    if json:
        from json import dumps

        print(dumps(toolkits_json(uses)))
    else:
        print(toolkits_text(uses, width()))
    return Exit.DONE


def uses_of(machine: Machine) -> tuple[Use, ...]:
    """Every toolkit, with the administrator's services that are led to it by their environment, or by nothing else."""
    from remedy.facts.toolkits import finish, look_up, with_architectures

    roots: dict[str, list[tuple[str, str]]] = {}
    for service in _services(machine):
        for root, variable in _ways(machine, service):
            roots.setdefault(root, []).append((service.name, variable))
    # The candidates' folders are found from an environment: one that names all that any service is led to.
    env = {"PATH": ":".join(f"{root}/bin" for root in roots)} if roots else {}
    kits = finish(machine.view, look_up(machine.view, machine.runner, env, None, None))
    shown = with_architectures(machine.runner, tuple(kit for kit in kits if kit.nvcc or kit.components), None)
    return tuple(Use(kit, tuple(roots.get(kit.root, ()))) for kit in shown)


def _services(machine: Machine) -> list[Service]:
    from remedy.unit.find import Units
    from remedy.unit.load import load
    from remedy.unit.names import kind_of

    try:
        names = machine.view.list("/etc/systemd/system")
    except OSError:
        return []
    units = Units(machine.view, machine.manager)
    wanted = [name for name in names if name.endswith(".service") and kind_of(name) in ("plain", "instance")]
    return [load(name, machine.view, machine.manager, units) for name in wanted]


def _ways(machine: Machine, service: Service) -> Iterator[tuple[str, str]]:
    """Each root that a service is led to, and through what: a variable, PATH, its own environment's packages, and
    where there is none of them the folder that JIT libraries fall back to."""
    from remedy.facts.interpreter import read_interpreter
    from remedy.facts.toolkits import roots_in
    from remedy.jit.lookup import DEFAULT_ROOT
    from remedy.unit.launch import launch
    from remedy.view import is_executable, which

    started = launch(service, machine.view)
    variables = started.variables()
    path = started.interpreter
    interpreter = read_interpreter(machine.view, path, variables, variables.get("HOME", "/")) if path else None
    compiles = interpreter is not None and interpreter.torch is not None
    ways = [(variables[name].rstrip("/"), name) for name in ("CUDA_HOME", "CUDA_PATH") if variables.get(name)]
    # The first nvcc on PATH is the one that counts; a program that compiles nothing asks for none, unless it is told.
    nvcc = which(machine.view, "nvcc", variables.get("PATH"))
    if nvcc and (compiles or "cuda" in nvcc):
        ways.append((posixpath.dirname(posixpath.dirname(nvcc)), "PATH"))
    yield from ways
    if compiles and not ways:
        yield DEFAULT_ROOT, "by default"
    for root in roots_in(machine.view, interpreter) if interpreter else ():
        if is_executable(machine.view, f"{root}/bin/nvcc"):
            yield root, "in its environment"
