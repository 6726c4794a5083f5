"""Every cause that remedy mends, from facts and log to a state without it: the diagnosis names it, the plan mends it,
the planned machine is well, and there is nothing left to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remedy.causes import catalogue
from remedy.facts.types import CacheEntry, JitCache, Snapshot, Toolkit, UnitState
from remedy.plan.make import make
from remedy.plan.types import BuildToolkit, EditFile, InstallPackages, MoveCache, Plan, RestartUnit
from tests.plan.cases import (
    DEFAULT_PATH,
    GOOD,
    NEW,
    OLD,
    PROGRAMS,
    WHOLE,
    AptTable,
    Scene,
    interpreter,
    kit,
    machine,
    nvidia,
    unit_text,
)
from tests.plan.rows import FAILED, Row, after, inputs_of, log_lines

RUNS = UnitState("active", "running", "success", invocation="b", active_for=86400.0)
BUILD_FAILED = "RuntimeError: Ninja build failed. Ninja output:"
CACHE = "/root/.cache/flashinfer/0.6.8.post1/120f/cached_ops"
SITE = "/root/venv/lib/python3.11/site-packages"


def service(*lines: str, on: Snapshot | None = None, **more: object) -> Scene:
    """A service with a good toolchain but for these lines and this machine."""
    return Scene(unit_text(*GOOD, *lines), on or machine(NEW), **more)  # type: ignore[arg-type]


def plain(*kits: Toolkit, path: str = f"{NEW.root}/bin:{DEFAULT_PATH}", **more: object) -> Scene:
    """A service without CUDA_HOME on a machine with these toolkits."""
    on = more.pop("on", None) or machine(*kits)
    return Scene(unit_text(f"Environment=PATH={path}"), on, **more)  # type: ignore[arg-type]


def entry(name: str, nvcc: str) -> CacheEntry:
    root = nvcc.removesuffix("/bin/nvcc")
    return CacheEntry(name, f"{CACHE}/{name}", 900, True, root, nvcc, frozenset({"120f"}), frozenset())


SM75 = "RuntimeError: FlashInfer requires GPUs with sm75 or higher"
FLOOR = "Failed to get device capability: SM 12.x requires CUDA >= 12.9."
INSTALL, EDIT, MOVE, RESTART, BUILD = InstallPackages, EditFile, MoveCache, RestartUnit, BuildToolkit
WITHOUT_GCC = tuple(program for program in PROGRAMS if "gcc" not in program and "++" not in program)
NO_NINJA = tuple(program for program in PROGRAMS if "ninja" not in program)

ROWS = [
    Row("nvcc-too-old", Scene(), (FLOOR, SM75), (INSTALL, EDIT, RESTART)),
    Row("nvcc-too-old", Scene(snapshot=machine(OLD, NEW)), (FLOOR, SM75), (EDIT, RESTART)),
    Row("nvcc-too-old", Scene(apt=nvidia()), (FLOOR, SM75), (BUILD, EDIT, RESTART)),
    Row("nvcc-too-old", Scene(style="drop-in"), (FLOOR, SM75), (INSTALL, EDIT, RESTART)),
    Row("nvcc-not-found", plain(path=DEFAULT_PATH), ("nvcc: not found",), (INSTALL, EDIT, RESTART)),
    Row("nvcc-not-found", plain(NEW, path=DEFAULT_PATH), (), (EDIT, RESTART)),
    Row("nvcc-not-found", plain(path=DEFAULT_PATH, apt=nvidia()), (), (BUILD, EDIT, RESTART)),
    Row(
        "cuda-home-invalid",
        Scene(unit_text("Environment=CUDA_HOME=/dev/null"), machine(NEW)),
        ("NotADirectoryError: [Errno 20] Not a directory: '/dev/null/bin/nvcc'",),
        (EDIT, RESTART),
    ),
    Row(
        "cuda-home-invalid",
        Scene(unit_text("Environment=CUDA_HOME=/usr/local/cuda-12.9"), machine(OLD)),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda-12.9/bin/nvcc'",),
        (INSTALL, EDIT, RESTART),
    ),
    Row(
        "nvcc-torch-mismatch",
        plain(
            kit("/usr/local/cuda-12.9", (12, 9)),
            path=f"/usr/local/cuda-12.9/bin:{DEFAULT_PATH}",
        ),
        (
            "RuntimeError: The detected CUDA version (12.9) mismatches the version that was used to compile "
            "PyTorch (13.0). Please make sure to use the same CUDA versions.",
        ),
        (INSTALL, EDIT, RESTART),
    ),
    Row(
        "nvcc-too-new",
        plain(
            NEW,
            on=machine(NEW, capability=(7, 0), python=interpreter("12.6", flashinfer_python="0.2.5")),
            apt=nvidia("12-6", "13-0"),
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_70'",),
        (INSTALL, EDIT, RESTART),
    ),
    Row(
        "glibc-too-new",
        plain(
            kit("/usr/local/cuda-12.9", (12, 9)),
            on=machine(kit("/usr/local/cuda-12.9", (12, 9)), glibc=(2, 41)),
            path=f"/usr/local/cuda-12.9/bin:{DEFAULT_PATH}",
        ),
        (
            "/usr/include/x86_64-linux-gnu/bits/mathcalls.h(79): error: exception specification is incompatible with "
            'that of previous function "cospi" (declared at line 2601 of /usr/local/cuda-12.9/include/crt/'
            "math_functions.h)",
        ),
        (INSTALL, EDIT, RESTART),
    ),
    Row(
        "toolkit-mixed",
        service(on=machine(kit(NEW.root, (13, 0), headers=(13, 3)), kit("/usr/local/cuda-13.1", (13, 1)))),
        (BUILD_FAILED,),
        (EDIT, RESTART),
    ),
    Row(
        "cuda-headers-missing",
        service(on=machine(kit(NEW.root, (13, 0), components=WHOLE - {"curand"}))),
        ("fatal error: curand.h: No such file or directory",),
        (INSTALL, RESTART),
    ),
    Row(
        "cuda-library-not-linkable",
        service(on=machine(kit(NEW.root, (13, 0), components=WHOLE - {"cudart-library", "stub"}))),
        ("/usr/bin/ld: cannot find -lcudart: No such file or directory",),
        (INSTALL, RESTART),
    ),
    Row(
        "host-compiler-missing",
        service(on=machine(NEW, gcc=None), programs=WITHOUT_GCC, apt=AptTable({"g++": "4:12.2.0-3"})),
        ("/bin/sh: 1: c++: not found", BUILD_FAILED),
        (INSTALL, RESTART),
    ),
    Row(
        "host-compiler-missing",
        service("Environment=CC=/opt/gone/gcc", "Environment=CXX=/opt/gone/g++"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/opt/gone/gcc'",),
        (EDIT, RESTART),
        wanted={"CC": None, "CXX": None},
    ),
    Row(
        "host-compiler-unsupported",
        service(
            on=machine(NEW, gcc=(16, 1, 0)),
            programs=(*PROGRAMS, "/usr/bin/gcc-14", "/usr/bin/g++-14"),
        ),
        ("error: -- unsupported GNU version! gcc versions later than 15 are not supported!",),
        (EDIT, RESTART),
    ),
    Row(
        "host-compiler-unsupported",
        service(on=machine(NEW, gcc=(16, 1, 0)), apt=AptTable({"g++": "4:16.1-1", "g++-14": "14.2-1"})),
        ("error: -- unsupported GNU version! gcc versions later than 15 are not supported!",),
        (INSTALL, EDIT, RESTART),
    ),
    Row(
        "python-headers-missing",
        service(
            on=machine(
                NEW,
                python=replace(
                    interpreter(flashinfer_python="0.6.8.post1", apache_tvm_ffi="0.1.9", triton="3.7.1"), headers=None
                ),
            ),
            links={"/root/venv/bin/python3": "/usr/bin/python3.11"},
            programs=(*(one for one in PROGRAMS if "python" not in one), "/usr/bin/python3.11"),
            apt=AptTable({"python3.11-dev": "3.11.2-6"}),
        ),
        ("fatal error: Python.h: No such file or directory",),
        (INSTALL, RESTART),
    ),
    Row(
        "ninja-missing",
        service(programs=(*NO_NINJA, "/root/venv/bin/ninja")),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'",),
        (EDIT, RESTART),
    ),
    Row(
        "ninja-missing",
        service(programs=NO_NINJA, apt=AptTable({"ninja-build": "1.11.1-1"})),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'",),
        (INSTALL, RESTART),
    ),
    Row(
        "ptxas-too-old",
        service(
            "Environment=TRITON_PTXAS_PATH=/opt/old/ptxas",
            on=machine(NEW, capability=(12, 1), python=interpreter("13.0", triton="3.5.1")),
        ),
        ("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",),
        (EDIT, RESTART),
    ),
    Row(
        "ptxas-too-old",
        service(
            "Environment=TRITON_PTXAS_BLACKWELL_PATH=/usr/local/cuda-12.8/bin/ptxas",
            on=machine(OLD, NEW, capability=(12, 1), python=interpreter("13.0", triton="3.7.1")),
        ),
        ("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",),
        (EDIT, RESTART),
        wanted={"TRITON_PTXAS_BLACKWELL_PATH": None},
    ),
    Row(
        "arch-list-wrong",
        service("Environment=FLASHINFER_CUDA_ARCH_LIST=12.0,12.1"),
        ("ValueError: invalid literal for int() with base 10: '0,12'",),
        (EDIT, RESTART),
        wanted={"FLASHINFER_CUDA_ARCH_LIST": "12.0f"},
    ),
    Row(
        "arch-list-wrong",
        service(
            "Environment=TORCH_CUDA_ARCH_LIST=12.0f",
            on=machine(NEW, python=interpreter(torch="2.11.0", flashinfer_python="0.2.5")),
        ),
        ("ValueError: Unknown CUDA arch (12.0f) or GPU not supported",),
        (EDIT, RESTART),
        wanted={"TORCH_CUDA_ARCH_LIST": None},
    ),
    Row(
        "rocm-selected",
        service(
            on=machine(
                NEW, python=interpreter(sglang="0.5.10.post1", apache_tvm_ffi="0.1.11", flashinfer_python="0.6.8")
            ),
            files={"/opt/rocm/bin/hipcc": ""},
            programs=(*PROGRAMS, "/usr/bin/nvidia-smi"),
        ),
        ("/bin/sh: 1: /opt/rocm/bin/hipcc: not found", BUILD_FAILED),
        (EDIT, RESTART),
        wanted={"TVM_FFI_GPU_BACKEND": "cuda"},
    ),
    Row(
        "jit-cache-stale",
        service(
            on=replace(
                machine(OLD, NEW),
                caches=(
                    JitCache(
                        "flashinfer",
                        "/root/.cache/flashinfer",
                        True,
                        900,
                        (entry("page", f"{OLD.root}/bin/nvcc"), entry("sampling", f"{NEW.root}/bin/nvcc")),
                        True,
                    ),
                ),
            )
        ),
        (f"OSError: {CACHE}/page/page.so: undefined symbol: _ZN3tvm3ffi",),
        (MOVE, RESTART),
    ),
    Row(
        "jit-cache-unwritable",
        service(
            on=replace(machine(NEW), caches=(JitCache("flashinfer", "/root/.cache/flashinfer", True, 0, (), False),))
        ),
        ("PermissionError: [Errno 13] Permission denied: '/root/.cache/flashinfer/0.6.8.post1'",),
        (EDIT, RESTART),
        wanted={"FLASHINFER_WORKSPACE_BASE": "/var/cache/sglang-k26"},
    ),
    Row(
        "jit-cache-locked",
        service(
            on=replace(
                machine(NEW, python=interpreter(torch="2.11.0", vllm="0.11.0")),
                caches=(
                    JitCache(
                        "torch",
                        "/root/.cache/torch_extensions",
                        True,
                        0,
                        (),
                        True,
                        ("/root/.cache/torch_extensions/py311_cu130/radix/lock",),
                    ),
                ),
            )
        ),
        (),
        (MOVE, RESTART),
        state=replace(FAILED, result="timeout"),
    ),
    Row(
        "jit-build-out-of-memory",
        service(
            files={"/proc/meminfo": "MemTotal: 16777216 kB\n", "/sys/devices/system/cpu/online": "0-15\n"},
        ),
        ("FAILED: [code=137] batch_prefill.cuda.o", "Killed", BUILD_FAILED),
        (EDIT, RESTART),
        wanted={"MAX_JOBS": "4"},
    ),
    Row(
        "shared-library-missing",
        service(files={f"{SITE}/nvidia/cu13/lib/libcudart.so.13": ""}),
        ("ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",),
        (EDIT, RESTART),
        wanted={"LD_LIBRARY_PATH": f"{SITE}/nvidia/cu13/lib"},
    ),
    Row(
        "shared-library-missing",
        service(),
        ("ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",),
        (INSTALL, EDIT, RESTART),
        wanted={"LD_LIBRARY_PATH": "/usr/local/cuda-13.2/lib64"},
    ),
    Row(
        "unit-environment",
        service("Environment=HF_HOME=~/models"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '~/models/hub'",),
        (EDIT, RESTART),
        wanted={"HF_HOME": "/root/models"},
    ),
    Row(
        "unit-environment",
        service("EnvironmentFile=/etc/default/sglang", files={"/etc/default/sglang": "export NCCL_DEBUG=INFO\n"}),
        ("Ignoring invalid environment assignment 'export NCCL_DEBUG=INFO': /etc/default/sglang",),
        (EDIT, RESTART),
    ),
    Row(
        "jit-cold-start",
        service("Type=notify"),
        (
            "[12/92] /usr/local/cuda-13.0/bin/nvcc -c batch_prefill.cu",
            "sglang-k26.service: start operation timed out. Terminating.",
        ),
        (EDIT, RESTART),
        state=replace(FAILED, result="timeout"),
    ),
    Row(
        "start-timeout",
        service("Type=notify"),
        (
            "Loading safetensors checkpoint shards:  50% Completed | 32/64",
            "sglang-k26.service: start operation timed out. Terminating.",
        ),
        (EDIT, RESTART),
        state=replace(FAILED, result="timeout"),
    ),
    Row(
        "gpu-not-ready",
        service(files={"/usr/lib/systemd/system/nvidia-persistenced.service": "[Service]\n"}),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "RuntimeError: No CUDA GPUs are available",
            "kernel: nvidia: loading out-of-tree module taints kernel.",
        ),
        (EDIT, RESTART),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cause)
def test_named_mended_well_and_nothing_left(row: Row) -> None:
    inputs = row.inputs()
    root = inputs.diagnosis.root
    assert (root.id, root.mendable) == (row.cause, True), root
    plan = make(inputs)
    assert plan.impossible is None
    assert [kind for kind, _ in _grouped(plan)] == list(row.steps)
    assert row.wanted.items() <= dict(plan.wanted).items()

    then = after(row.scene, plan)
    again = inputs_of(then, (), UnitState("inactive"))
    assert row.cause not in {finding.id for finding in again.diagnosis.findings}
    assert again.diagnosis.root.id == "healthy"
    for state in (UnitState("inactive"), RUNS):
        second = make(inputs_of(then, (), state))
        assert second.steps == () and second.impossible is None
    # Where the log of the failed start is still there, at most another start is left: every file is of after it.
    third = make(inputs_of(then, log_lines(row.log, "a"), replace(row.state, inactive_enter=-1)))
    assert {type(step) for step in third.steps} <= {RestartUnit}, third.steps


def _grouped(plan: Plan) -> list[tuple[type, int]]:
    kinds = [type(step) for step in plan.steps]
    return [(kind, kinds.count(kind)) for kind in dict.fromkeys(kinds)]


def test_every_mend_has_a_row() -> None:
    assert {row.cause for row in ROWS} == {cause.id for cause in catalogue.causes() if cause.handling == "mend"}
