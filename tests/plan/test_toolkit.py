"""Which toolkit is chosen, what installs it, and why not the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remedy.facts.types import Host, Snapshot, Toolkit, Version
from remedy.jit.requirements import joined
from remedy.plan.make import make
from remedy.plan.toolkit import Choice, choose
from remedy.plan.types import BuildToolkit, InstallPackages
from tests.plan.cases import OLD, WHOLE, AptTable, Scene, interpreter, kit, machine, nvidia, unit_text

NOTHING = AptTable()
BARE = frozenset({"nvcc", "cicc", "ptxas", "crt"})


def chosen(snapshot: Snapshot, apt: AptTable = NOTHING) -> Choice:
    inputs = Scene(snapshot=snapshot, apt=apt).inputs()
    return choose(inputs, joined(inputs.resolutions))


@pytest.mark.parametrize(
    ("toolkits", "root"),
    [
        ((OLD, kit("/usr/local/cuda-13.0", (13, 0))), "/usr/local/cuda-13.0"),
        ((kit("/usr/local/cuda-13.2", (13, 2)), kit("/usr/local/cuda-13.0", (13, 0))), "/usr/local/cuda-13.0"),
        ((OLD, kit("/opt/cuda-13.2", (13, 2))), "/opt/cuda-13.2"),
        # The versioned spelling is taken, not the link.
        (
            (kit("/usr/local/cuda", (13, 0), real="/usr/local/cuda-13.0"), kit("/usr/local/cuda-13.0", (13, 0))),
            "/usr/local/cuda-13.0",
        ),
    ],
)
def test_a_toolkit_that_is_here(toolkits: tuple[Toolkit, ...], root: str) -> None:
    choice = chosen(machine(*toolkits), nvidia("13-0"))
    assert choice.kit and choice.kit.root == root
    assert choice.step is None


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (OLD, "CUDA 12.8 is too old: SM 12.x requires CUDA >= 12.9"),
        (kit("/usr/local/cuda-12.9", (12, 9)), "torch is built for CUDA 13.0"),
        (kit("/usr/local/cuda-13.2", None, components=frozenset()), "no nvcc there"),
        (kit("/opt/mixed", (13, 3), headers=(13, 0)), "mixes releases: nvcc 13.3, headers 13.0"),
        (kit("/opt/bare", (13, 0), components=BARE), "cuda_runtime.h"),
        (kit("/opt/nocurand", (13, 0), components=WHOLE - {"curand"}), "curand_kernel.h"),
        (kit("/usr", (13, 0), origin="debian"), "Debian's own CUDA 13.0"),
    ],
)
def test_why_not_another(other: Toolkit, why: str) -> None:
    choice = chosen(machine(other, kit("/usr/local/cuda-13.0", (13, 0))))
    assert choice.kit and choice.kit.root == "/usr/local/cuda-13.0"
    assert [rejected.candidate for rejected in choice.rejected] == [other.root]
    assert why in choice.rejected[0].why


@pytest.mark.parametrize(
    ("apt", "torch_cuda", "version", "named"),
    [
        (nvidia("12-9", "13-0", "13-2"), "13.0", (13, 0), "cuda-nvcc-13-0=13.0.88-1"),
        (nvidia("12-9", "13-2"), "13.0", (13, 2), "cuda-nvcc-13-2=13.2.88-1"),
        (nvidia("12-8", "12-9", "13-0"), "12.8", (12, 9), "libcurand-dev-12-9=12.9.88-1"),
        (nvidia("13-0", "13-2", without=("libcurand-dev-13-0",)), "13.0", (13, 2), "libcurand-dev-13-2=13.2.88-1"),
    ],
)
def test_packages_of_the_best_release(apt: AptTable, torch_cuda: str, version: Version, named: str) -> None:
    python = interpreter(torch_cuda, flashinfer_python="0.6.8.post1")
    choice = chosen(machine(OLD, python=python), apt)
    assert isinstance(choice.step, InstallPackages)
    assert choice.kit and choice.kit.version == version
    assert choice.step.toolkit_root == f"/usr/local/cuda-{version[0]}.{version[1]}"
    assert named in choice.step.requested


def test_what_is_pinned_out_is_not_called_absent() -> None:
    apt = AptTable(pinned={"cuda-nvcc-13-0": "13.0.88-1"})
    why = {one.candidate: one.why for one in chosen(machine(OLD), apt).rejected}
    assert why["apt: CUDA 13.0"] == (
        "apt's preferences keep out cuda-nvcc-13-0 (apt-cache policy cuda-nvcc-13-0 shows the pin)"
    )


@pytest.mark.parametrize("components", [WHOLE, WHOLE - {"curand"}], ids=["whole", "incomplete"])
def test_a_toolkit_that_the_service_s_user_may_not_run(components: frozenset[str]) -> None:
    closed = "/usr/local/cuda-13.0 can't be entered by llm (owner 0, mode 0700)"
    here = replace(kit("/usr/local/cuda-13.0", (13, 0), components=components), closed=True, why=closed)
    choice = chosen(machine(OLD, here), nvidia("13-0", "13-2"))
    why = {one.candidate: one.why for one in choice.rejected}
    assert choice.kit and choice.kit.root == "/usr/local/cuda-13.2"
    assert why["/usr/local/cuda-13.0"] == why["apt: CUDA 13.0"] == closed


def test_a_dependency_that_is_no_package_of_its_own_is_not_asked_for() -> None:
    choice = chosen(
        machine(OLD), nvidia("13-0", without=("cuda-driver-dev-13-0", "cuda-cccl-13-0", "libcublas-dev-13-0"))
    )
    assert isinstance(choice.step, InstallPackages)
    assert [name.partition("=")[0] for name in choice.step.requested] == [
        "cuda-nvcc-13-0",
        "cuda-cudart-dev-13-0",
        "libcurand-dev-13-0",
        "cuda-nvrtc-dev-13-0",
    ]


@pytest.mark.parametrize(
    ("arguments", "brought"),
    [
        ("", set()),
        (" --quantization fp8", {"libcublas-dev-13-0"}),
        (" --model-path /m/Qwen3-MoE", {"libcublas-dev-13-0"}),
        (" --model-path /m/plain", set()),
        (" --model-path /m/mixed", {"libcublas-dev-13-0"}),
        (" --quantization modelopt_fp4", {"libcublas-dev-13-0"}),
    ],
)
def test_the_largest_packages_come_only_where_the_command_line_speaks_for_them(
    arguments: str, brought: set[str]
) -> None:
    python = interpreter("13.0", flashinfer_python="0.6.8.post1", torch="2.11.0", sglang="0.5.11")
    text = unit_text().replace(" --port", f"{arguments} --port")
    files = {
        "/m/plain/config.json": '{"architectures": ["LlamaForCausalLM"]}',
        "/m/mixed/config.json": '{"model_type": "kimi_k2", "moe_intermediate_size": 2048}',
    }
    scene = Scene(text, machine(OLD, python=python), "nvcc-too-old", apt=nvidia("13-0"), files=files)
    steps = [step for step in make(scene.inputs()).steps if isinstance(step, InstallPackages)]
    names = {name.partition("=")[0] for step in steps for name in step.requested}
    needed = {"cuda-nvcc", "cuda-cudart-dev", "cuda-driver-dev", "cuda-cccl", "libcurand-dev", "cuda-nvrtc-dev"}
    assert names == {f"{stem}-13-0" for stem in needed} | brought


@pytest.mark.parametrize(
    ("cause", "says", "package"),
    [
        ("cuda-headers-missing", "fatal error: cublas_v2.h: No such file or directory", "libcublas-dev-13-0"),
        ("cuda-headers-missing", "fatal error: cusparse.h: No such file or directory", "libcusparse-dev-13-0"),
        ("cuda-headers-missing", "fatal error: cusolverDn.h: No such file", "libcusolver-dev-13-0"),
        ("cuda-library-not-linkable", "/usr/bin/ld: cannot find -lcublasLt", "libcublas-dev-13-0"),
    ],
)
def test_what_a_failed_build_names_is_installed(cause: str, says: str, package: str) -> None:
    here = kit("/usr/local/cuda-13.0", (13, 0), components=WHOLE - {"cublas", "cusparse", "cusolver"})
    scene = Scene(
        unit_text("Environment=CUDA_HOME=/usr/local/cuda-13.0"), machine(here), cause, apt=nvidia("13-0"), says=says
    )
    steps = [step for step in make(scene.inputs()).steps if isinstance(step, InstallPackages)]
    assert [name.partition("=")[0] for step in steps for name in step.requested] == [package]


def test_what_is_there_is_completed() -> None:
    here = kit("/usr/local/cuda-13.0", (13, 0), components=WHOLE - {"curand"})
    choice = chosen(machine(here, installed={"cuda-nvcc-13-0": "13.0.88-1"}), nvidia("13-0"))
    assert isinstance(choice.step, InstallPackages)
    assert choice.step.requested == ("libcurand-dev-13-0=13.0.88-1",)
    assert "completes" in choice.step.reason
    assert choice.kit and choice.kit.components >= WHOLE


@pytest.mark.parametrize(
    ("snapshot", "apt", "why"),
    [
        (machine(OLD), AptTable(), "cuda-nvcc-13-0, cuda-cudart-dev-13-0, libcurand-dev-13-0 are in no configured"),
        (
            machine(OLD),
            AptTable({**nvidia("13-0").packages}, {"cuda-nvcc-13-0": "held broken"}),
            "apt refuses: held broken",
        ),
        (
            machine(kit("/usr/local/cuda-13.0", (13, 0), components=WHOLE - {"curand"}, origin="runfile")),
            nvidia("13-0"),
            "NVIDIA's runfile",
        ),
        (
            machine(
                kit("/usr/local/cuda-13.0", (13, 0), components=WHOLE - {"curand"}),
                installed={"libcurand-dev-13-0": "13.0.88-1"},
            ),
            nvidia("13-0"),
            "apt-get install --reinstall libcurand-dev-13-0",
        ),
    ],
)
def test_why_not_apt(snapshot: Snapshot, apt: AptTable, why: str) -> None:
    choice = chosen(snapshot, apt)
    assert any(why in rejected.why and rejected.candidate == "apt: CUDA 13.0" for rejected in choice.rejected)
    # What is left then are PyPI's wheels, which never touch the distribution's own places.
    assert isinstance(choice.step, BuildToolkit)
    assert choice.kit and choice.kit.root == "/var/lib/remedy/toolkits/cuda-13.0"
    assert "nvidia-curand==10.4.0.35" in choice.step.requirements


def test_the_repository_that_is_missing_is_named_once() -> None:
    choice = chosen(machine(OLD))
    said = [rejected for rejected in choice.rejected if "in no configured apt repository" in rejected.why]
    assert len(said) == 1
    assert "debian12/x86_64/cuda-keyring" in said[0].why


@pytest.mark.parametrize(
    ("snapshot", "why"),
    [
        (
            machine(OLD, python=interpreter("12.8", flashinfer_python="0.6.8.post1")),
            "PyPI has an nvcc only for CUDA 13",
        ),
        (machine(OLD, driver_cuda=(12, 8)), "the driver can't run CUDA 13"),
        (
            machine(OLD, python=interpreter("12.8", flashinfer_python="0.6.8.post1"), glibc=(2, 41)),
            "headers do not compile with glibc 2.41",
        ),
    ],
)
def test_nothing_fits(snapshot: Snapshot, why: str) -> None:
    choice = chosen(snapshot)
    assert choice.kit is None
    assert any(why in rejected.why for rejected in choice.rejected)


def test_a_newer_gcc_is_no_reason_against_the_only_release() -> None:
    python = interpreter("12.8", flashinfer_python="0.6.8.post1")
    choice = chosen(machine(OLD, python=python, gcc=(15, 1, 0)), nvidia("12-9"))
    assert choice.kit and choice.kit.version == (12, 9)


def test_a_toolkit_newer_than_the_driver_is_said() -> None:
    choice = chosen(machine(OLD, kit("/opt/cuda-13.2", (13, 2))))
    assert choice.warnings and "newer than the driver's 13.0" in choice.warnings[0]


def test_the_way_out_of_a_dead_end() -> None:
    python = interpreter("12.8", flashinfer_python="0.6.8.post1")
    choice = chosen(machine(OLD, python=python, glibc=(2, 41)))
    assert any("a torch that is built for CUDA 13 would have one" in rejected.why for rejected in choice.rejected)


def test_a_folder_that_is_taken_is_left_alone() -> None:
    scene = Scene(files={"/var/lib/remedy/toolkits/cuda-13.0/bin/ptxas": ""}, apt=NOTHING)
    inputs = scene.inputs()
    choice = choose(inputs, joined(inputs.resolutions))
    assert choice.kit and choice.kit.root == "/var/lib/remedy/toolkits/cuda-13.0-2"


def test_other_architectures_have_no_wheels() -> None:
    snapshot = machine(OLD)
    other = Snapshot(
        host=Host("debian", "12", architecture="riscv64"),
        gpus=snapshot.gpus,
        interpreter=snapshot.interpreter,
        compilers=snapshot.compilers,
    )
    choice = chosen(other)
    assert choice.kit is None and "none for riscv64" in choice.rejected[-1].why


def test_releases_that_apt_does_not_know_are_named_together() -> None:
    apt = AptTable({"cuda-nvcc-13-0": "1", "cuda-cudart-dev-13-0": "1", "libcurand-dev-13-0": "1"})
    held = replace(apt, broken={"cuda-nvcc-13-0": "cuda-nvcc-13-0 is on hold (apt-mark unhold cuda-nvcc-13-0)"})
    rejected = [one for one in chosen(machine(OLD), held).rejected if one.candidate.startswith("apt")]
    assert [(one.candidate, one.why) for one in rejected] == [
        ("apt: CUDA 13.0", "apt refuses: cuda-nvcc-13-0 is on hold (apt-mark unhold cuda-nvcc-13-0)"),
        ("apt: CUDA 13.1, 13.2, 13.3, 13.4, 13.5", "they are in no configured apt repository"),
    ]
