"""``remedy show``: units as systemd runs them."""

from __future__ import annotations

from remedy.errors import Exit, UsageError
from remedy.road import Machine, this_machine, tree


def show(units: list[str], *, json: bool, root: str | None, systemd: int | None, show_secrets: bool, user: bool) -> int:
    """Print each unit; a unit that is not there makes the exit code 2."""
    from remedy.unit.find import Units
    from remedy.unit.load import load
    from remedy.unit.names import service_name

    machine = _machine(root, systemd, user)
    shared = Units(machine.view, machine.manager)
    missing = 0
    for number, unit in enumerate(units):
        service = load(service_name(unit), machine.view, machine.manager, shared)
        missing += service.load_state == "not-found"
        if json:
            from json import dumps

            from remedy.show.unit import unit_json

            print(dumps(unit_json(service, show_secrets=show_secrets)))
        else:
            from remedy.show.text import width
            from remedy.show.unit import unit_text

            print(
                ("\n" if number else "") + unit_text(service, machine.view, show_secrets=show_secrets, columns=width())
            )
    if missing and not json:
        raise UsageError(f"{missing} of {len(units)} units not found")
    return Exit.USAGE if missing and len(units) == missing else Exit.DONE


def _machine(root: str | None, systemd: int | None, user: bool) -> Machine:
    if root is not None:
        return tree(root, systemd=systemd)
    if systemd is not None:
        return tree("/", systemd=systemd)
    return this_machine(user=user)
