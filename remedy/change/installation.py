"""The step that installs packages: the same as the plan showed, and undone to what dpkg had before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remedy.change import alternatives, apt, leftovers, marks, packages
from remedy.change.files import sync_systems
from remedy.change.interrupts import Interrupts
from remedy.change.types import PackagesBefore
from remedy.errors import Refused, RemedyError
from remedy.plan.types import InstallPackages

#: Where packages, their scripts and apt write, which do not wait for all of it to reach the disk (seen: apt's marks,
#: new settings files, links).
_WRITTEN = ("/", "/etc", "/opt", "/usr", "/usr/local", "/var", "/var/lib", "/var/lib/dpkg")
Report = Callable[[str, float | None], None]


def look(step: InstallPackages, backups: Path) -> PackagesBefore:
    """dpkg's state and every link before. Refused where apt would now do anything else than the plan showed."""
    broken = apt.interrupted()
    if broken:
        first = broken.splitlines()[0]
        raise Refused(
            f"dpkg has an installation that was broken off: {first}", hint="dpkg --configure -a, then dpkg --audit"
        )
    actions = apt.simulate(["--no-remove", "install", "--", *step.requested])
    _same_as_shown(step, actions)
    state = apt.installed()
    names = {action.name for action in actions}
    touched = tuple(sorted(names))
    found = tuple(one.package for name, one in sorted(state.items()) if packages.base(name) in _bases(names))
    saved = _save(actions, backups)
    return PackagesBefore(touched, found, alternatives.selections(), alternatives.links(), saved)


def _save(actions: tuple[apt.Action, ...], backups: Path) -> tuple[str, ...]:
    """Fetch the package files that a downgrade would need: a repository may have dropped them by then."""
    saved: list[str] = []
    for action in actions:
        if action.old_version is None:
            continue
        folder = backups / f"{packages.base(action.name)}_{action.old_version.replace(':', '%3a')}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if not any(folder.glob("*.deb")):
            apt.download(f"{action.name}={action.old_version}", folder)
        for path in folder.glob("*.deb"):
            path.chmod(0o600)
            saved.append(str(path.relative_to(backups)))
    if saved:
        sync_systems([str(backups)])
    return tuple(saved)


def _bases(names: set[str]) -> set[str]:
    return {packages.base(name) for name in names}


def _same_as_shown(step: InstallPackages, actions: tuple[apt.Action, ...]) -> None:
    shown = {(packages.base(change.name), change.version) for change in step.changes}
    now = {(packages.base(action.name), action.version) for action in actions}
    removed = [action.name for action in actions if action.kind != "Inst"]
    if removed:
        raise Refused(f"apt would remove {', '.join(removed)}")
    # Packages that came meanwhile are no longer in apt's list; anything new in it was not agreed to.
    if now - shown:
        more = ", ".join(f"{name} {version}" for name, version in sorted(now - shown, key=str))
        raise Refused(f"apt would now also install {more}, which the plan did not show", hint="run remedy fix again")


def do(step: InstallPackages, before: PackagesBefore, log: Path, report: Report, interrupts: Interrupts | None) -> None:
    """Install, and keep the links that the plan holds. Raises Refused where a package can't be fetched: then nothing
    was installed; else RemedyError."""
    with marks.kept(_backups(log)):
        if before.touched:
            wanted = ["--no-remove", "install", "--", *step.requested]
            _fetch(wanted, log, report, interrupts)
            apt.apt_get(wanted, log, report, interrupts)
        alternatives.hold(step.hold_alternatives, before)
        sync_systems(_WRITTEN)


def _fetch(wanted: list[str], log: Path, report: Report, interrupts: Interrupts | None) -> None:
    try:
        apt.apt_get(["--download-only", *wanted], log, report, interrupts)
    except RemedyError as error:
        raise Refused(error.message, hint=error.hint) from error


def undo(step: InstallPackages, before: PackagesBefore, log: Path, report: Report) -> tuple[str, ...]:
    """Purge what is new and needed by nobody else, bring back older versions, marks and links."""
    apt.wait_for_child(log)
    apt.wait_for_lock(report, None)
    lost = marks.mend(_backups(log), before, step.requested)
    apt.mark_automatic([name for name in apt.installed() if packages.base(name) in lost] if lost else [])
    with marks.kept(_backups(log)):
        left = _undo(step, before, log, report)
        sync_systems(_WRITTEN)
    return left


def _undo(step: InstallPackages, before: PackagesBefore, log: Path, report: Report) -> tuple[str, ...]:
    now = apt.installed()
    if apt.interrupted():
        apt.repair(log, list(packages.undo(before, now, step.requested).purge), report)
        now = apt.installed()
    plan = packages.undo(before, now, step.requested)
    leftovers.note(_backups(log), plan.purge)
    reasons = _take_away(plan, before, log, report)
    leftovers.remove(_backups(log))
    apt.mark_automatic([one.name for one in before.packages if one.automatic])
    links = alternatives.restore(before)
    kept = [name for name, _ in plan.kept]
    for name, why in plan.kept:
        report(f"package {packages.base(name)} stays: {why}", None)
    differences = packages.differences(before, apt.installed(), kept)
    # The reasons only matter where something is really left.
    return (*(reasons if differences else ()), *differences, *links)


def _backups(log: Path) -> Path:
    return log.parent.parent / "backups"


def _take_away(plan: packages.Undo, before: PackagesBefore, log: Path, report: Report) -> tuple[str, ...]:
    """Purge and go back to older versions in one run of apt: each may only be possible with the other."""
    files = {Path(path).parent.name: str(_backups(log) / path) for path in before.saved}
    wanted = [
        files.get(f"{packages.base(name)}_{version.replace(':', '%3a')}", f"{packages.base(name)}={version}")
        for name, version in plan.versions
    ]
    gone = [f"{packages.base(name)}-" for name in plan.purge]
    back = ["--purge", "--allow-downgrades", "--allow-change-held-packages", "install", "--", *gone, *wanted]
    settings_stay = ["remove", "--", *map(packages.base, plan.remove)]
    touched = {packages.base(name) for name in (*plan.purge, *plan.remove, *dict(plan.versions))}
    for arguments, needed in ((settings_stay, plan.remove), (back, gone + wanted)):
        if not needed:
            continue
        command = f"apt-get {' '.join(arguments)}"
        try:
            others = sorted({packages.base(action.name) for action in apt.simulate(arguments)} - touched)
            if others:
                return (f"{command} would also change {', '.join(others)}: decide by hand",)
            apt.apt_get(arguments, log, report)
        except RemedyError as error:
            return (f"{error.message}: {command}",)
    return ()
