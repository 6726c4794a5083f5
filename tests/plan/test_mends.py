"""Each cause's own mend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from remedy.causes import catalogue
from remedy.causes.entry import Cause
from remedy.facts.cache_places import cache_places
from remedy.facts.types import CacheEntry, JitCache, Snapshot
from remedy.jit import libraries
from remedy.plan.make import make
from remedy.plan.mends import mend_for, mends
from remedy.plan.mends.caches import VARIABLES
from remedy.plan.mends.start import seconds
from remedy.plan.mends.unit_text import assignments
from remedy.plan.types import EditFile, InstallPackages, MoveCache, Plan
from tests.plan.cases import (
    GOOD,
    NEW,
    OLD,
    PROGRAMS,
    AptTable,
    Scene,
    interpreter,
    kit,
    machine,
    nvidia,
    unit_text,
)


def plan(cause: str, *lines: str, snapshot: Snapshot | None = None, **more: object) -> Plan:
    """The plan for a service that is well but for these lines and facts."""
    scene = Scene(unit_text(*GOOD, *lines), snapshot or machine(NEW), cause, **more)  # type: ignore[arg-type]
    return make(scene.inputs())


def added(made: Plan) -> list[str]:
    """The lines that the plan's edits add."""
    found = []
    for step in made.steps:
        if isinstance(step, EditFile):
            before = (step.edit.before or b"").decode().splitlines()
            found += [line for line in step.edit.after.decode().splitlines() if line not in before]
    return found


@pytest.mark.parametrize(
    "cause", [cause for cause in catalogue.causes() if cause.handling == "mend"], ids=lambda c: c.id
)
def test_every_mendable_cause_has_a_mend(cause: Cause) -> None:
    assert mend_for(cause.id) is not None


@pytest.mark.parametrize(
    "cause", [cause for cause in catalogue.causes() if cause.handling != "mend"], ids=lambda c: c.id
)
def test_no_other_has(cause: Cause) -> None:
    assert mend_for(cause.id) is None


def test_every_kind_of_mend_is_some_cause_s() -> None:
    assert set(mends()) == {cause.mend for cause in catalogue.causes() if cause.mend}


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("5min", 300), ("1h 30min", 5400), ("2m30s", 150), ("infinity", None), ("0", None), ("soon", None)],
)
def test_time_spans(text: str, value: float | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ((), ["TimeoutStartSec=1890"]),
        (("TimeoutStartSec=2h",), ["TimeoutStartSec=14400"]),
        (("TimeoutStartSec=infinity",), []),
    ],
)
def test_more_time(lines: tuple[str, ...], wanted: list[str]) -> None:
    assert added(plan("start-timeout", "Type=notify", *lines)) == wanted


def test_cold_starts_of_untimed_units_change_nothing() -> None:
    made = plan("jit-cold-start")
    assert added(made) == [] and "builds kernels" in made.warnings[0]


@pytest.mark.parametrize(
    ("lines", "memory", "jobs"),
    [
        ((), 64, "9"),
        (("Environment=MAX_JOBS=4",), 64, "2"),
        ((), 8, "2"),
        (("MemoryMax=6G",), 64, "1"),
        (("MemoryMax=50%",), 16, "2"),
    ],
)
def test_fewer_jobs(lines: tuple[str, ...], memory: int, jobs: str) -> None:
    files = {"/proc/meminfo": f"MemTotal: {memory * 1024 * 1024} kB\n", "/sys/devices/system/cpu/online": "0-15\n"}
    assert dict(plan("jit-build-out-of-memory", *lines, files=files).wanted) == {"MAX_JOBS": jobs}


def test_one_job_can_not_be_fewer() -> None:
    assert "one compiler" in (plan("jit-build-out-of-memory", "Environment=MAX_JOBS=1").impossible or "")


@pytest.mark.parametrize(
    ("files", "programs", "lines"),
    [
        (
            {"/usr/lib/systemd/system/nvidia-persistenced.service": "[Service]\n"},
            PROGRAMS,
            ["After=nvidia-persistenced.service", "Wants=nvidia-persistenced.service"],
        ),
        ({}, (*PROGRAMS, "/usr/bin/nvidia-modprobe"), ["ExecStartPre=+-/usr/bin/nvidia-modprobe -u -c=0"]),
    ],
)
def test_after_the_driver(files: Mapping[str, str], programs: tuple[str, ...], lines: list[str]) -> None:
    assert sorted(added(plan("gpu-not-ready", files=files, programs=programs))) == lines


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (("Environment=FLASHINFER_CUDA_ARCH_LIST=12.0,12.1",), {"FLASHINFER_CUDA_ARCH_LIST": "12.0f"}),
        (("Environment=FLASHINFER_CUDA_ARCH_LIST=9.0a",), {"FLASHINFER_CUDA_ARCH_LIST": "12.0f"}),
        (("Environment=TORCH_CUDA_ARCH_LIST=12.0f",), {"TORCH_CUDA_ARCH_LIST": None}),
        (("Environment=TVM_FFI_CUDA_ARCH_LIST=7.0",), {"TVM_FFI_CUDA_ARCH_LIST": "12.0"}),
    ],
)
def test_architecture_lists(lines: tuple[str, ...], wanted: Mapping[str, str | None]) -> None:
    assert dict(plan("arch-list-wrong", *lines).wanted) == wanted


def test_rocm() -> None:
    assert dict(plan("rocm-selected").wanted) == {"TVM_FFI_GPU_BACKEND": "cuda"}


CC = ("Environment=CC=/opt/gone/gcc", "Environment=CXX=/opt/gone/g++")
WITHOUT_GCC = tuple(program for program in PROGRAMS if "gcc" not in program and "++" not in program)


def test_a_compiler_variable_that_names_nothing_goes() -> None:
    assert dict(plan("host-compiler-missing", *CC).wanted) == {"CC": None, "CXX": None}


def test_the_distribution_s_compiler() -> None:
    apt = AptTable({"g++": "4:12.2.0-3", "g++-12": "12.2.0-14"})
    made = plan("host-compiler-missing", snapshot=machine(NEW, gcc=None), apt=apt, programs=WITHOUT_GCC)
    install = made.steps[0]
    assert isinstance(install, InstallPackages)
    assert install.requested == ("g++=4:12.2.0-3",) and made.wanted == ()


def test_a_dead_variable_goes_with_the_installation() -> None:
    apt = AptTable({"g++": "4:12.2.0-3"})
    made = plan("host-compiler-missing", *CC, snapshot=machine(NEW, gcc=None), apt=apt, programs=WITHOUT_GCC)
    assert isinstance(made.steps[0], InstallPackages) and dict(made.wanted) == {"CC": None, "CXX": None}


def test_gcc_without_its_c_plus_plus_side() -> None:
    programs = tuple(program for program in PROGRAMS if "++" not in program)
    apt = AptTable({"g++": "4:12.2.0-3", "g++-14": "14.2.0-1"})
    made = plan("host-compiler-missing", apt=apt, programs=programs, says="cannot execute 'cc1plus'")
    assert isinstance(made.steps[0], InstallPackages) and made.steps[0].requested == ("g++=4:12.2.0-3",)


@pytest.mark.parametrize("here", [True, False], ids=["here", "apt"])
def test_an_older_compiler_beside_one_that_is_too_new(here: bool) -> None:
    programs = (*PROGRAMS, "/usr/bin/gcc-14", "/usr/bin/g++-14") if here else PROGRAMS
    apt = AptTable({"g++": "4:16.1.0-1", "g++-14": "14.2.0-1", "g++-13": "13.3.0-1"})
    made = plan("host-compiler-unsupported", snapshot=machine(NEW, gcc=(16, 1, 0)), apt=apt, programs=programs)
    assert dict(made.wanted) == {
        "CC": "/usr/bin/gcc-14",
        "CXX": "/usr/bin/g++-14",
        "NVCC_PREPEND_FLAGS": "-ccbin=/usr/bin/g++-14",
    }
    assert [type(step) for step in made.steps if isinstance(step, InstallPackages)] == (
        [] if here else [InstallPackages]
    )


def test_no_compiler_to_be_had() -> None:
    made = plan("host-compiler-missing", snapshot=machine(NEW, gcc=None), apt=AptTable(), programs=WITHOUT_GCC)
    assert "apt has none" in (made.impossible or "")


def test_python_headers() -> None:
    python = replace(interpreter(flashinfer_python="0.6.8.post1"), headers=None)
    links = {"/root/venv/bin/python3": "/usr/bin/python3.11"}
    programs = (*(program for program in PROGRAMS if "python" not in program), "/usr/bin/python3.11")
    more = {"links": links, "programs": programs, "apt": AptTable({"python3.11-dev": "3.11.2-6"})}
    made = plan("python-headers-missing", snapshot=machine(NEW, python=python), **more)
    assert isinstance(made.steps[0], InstallPackages) and made.steps[0].requested == ("python3.11-dev=3.11.2-6",)


def test_headers_of_a_python_that_is_no_package_s() -> None:
    python = replace(interpreter(flashinfer_python="0.6.8.post1"), headers=None)
    made = plan("python-headers-missing", snapshot=machine(NEW, python=python))
    assert "no package's Python" in (made.impossible or "")


def test_locks_of_dead_builds() -> None:
    lock = "/root/.cache/torch_extensions/py311_cu130/radix/lock"
    harmless = "/root/.cache/tvm-ffi/add_constant/lock"
    caches = (
        JitCache("torch", "/root/.cache/torch_extensions", True, 0, (), True, (lock,)),
        JitCache("tvm-ffi", "/root/.cache/tvm-ffi", True, 0, (), True, (harmless,)),
    )
    python = interpreter(torch="2.11.0")
    made = plan("jit-cache-locked", snapshot=replace(machine(NEW, python=python), caches=caches))
    assert [step.path for step in made.steps if isinstance(step, MoveCache)] == [lock]


@pytest.mark.parametrize(
    ("lines", "folder", "new"),
    [
        ((), "/var/cache/sglang-k26", ["CacheDirectory=sglang-k26"]),
        (("CacheDirectory=llm/x other",), "/var/cache/llm/x", []),
        (("CacheDirectory=%p/x",), "/var/cache/sglang-k26/x", []),
    ],
)
def test_a_cache_of_its_own(lines: tuple[str, ...], folder: str, new: list[str]) -> None:
    caches = (
        JitCache("flashinfer", "/root/.cache/flashinfer", True, 0, (), False),
        JitCache("triton", "/root/.triton/cache", True, 0, (), False),
        JitCache("inductor", "/tmp/torchinductor_root", True, 0, (), True),
    )
    made = plan("jit-cache-unwritable", *lines, snapshot=replace(machine(NEW), caches=caches))
    assert dict(made.wanted) == {"FLASHINFER_WORKSPACE_BASE": folder, "TRITON_CACHE_DIR": f"{folder}/triton"}
    assert [line for line in added(made) if line.startswith("Cache")] == new


def test_rooms_agree_on_the_names_of_libraries() -> None:
    """One library has one name: in the facts of its cache, in jit/, in causes/ and where its cache is moved."""
    known = {library.name for library in libraries()}
    assert {place.library for place in cache_places({}, "/h", "u")} <= set(VARIABLES) <= known
    said = {signature.library for cause in catalogue.causes() for signature in cause.signatures} - {""}
    assert {name for name in said if name.replace("_", "-") in known} <= known


def test_every_cache_can_be_told_where_to_be() -> None:
    """Facts and mends must call a library by one name."""
    places = cache_places({}, "/h", "u")
    caches = tuple(JitCache(place.library, place.path, False, 0, (), False) for place in places)
    made = plan("jit-cache-unwritable", snapshot=replace(machine(NEW), caches=caches))
    assert {"TVM_FFI_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "SGLANG_DG_CACHE_DIR"} < dict(made.wanted).keys()
    assert len(made.wanted) == len({cache.library for cache in caches})


def test_a_user_without_a_home_gets_one() -> None:
    caches = (
        JitCache("flashinfer", "/nonexistent/.cache/flashinfer", False, 0, (), False),
        JitCache("tvm-ffi", "/nonexistent/.cache/tvm-ffi", False, 0, (), False),
        JitCache("triton", "/srv/triton", True, 0, (), False),
    )
    made = plan("jit-cache-unwritable", "Environment=HOME=/nonexistent", snapshot=replace(machine(NEW), caches=caches))
    folder = "/var/cache/sglang-k26"
    assert dict(made.wanted) == {"HOME": folder, "TRITON_CACHE_DIR": f"{folder}/triton"}


def test_a_stale_entry_that_only_the_log_knows() -> None:
    path = "/root/.cache/tvm-ffi/rope_1234"
    caches = (JitCache("tvm-ffi", "/root/.cache/tvm-ffi", True, 9, (CacheEntry("rope", path, 9, True),), True),)
    snapshot = replace(machine(NEW), caches=caches)
    made = plan("jit-cache-stale", snapshot=snapshot, says=f"OSError: {path}/main.so: undefined symbol: x")
    assert [step.path for step in made.steps if isinstance(step, MoveCache)] == [path]
    assert "no entry here is one" in (plan("jit-cache-stale", snapshot=snapshot, says="stale").impossible or "")


def test_triton_s_ptxas() -> None:
    python = interpreter("12.8", triton="3.5.1")
    snapshot = machine(kit("/usr/local/cuda-12.9", (12, 9)), capability=(12, 1), python=python)
    scene = Scene(unit_text("Environment=TRITON_PTXAS_PATH=/opt/old/ptxas"), snapshot, "ptxas-too-old")
    assert dict(make(scene.inputs()).wanted) == {"TRITON_PTXAS_PATH": "/usr/local/cuda-12.9/bin/ptxas"}


@pytest.mark.parametrize(
    ("triton", "capability", "variable"),
    [
        ("3.3.1", (12, 1), None),
        ("3.6.0", (12, 1), "TRITON_PTXAS_BLACKWELL_PATH"),
        ("3.6.0", (9, 0), "TRITON_PTXAS_PATH"),
    ],
)
def test_only_a_variable_that_triton_reads_is_set(
    triton: str, capability: tuple[int, int], variable: str | None
) -> None:
    """Triton 3.3 asks for a name with a hyphen on Blackwell."""
    snapshot = machine(NEW, capability=capability, python=interpreter("13.0", triton=triton))
    made = make(Scene(unit_text(), snapshot, "ptxas-too-old").inputs())
    assert dict(made.wanted) == ({variable: "/usr/local/cuda-13.0/bin/ptxas"} if variable else {})
    assert ("upgrade Triton" in (made.impossible or "")) is (variable is None)


def test_an_override_that_hides_a_good_ptxas_goes() -> None:
    python = interpreter("13.0", triton="3.7.1")
    scene = Scene(
        unit_text("Environment=TRITON_PTXAS_BLACKWELL_PATH=/usr/local/cuda-12.8/bin/ptxas"),
        machine(OLD, python=python),
        "ptxas-too-old",
    )
    assert dict(make(scene.inputs()).wanted) == {"TRITON_PTXAS_BLACKWELL_PATH": None}


@pytest.mark.parametrize(
    ("says", "files", "wanted"),
    [
        (
            "OSError: libcudart.so.13: cannot open shared object file",
            {"/root/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcudart.so.13": ""},
            {"LD_LIBRARY_PATH": "/root/venv/lib/python3.11/site-packages/nvidia/cu13/lib"},
        ),
        (
            "libnvrtc.so.13: cannot open shared object file",
            {"/usr/local/cuda-13.0/lib64/libnvrtc.so.13": ""},
            {"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/lib64"},
        ),
        ("libcudart.so.13: cannot open", {}, {"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/lib64"}),
    ],
)
def test_libraries(says: str, files: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    made = plan("shared-library-missing", files=files, says=says, apt=nvidia("13-0"))
    assert dict(made.wanted) == wanted
    assert any(isinstance(step, InstallPackages) for step in made.steps) is (not files)


@pytest.mark.parametrize("says", ["libfoo.so.1: cannot open shared object file", "libcufft.so.11: cannot open"])
def test_libraries_that_nobody_has(says: str) -> None:
    assert plan("shared-library-missing", says=says).impossible


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("export A=b", "A=b"),
        ("CUDA_HOME = /usr/local/cuda", "CUDA_HOME=/usr/local/cuda"),
        ("A=b c d", '"A=b c d"'),
        ("A=b c E=f", '"A=b c" E=f'),
        ("A= b", "A=b"),
        ('A="b c', None),
        ("lost words", None),
    ],
)
def test_assignments_as_meant(value: str, meant: str | None) -> None:
    assert assignments(value) == meant


@pytest.mark.parametrize(
    ("lines", "files", "expected"),
    [
        (
            ("Environment=LD_LIBRARY_PATH=$CUDA_HOME/lib64",),
            {},
            ["Environment=LD_LIBRARY_PATH=/usr/local/cuda-13.0/lib64"],
        ),
        (("Environment=HF_HOME=~/models",), {}, ["Environment=HF_HOME=/root/models"]),
        (("Environment=NCCL_P2P_LEVEL = SYS",), {}, ["Environment=NCCL_P2P_LEVEL=SYS"]),
        (
            ("EnvironmentFile=/etc/default/sglang",),
            {"/etc/default/sglang": "export NCCL_DEBUG=INFO\n"},
            ["NCCL_DEBUG=INFO"],
        ),
        (("EnvironmentFile=sglang",), {"/etc/default/sglang": "A=b\n"}, ["EnvironmentFile=/etc/default/sglang"]),
    ],
)
def test_lines_as_meant(lines: tuple[str, ...], files: Mapping[str, str], expected: list[str]) -> None:
    assert added(plan("unit-environment", *lines, files=files)) == expected


def test_lines_that_nobody_can_guess_are_left_to_their_author() -> None:
    made = plan("unit-environment", "Environment=lost words")
    assert made.steps == () and "write NAME=value" in (made.impossible or "")
