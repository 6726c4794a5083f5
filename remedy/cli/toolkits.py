"""``remedy toolkits``: what CUDA toolkits there are, how complete, and who uses each."""

from __future__ import annotations

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
    """Every toolkit, with the administrator's services whose environment names it."""
    from remedy.facts.toolkits import finish, look_up, with_architectures

    services = _services(machine)
    roots: dict[str, list[tuple[str, str]]] = {}
    for service in services:
        for root, variable in _named(service.variables()):
            roots.setdefault(root, []).append((service.name, variable))
    # The candidates' folders are found from an environment: one that names all that any service names.
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


def _named(variables: dict[str, str]) -> list[tuple[str, str]]:
    found = [(variables[name].rstrip("/"), name) for name in ("CUDA_HOME", "CUDA_PATH") if variables.get(name)]
    entries = [entry.rstrip("/") for entry in variables.get("PATH", "").split(":")]
    return found + [(entry[: -len("/bin")], "PATH") for entry in entries if entry.endswith("/bin") and "cuda" in entry]
