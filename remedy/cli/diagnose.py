"""``remedy diagnose``, ``check`` and ``snapshot``: look, and say what was seen."""

from __future__ import annotations

import os
import sys

from remedy import __version__
from remedy.errors import Exit, UsageError
from remedy.hints import TYPE_CHECKING
from remedy.road import Look, look, look_here, resolve_here, seen_through, tree

if TYPE_CHECKING:
    from remedy.causes.types import Diagnosis
    from remedy.unit.types import Fault, Service


def diagnose(
    unit: str,
    *,
    json: bool,
    root: str | None,
    snapshot: str | None,
    gpu_arch: str | None,
    user: bool,
    report: bool = False,
) -> int:
    """Look at a unit and print the diagnosis."""
    if root and snapshot:
        raise UsageError("--root and --snapshot exclude each other")
    if report and (root or snapshot):
        raise UsageError("--report goes with a unit of this machine")
    if snapshot:
        seen = replayed(unit, snapshot, gpu_arch)
    else:
        seen = look(unit, tree(root), gpu_arch=gpu_arch) if root else look_here(unit, user=user, gpu_arch=gpu_arch)
    if json:
        from json import dumps

        from remedy.show.diagnosis import diagnosis_json

        print(dumps(diagnosis_json(seen)))
    else:
        from remedy.show.diagnosis import diagnosis_text
        from remedy.show.text import width

        print(diagnosis_text(seen, width()))
    if report:
        from remedy.change.report import report as keep

        keep(seen.service.name, seen.diagnosis.root)
    return exit_code(seen.diagnosis)


def exit_code(diagnosis: Diagnosis) -> int:
    """0 where nothing is wrong, 3 where fix can mend it, 4 where it can't."""
    if diagnosis.root.id == "healthy":
        return Exit.DONE
    return Exit.PROBLEM if diagnosis.root.mendable else Exit.NOT_MENDABLE


def replayed(unit: str, path: str, gpu_arch: str | None) -> Look:
    """The look that a snapshot file holds. Raises UsageError where it is none."""
    from remedy.facts.recorded import ReplayRunner, ReplayView
    from remedy.facts.snapshot_file import load, of_another_remedy
    from remedy.unit.names import service_name

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"--snapshot {path}: {error.strerror}") from None
    recording = load(text, path)
    if note := of_another_remedy(recording, path, __version__):
        print(note, file=sys.stderr)
    name, of = service_name(unit), recording.about.get("unit") or unit
    if name != service_name(of):
        hint = f"remedy diagnose {of} --snapshot {path}"
        raise UsageError(f"--snapshot {path} is of {service_name(of)}, not of {name}", hint=hint)
    owner = recording.about.get("owner") or None
    machine = seen_through(ReplayView(recording), ReplayRunner(recording), user=owner is not None, owner=owner)
    return look(unit, machine, gpu_arch=gpu_arch or recording.about.get("gpu_arch") or None)


def snapshot(unit: str, *, gpu_arch: str | None, user: bool) -> int:
    """Look at a unit and print all that was read for it, secrets removed."""
    from remedy.facts.files import Files
    from remedy.facts.recorded import Recording, RecordingRunner, RecordingView
    from remedy.facts.run import Programs
    from remedy.facts.snapshot_file import about, dump
    from remedy.show.secrets import redact

    recording = Recording(about=about(unit, gpu_arch, __version__, user=user))
    view, runner = RecordingView(Files(), recording, redact), RecordingRunner(Programs(), recording, redact)
    look(unit, seen_through(view, runner, user=user), gpu_arch=gpu_arch)
    sys.stdout.write(dump(recording))
    return Exit.DONE


def check(unit: str, *, gpu_arch: str | None, user: bool) -> int:
    """One line of reason where the service's toolchain can't work; on standard error why none could be looked at."""
    from remedy.show.host import typed
    from remedy.show.text import plain

    service, resolutions, missing = resolve_here(unit, user=user, gpu_arch=gpu_arch)
    fault = _fault(service)
    if fault is not None:
        print(f"{service.name}: {plain(fault[1].text)} ({fault[0]}); {typed(f'remedy diagnose {service.name}')}")
        return Exit.PROBLEM
    for why in (one.why for one in missing if one.fact == "interpreter" and not resolutions):
        print(f"{service.name}: nothing is known of its libraries: {plain(why)}", file=sys.stderr)
    fatal = [problem for resolution in resolutions for problem in resolution.problems if problem.fatal]
    if not fatal:
        return Exit.DONE
    more = typed(f"remedy diagnose {service.name}")
    print(f"{service.name}: {plain(fatal[0].text)} ({fatal[0].cause}); {more}")
    return Exit.PROBLEM


def _fault(service: Service) -> tuple[str, Fault] | None:
    """What keeps systemd from starting the unit, and the cause's id. In the start itself (systemd.exec(5),
    INVOCATION_ID) systemd has got past it, and this user may see less than systemd does."""
    from remedy.unit.absent import ABSENCES

    whole = service.load_state == "loaded" and service.environment is not None
    if "INVOCATION_ID" in os.environ or (whole and not any(fault.kind in ABSENCES for fault in service.faults)):
        return None
    from remedy.causes.engine import keeps_from_starting

    return keeps_from_starting(service)
