"""Whole plans: from a service, a machine and a cause to the steps, and to a state in which nothing is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remedy.causes.types import Diagnosis, Finding
from remedy.facts.types import CacheEntry, JitCache, Missing, UnitState
from remedy.plan.make import make
from remedy.plan.types import EditFile, InstallPackages, MoveCache, Plan, RestartUnit
from tests.plan.cases import (
    DEFAULT_PATH,
    NEW,
    OLD,
    PATH,
    PROGRAMS,
    STORY,
    WHOLE,
    Scene,
    interpreter,
    kit,
    machine,
    nvidia,
    unit_text,
)

HOME_130 = ("CUDA_HOME", "/usr/local/cuda-13.0")
CACHE = "/root/.cache/flashinfer/0.6.8.post1/120f"
FOLDERS = (f"{CACHE}/cached_ops",)


def wanted(plan: Plan) -> dict[str, str | None]:
    return dict(plan.wanted)


def unit_after(scene: Scene) -> str:
    """The unit's own file with the plan carried out."""
    return scene.after(make(scene.inputs())).unit


def test_the_story() -> None:
    scene = Scene()
    plan = make(scene.inputs())
    assert [type(step) for step in plan.steps] == [InstallPackages, EditFile, RestartUnit]
    assert plan.toolkit == "/usr/local/cuda-13.0" and plan.toolkit_version == (13, 0)
    assert wanted(plan) == {
        "CUDA_HOME": "/usr/local/cuda-13.0",
        "PATH": f"/usr/local/cuda-13.0/bin:/root/venv/bin:{DEFAULT_PATH}",
        "LD_LIBRARY_PATH": "/usr/local/cuda-13.0/lib64:/opt/lib",
        "FLASHINFER_CUDA_ARCH_LIST": "12.0f",
    }
    assert plan.steps[-1] == RestartUnit("sglang-k26.service", daemon_reload=True, expected=630.0, modules=FOLDERS)
    assert any(rejected.candidate == OLD.root and "12.9" in rejected.why for rejected in plan.rejected)


def test_the_unit_keeps_everything_else() -> None:
    after = unit_after(Scene())
    for line in STORY.splitlines():
        assert line in after.splitlines() or "cuda-12.8" in line
    assert "cuda-12.8" not in after


@pytest.mark.parametrize(
    "scene",
    [
        Scene(),
        Scene(style="drop-in"),
        Scene(snapshot=machine(OLD, NEW)),
        Scene(unit=unit_text("Environment=CUDA_HOME=/dev/null"), cause="cuda-home-invalid"),
        Scene(unit=unit_text("Environment=CUDA_HOME=/nonexistent"), cause="cuda-home-invalid"),
        Scene(unit=unit_text(), cause="nvcc-not-found"),
        Scene(
            unit=unit_text('Environment="CUDA_HOME=/usr/local/cuda-12.8" "PATH=/usr/local/cuda-12.8/bin:/usr/bin:/bin"')
        ),
        Scene(
            unit=unit_text("EnvironmentFile=/etc/default/sglang"),
            files={"/etc/default/sglang": f"PATH=/usr/local/cuda-12.8/bin:{DEFAULT_PATH}\nHF_TOKEN='x'\n"},
        ),
        Scene(files={f"{PATH}.d/cuda.conf": "[Service]\nEnvironment=CUDA_HOME=/usr/local/cuda-12.8\n"}),
        Scene(apt=nvidia()),
        Scene(
            unit=unit_text(f"Environment=PATH=/usr/local/cuda-12.8/bin:{DEFAULT_PATH}").replace(
                "/root/venv/bin/python3 -m", "/opt/start.sh"
            ),
            files={"/opt/start.sh": "#!/bin/sh\n. /root/venv/bin/activate\nexec python3 -m sglang.launch_server\n"},
            programs=(*PROGRAMS, "/opt/start.sh"),
        ),
        Scene(
            unit=unit_text(f"Environment=PATH={DEFAULT_PATH}"),
            programs=(
                "/bin/sh",
                "/usr/bin/which",
                "/usr/bin/gcc",
                "/usr/bin/c++",
                "/usr/bin/g++",
                "/root/venv/bin/python3",
                "/root/venv/bin/ninja",
            ),
            cause="nvcc-not-found",
        ),
    ],
    ids=[
        "story",
        "drop-in",
        "here",
        "dev-null",
        "nonexistent",
        "no-nvcc",
        "one-line",
        "environment-file",
        "override",
        "wheels",
        "activate",
        "ninja-too",
    ],
)
def test_nothing_is_wrong_afterwards(scene: Scene) -> None:
    plan = make(scene.inputs())
    assert plan.impossible is None and plan.steps
    assert "/dev/null" not in str(plan.wanted) and "nonexistent" not in str(plan.wanted)
    after = scene.after(plan).inputs()
    assert [problem for one in after.resolutions for problem in one.problems if problem.fatal] == []
    # Were the cause still suspected, there would be nothing to do but to start.
    assert [type(step) for step in make(after).steps] == [RestartUnit]


def test_ninja_of_the_venv_is_put_on_path() -> None:
    programs = ("/usr/bin/which", "/usr/bin/gcc", "/usr/bin/g++", "/usr/bin/c++", "/root/venv/bin/python3")
    unit = unit_text(
        "Environment=CUDA_HOME=/usr/local/cuda-13.0", f"Environment=PATH=/usr/local/cuda-13.0/bin:{DEFAULT_PATH}"
    )
    scene = Scene(unit, machine(NEW), "ninja-missing", programs=(*programs, "/root/venv/bin/ninja"))
    plan = make(scene.inputs())
    assert wanted(plan) == {"PATH": f"/usr/local/cuda-13.0/bin:{DEFAULT_PATH}:/root/venv/bin"}
    assert [type(step) for step in plan.steps] == [EditFile, RestartUnit]


@pytest.mark.parametrize("cause", ["healthy"])
def test_nothing_to_do(cause: str) -> None:
    plan = make(Scene(cause=cause, mendable=False).inputs())
    assert plan.steps == () and plan.impossible is None


OF_12_8 = interpreter("12.8", flashinfer_python="0.6.8.post1")
WAITING = Finding("nvcc-too-old", False, "possible", True, "what waits", (), (), True, "do this")
FINE = unit_text(
    "Environment=CUDA_HOME=/usr/local/cuda-13.0", f"Environment=PATH=/usr/local/cuda-13.0/bin:{DEFAULT_PATH}"
)


@pytest.mark.parametrize(
    ("scene", "steps"),
    [
        # A warm cache hides the compiler that could not build the same kernels again.
        (Scene(cause="healthy", mendable=False), True),
        # Only its log speaks of a fault: nothing that is here now would stop it.
        (Scene(FINE, machine(NEW), "healthy", mendable=False), False),
        # Nothing can be done: a service that runs is left alone.
        (Scene(snapshot=machine(OLD, python=OF_12_8), cause="healthy", mendable=False, apt=nvidia("12-8")), False),
    ],
    ids=["doomed", "only-in-the-log", "no-toolkit"],
)
def test_what_waits_behind_a_service_that_runs(scene: Scene, steps: bool) -> None:
    inputs = scene.inputs()
    plan = make(replace(inputs, diagnosis=Diagnosis((*inputs.diagnosis.findings, WAITING))))
    assert plan.impossible is None
    assert (plan.cause, bool(plan.steps)) == (("nvcc-too-old", True) if steps else ("healthy", False))
    assert any("runs well now" in warning for warning in plan.warnings) is steps
    assert ("runs well now" in (plan.interrupts or "")) is steps


@pytest.mark.parametrize(
    ("state", "interrupts"),
    [
        (UnitState("activating", "start"), True),
        (UnitState("active", "running"), True),
        (UnitState("activating", "auto-restart", n_restarts=2), False),
        (UnitState("failed", "failed", "timeout"), False),
        (None, False),
    ],
    ids=["starting", "active", "again-and-again", "gave-up", "unknown"],
)
def test_a_start_that_builds_is_not_broken_off(state: UnitState | None, interrupts: bool) -> None:
    scene = Scene(FINE, replace(machine(NEW), state=state), "jit-cold-start")
    assert bool(make(scene.inputs()).interrupts) is interrupts
    failing = replace(scene, unit=STORY, snapshot=replace(machine(OLD), state=state), cause="nvcc-too-old")
    assert make(failing.inputs()).interrupts is None


def test_advice_is_no_change() -> None:
    plan = make(Scene(cause="gpu-out-of-memory", mendable=False).inputs())
    assert plan.steps == () and plan.impossible == "do this"


def test_a_container_has_its_own_toolchain() -> None:
    inputs = Scene().inputs()
    plan = make(replace(inputs, launch=replace(inputs.launch, container="docker")))
    assert plan.steps == () and "inside the docker image" in (plan.impossible or "")


def test_no_toolkit_can_be_had() -> None:
    python = interpreter("12.8", flashinfer_python="0.6.8.post1")
    plan = make(Scene(snapshot=machine(OLD, python=python), apt=nvidia("12-8")).inputs())
    assert plan.steps == () and plan.impossible
    assert any("in no configured apt repository" in rejected.why for rejected in plan.rejected)


def entry(name: str, nvcc: str, size: int = 1000) -> CacheEntry:
    path = f"{CACHE}/cached_ops/{name}"
    root = nvcc.removesuffix("/bin/nvcc")
    return CacheEntry(name, path, size, True, root, nvcc, frozenset({"120f"}), frozenset({"libcudart.so.13"}))


def test_only_stale_entries_are_moved() -> None:
    entries = (entry("page", f"{OLD.root}/bin/nvcc"), entry("sampling", f"{NEW.root}/bin/nvcc"))
    cache = JitCache("flashinfer", CACHE, True, 2000, entries, True)
    snapshot = replace(machine(OLD, NEW), caches=(cache,))
    scene = Scene(snapshot=snapshot)
    plan = make(scene.inputs())
    assert [step.path for step in plan.steps if isinstance(step, MoveCache)] == [f"{CACHE}/cached_ops/page"]
    assert any("built anew" in warning for warning in plan.warnings)


def test_stale_entries_alone() -> None:
    cache = JitCache("flashinfer", CACHE, True, 1000, (entry("page", f"{OLD.root}/bin/nvcc"),), True)
    unit = unit_text(
        "Environment=CUDA_HOME=/usr/local/cuda-13.0", f"Environment=PATH=/usr/local/cuda-13.0/bin:{DEFAULT_PATH}"
    )
    plan = make(Scene(unit, replace(machine(OLD, NEW), caches=(cache,)), "jit-cache-stale").inputs())
    assert [type(step) for step in plan.steps] == [MoveCache, RestartUnit]
    assert plan.steps[-1] == RestartUnit("sglang-k26.service", daemon_reload=False, expected=630.0, modules=FOLDERS)
    assert plan.toolkit is None and plan.wanted == ()


def test_completing_a_toolkit_leaves_the_unit_alone() -> None:
    bare = kit("/usr/local/cuda-13.0", (13, 0), components=WHOLE - {"curand"})
    unit = unit_text(
        "Environment=CUDA_HOME=/usr/local/cuda-13.0",
        f"Environment=PATH=/usr/local/cuda-13.0/bin:{DEFAULT_PATH}",
        "Environment=FLASHINFER_CUDA_ARCH_LIST=12.0f",
    )
    plan = make(Scene(unit, machine(bare), "cuda-headers-missing").inputs())
    assert [type(step) for step in plan.steps] == [InstallPackages, RestartUnit]
    assert plan.steps[-1] == RestartUnit("sglang-k26.service", daemon_reload=False, expected=630.0, modules=FOLDERS)


def test_links_of_others_are_kept() -> None:
    scene = Scene(
        links={"/usr/local/cuda": "/usr/local/cuda-12.8"},
        files={"/etc/systemd/system/other.service": "[Service]\nEnvironment=CUDA_HOME=/usr/local/cuda\n"},
    )
    plan = make(scene.inputs())
    install = plan.steps[0]
    assert isinstance(install, InstallPackages)
    assert install.hold_alternatives == (("cuda", "/usr/local/cuda-12.8"),)
    assert any("other.service uses" in warning for warning in plan.warnings)


def test_libraries_that_find_it_keep_their_spelling() -> None:
    bare = kit("/usr/local/cuda-13.0", (13, 0), components=WHOLE - {"curand"})
    scene = Scene(
        unit_text(f"Environment=PATH=/usr/local/cuda/bin:{DEFAULT_PATH}"),
        machine(bare),
        "cuda-headers-missing",
        links={"/usr/local/cuda": "/usr/local/cuda-13.0"},
    )
    plan = make(scene.inputs())
    assert [type(step) for step in plan.steps] == [InstallPackages, RestartUnit]
    assert plan.wanted == ()


def test_a_value_that_can_not_be_set_is_no_plan() -> None:
    plan = make(replace(Scene().inputs(), writable=lambda _: False))
    assert plan.steps == () and "can be written" in (plan.impossible or "")
    assert plan.refused


def test_what_a_script_sets_in_its_own_way_is_told() -> None:
    script = "#!/bin/sh\nCUDA_HOME=/old; export CUDA_HOME\nexec /root/venv/bin/python3 -m sglang.launch_server\n"
    unit = unit_text().replace("/root/venv/bin/python3 -m sglang.launch_server", "/opt/start.sh")
    plan = make(Scene(unit, files={"/opt/start.sh": script}, programs=(*PROGRAMS, "/opt/start.sh")).inputs())
    assert plan.steps == () and plan.impossible is not None
    said, by_hand = plan.impossible.split(". By hand: ")
    assert said.count("/opt/start.sh:2") == 1
    assert by_hand.startswith("`apt-get install ") and by_hand.endswith(
        ", then write CUDA_HOME=/usr/local/cuda-13.0 there"
    )


def test_a_script_that_decides_is_edited_where_it_does() -> None:
    script = "#!/bin/sh\nexport CUDA_HOME=$(find_cuda)\nexec /root/venv/bin/python3 -m sglang.launch_server\n"
    unit = unit_text().replace("/root/venv/bin/python3 -m sglang.launch_server", "/opt/start.sh")
    scene = Scene(unit, files={"/opt/start.sh": script}, programs=(*PROGRAMS, "/opt/start.sh"))
    plan = make(scene.inputs())
    assert "export CUDA_HOME=/usr/local/cuda-13.0\n" in scene.after(plan).files["/opt/start.sh"]
    assert not any("can't be followed" in warning for warning in plan.warnings)


def test_without_the_gpu_nothing_is_guessed() -> None:
    plan = make(Scene(snapshot=machine(OLD, capability=None)).inputs())
    assert plan.steps == () and "--gpu-arch" in (plan.impossible or "")


@pytest.mark.parametrize(
    ("failed", "steps"),
    [(0, [RestartUnit]), (-1, [RestartUnit]), (10, [])],
    ids=["unknown", "changed-since", "unchanged"],
)
def test_a_failure_that_nothing_explains_any_more(failed: int, steps: list[type]) -> None:
    well = (f"Environment=CUDA_HOME={NEW.root}", f"Environment=PATH={NEW.root}/bin:{DEFAULT_PATH}")
    # Every file of the table was last changed at the epoch.
    snapshot = replace(machine(NEW), state=UnitState("failed", inactive_enter=failed))
    plan = make(Scene(unit_text(*well), snapshot, "nvcc-too-old").inputs())
    assert [type(step) for step in plan.steps] == steps
    assert bool(plan.impossible) is (not steps)


def test_without_a_library_there_is_no_toolkit_to_choose() -> None:
    snapshot = replace(machine(OLD, python=interpreter()), missing=(Missing("interpreter", "/root/venv: no right"),))
    plan = make(Scene(snapshot=snapshot).inputs())
    assert plan.steps == () and "/root/venv: no right" in (plan.impossible or "")
