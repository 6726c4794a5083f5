"""What the shell offers at a TAB: names of services and of causes."""

from __future__ import annotations

from remedy.facts.run import Programs, Runner, run


def services(incomplete: str, runner: Runner | None = None) -> list[str]:
    """Service units that begin so; none where systemctl doesn't answer."""
    argv = ("systemctl", "list-unit-files", "--type=service", "--no-legend", "--no-pager", "--plain")
    lines = run(runner or Programs(), argv, timeout=2.0).text.splitlines()
    names = (line.split()[0] for line in lines if line.strip())
    return sorted(name for name in names if name.startswith(incomplete) and not name.endswith("@.service"))


def causes(incomplete: str) -> list[str]:
    """Cause ids that begin so."""
    from remedy.causes import catalogue

    return sorted(cause.id for cause in catalogue.causes() if cause.id.startswith(incomplete))
