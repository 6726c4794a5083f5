"""A service that failed, what is planned for it, and the machine with the plan carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from remedy.facts.run import NoRunner
from remedy.facts.types import HostCompiler, LogLine, UnitState
from remedy.plan.inputs import Inputs
from remedy.plan.types import InstallPackages, MoveCache, Plan
from remedy.road import Machine, judge
from tests.plan.cases import Scene, kit

FAILED = UnitState(
    "failed", "failed", "exit-code", exec_main_code=1, exec_main_status=1, invocation="a", inactive_enter=10
)


@dataclass(frozen=True)
class Row:
    """A service that failed of one cause: its unit and machine, what it logged, and the kinds of the plan's steps."""

    cause: str
    scene: Scene
    log: Sequence[str]
    steps: Sequence[type]
    state: UnitState = FAILED
    wanted: Mapping[str, str | None] = field(default_factory=dict)

    def inputs(self) -> Inputs:
        return inputs_of(self.scene, log_lines(self.log, self.state.invocation), self.state)


def log_lines(texts: Sequence[str], invocation: str) -> tuple[LogLine, ...]:
    return tuple(LogLine(text, 1, "python3", 7, invocation) for text in texts)


def inputs_of(scene: Scene, log: tuple[LogLine, ...], state: UnitState) -> Inputs:
    """What ``remedy fix`` would plan from, the diagnosis made of facts and log."""
    made = replace(scene, snapshot=replace(scene.snapshot, journal=log, state=state)).inputs()
    looked = Machine(made.view, NoRunner("a table"), made.manager)
    seen = judge(looked, made.service, made.launch, made.snapshot)
    return replace(
        made, service=seen.service, context=seen.context, resolutions=seen.resolutions, diagnosis=seen.diagnosis
    )


def after(scene: Scene, plan: Plan) -> Scene:
    """The machine with the plan carried out: what its steps say, and what the packages are known to hold."""
    then = scene.after(plan)
    names = [
        name.partition("=")[0] for step in plan.steps if isinstance(step, InstallPackages) for name in step.requested
    ]
    programs, files, snapshot = list(then.programs), dict(then.files), then.snapshot
    if plan.toolkit and plan.toolkit_version:
        others = tuple(one for one in snapshot.toolkits if one.root != plan.toolkit)
        snapshot = replace(snapshot, toolkits=(*others, kit(plan.toolkit, plan.toolkit_version)))
        programs += [f"{plan.toolkit}/bin/{name}" for name in ("ptxas", "cuobjdump")]
    for name in names:
        if name.startswith("g++"):
            new = [f"/usr/bin/{one}{name[3:]}" for one in ("gcc", "g++", "c++")]
            programs += new
            version = (int(name[4:]),) if name[3:] else (12, 2, 0)
            found = tuple(HostCompiler(path.removeprefix("/usr/bin/"), path, "gcc", version) for path in new)
            snapshot = replace(snapshot, compilers=(*found, *snapshot.compilers))
        elif name == "ninja-build":
            programs.append("/usr/bin/ninja")
        elif name.endswith("-dev") and name.startswith("python") and snapshot.interpreter:
            headers = f"/usr/include/{name.removesuffix('-dev')}"
            snapshot = replace(snapshot, interpreter=replace(snapshot.interpreter, headers=headers))
        elif name.startswith("cuda-cudart-") and "-dev-" not in name:
            release = name.removeprefix("cuda-cudart-").replace("-", ".")
            files[f"/usr/local/cuda-{release}/lib64/libcudart.so.13"] = ""
    locks = {step.path for step in plan.steps if isinstance(step, MoveCache)}
    moved = "CacheDirectory=" in then.unit and "CacheDirectory=" not in scene.unit
    caches = tuple(
        replace(
            one,
            locks=tuple(lock for lock in one.locks if lock not in locks),
            path=one.path.replace("/root", "/var/cache/sglang-k26") if moved else one.path,
            writable=True if moved else one.writable,
        )
        for one in snapshot.caches
    )
    return replace(then, programs=programs, files=files, snapshot=replace(snapshot, caches=caches))
