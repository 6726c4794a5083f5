"""What apt knows and would do: asked of apt itself, as any user, without its lock and without a download."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from remedy.facts.run import Runner, run
from remedy.facts.types import AptPackage, PackageChange, Simulation
from remedy.value import dataclass, replace

#: Seconds: apt reads all package lists again for each question, which takes a while on small machines.
_TIMEOUT = 60.0

_INSTALL = r"^Inst (?P<name>\S+) (?:\[(?P<old>[^]]+)\] )?\((?P<version>\S+) (?P<origin>.*?) ?\[(?P<arch>[^]]+)\]\)"


@dataclass(frozen=True)
class Apt:
    """apt-cache(8) and apt-get(8) of this machine, through the one runner."""

    runner: Runner

    def available(self, names: Sequence[str]) -> Mapping[str, AptPackage]:
        """The version that apt would install of each name, pins respected; unknown names are left out."""
        if not names:
            return {}
        return {package.name: package for package in self._shown(names)}

    def withheld(self, names: Sequence[str]) -> Mapping[str, str]:
        """The versions that a repository has of these, and that apt's preferences keep out: apt_preferences(5)."""
        if not names:
            return {}
        result = run(self.runner, ("apt-cache", "policy", "--", *names), timeout=_TIMEOUT)
        return parse_withheld(result.text)

    def simulate(self, requested: Sequence[str]) -> Simulation:
        """What ``apt-get install`` of these (``name`` or ``name=version``) would change. Removals are an error."""
        # With --yes apt refuses what the change, which can't ask either, would be refused: a hold, a downgrade.
        options = ("-s", "--yes", "-o", "Debug::NoLocking=1", "--no-install-recommends", "--no-remove")
        result = run(self.runner, ("apt-get", *options, "install", *requested), timeout=_TIMEOUT)
        if result.why and result.returncode is None:
            return Simulation(errors=(result.why,))
        changes, removed = parse_simulation(result.text)
        errors = parse_errors(result.text, result.stderr.decode(errors="replace")) if result.returncode else ()
        errors += tuple(f"{name} would be removed" for name in removed)
        if errors or result.returncode:
            return Simulation(errors=errors or (f"apt-get ended with status {result.returncode}",))
        return Simulation(self._with_sizes(changes))

    def _with_sizes(self, changes: tuple[PackageChange, ...]) -> tuple[PackageChange, ...]:
        shown = self._shown([f"{change.name}={change.version}" for change in changes]) if changes else ()
        known = {(package.name, package.version): package for package in shown}
        return tuple(
            replace(change, download=package.size, installed=package.installed_size)
            if (package := known.get((change.name.partition(":")[0], change.version)))
            else change
            for change in changes
        )

    def _shown(self, names: Sequence[str]) -> tuple[AptPackage, ...]:
        # A name that is not known costs only itself: the others are shown, and the exit status says 100.
        result = run(self.runner, ("apt-cache", "show", "--no-all-versions", "--", *names), timeout=_TIMEOUT)
        return parse_packages(result.stdout)


def parse_packages(data: bytes) -> tuple[AptPackage, ...]:
    """The paragraphs of a Packages file that can be downloaded; what is only installed has no Filename."""
    from debian.deb822 import Packages

    found = []
    for paragraph in Packages.iter_paragraphs(data.splitlines(keepends=True), use_apt_pkg=False):
        if "Filename" in paragraph and "Package" in paragraph:
            found.append(
                AptPackage(
                    name=paragraph["Package"],
                    version=paragraph.get("Version", ""),
                    architecture=paragraph.get("Architecture", ""),
                    size=_number(paragraph.get("Size", "")),
                    # Installed-Size is in KiB (deb-control(5)).
                    installed_size=_number(paragraph.get("Installed-Size", "")) * 1024,
                    depends=paragraph.get("Depends", ""),
                )
            )
    return tuple(found)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def parse_simulation(text: str) -> tuple[tuple[PackageChange, ...], tuple[str, ...]]:
    """The changes that ``apt-get -s`` lists, and the names of the packages that it would remove."""
    changes, removed = [], []
    for line in text.splitlines():
        if line.startswith("Remv "):
            removed.append(line.split()[1])
        elif found := re.match(_INSTALL, line):
            change = PackageChange(
                found["name"], found["version"], found["old"], download=0, installed=0, origin=found["origin"]
            )
            changes.append(change)
    return tuple(changes), tuple(removed)


def parse_withheld(text: str) -> Mapping[str, str]:
    """What ``apt-cache policy`` has no candidate of, though a version stands in its table."""
    found = re.findall(r"^(\S+):\n(?:  .*\n)*?  Candidate: \(none\)\n  Version table:\n {5}(\S+) -?\d", text, re.M)
    return {str(name): str(version) for name, version in found}


def parse_errors(output: str, errors: str) -> tuple[str, ...]:
    """Apt's reasons: holds and unmet dependencies, which it prints among its talk, before the errors themselves."""
    lines = output.splitlines()
    held = [name for line in _below("The following held packages will be changed", lines) for name in line.split()]
    holds = [f"{name} is on hold (apt-mark unhold {name})" for name in held]
    said = [line[2:].strip() for line in errors.splitlines() if line.startswith("E:")]
    others = [line for line in said if not (held and line.startswith("Held packages were changed"))]
    return (*holds, *_below("The following packages have unmet dependencies", lines), *others)


def _below(heading: str, lines: Iterable[str]) -> Iterable[str]:
    inside = False
    for line in lines:
        if line.startswith(heading):
            inside = True
        elif inside and line.startswith(" "):
            yield " ".join(line.split())
        else:
            inside = False
