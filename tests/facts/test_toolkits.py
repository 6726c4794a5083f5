from __future__ import annotations

import pytest

from remedy.facts.recorded import Recording, RecordingView, ReplayView
from remedy.facts.run import NoRunner, Result
from remedy.facts.snapshot_file import dump, load
from remedy.facts.toolkits import finish, look_up, parse_cuda_version, parse_release, with_architectures
from remedy.facts.types import Interpreter, Toolkit
from tests.facts.answers import Answers
from tests.facts.test_rights import LLM, Closed
from tests.memory import MemoryView

NVCC_128 = b"""\
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Fri_Feb_21_20:23:50_PST_2025
Cuda compilation tools, release 12.8, V12.8.93
Build cuda_12.8.r12.8/compiler.35583870_0
"""
CUDA_H = "/* licence */\n#if 0\n#endif\n#define CUDA_VERSION {}\n"
HEADERS = ("crt/host_config.h", "cuda_runtime.h", "curand_kernel.h", "cublas_v2.h", "cusparse.h", "cusolverDn.h")
ALL = (
    "nvcc cicc ptxas cuobjdump crt cudart-headers cudart-library cudadevrt "
    "cccl curand cublas cusparse cusolver nvrtc stub"
)


def apt_toolkit(version: str, cuda_version: int) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Files, links and programs of a toolkit as NVIDIA's packages lay it out."""
    root = f"/usr/local/cuda-{version}"
    target = f"{root}/targets/x86_64-linux"
    files = {f"{target}/include/{header}": "" for header in (*HEADERS, "cccl/cub/cub.cuh", "nvrtc.h")}
    files |= {f"{target}/lib/{name}": "" for name in ("libcudart.so", "libcudadevrt.a", "stubs/libcuda.so")}
    files[f"{target}/include/cuda.h"] = CUDA_H.format(cuda_version)
    files[f"/var/lib/dpkg/info/cuda-nvcc-{version.replace('.', '-')}.list"] = ""
    links = {f"{root}/include": "targets/x86_64-linux/include", f"{root}/lib64": "targets/x86_64-linux/lib"}
    programs = [f"{root}/{name}" for name in ("bin/nvcc", "bin/ptxas", "bin/cuobjdump", "nvvm/bin/cicc")]
    return files, links, programs


def only(toolkits: tuple[Toolkit, ...], root: str) -> Toolkit:
    return next(kit for kit in toolkits if kit.root == root)


def test_a_complete_toolkit_from_apt() -> None:
    files, links, programs = apt_toolkit("12.8", 12080)
    view = MemoryView(files, {**links, "/usr/local/cuda": "/usr/local/cuda-12.8"}, programs)
    runner = Answers({("/usr/local/cuda/bin/nvcc", "--version"): Result(0, NVCC_128)})
    kits = finish(view, look_up(view, runner, {}, None, None))
    assert [kit.root for kit in kits] == ["/usr/local/cuda", "/usr/local/cuda-12.8"]
    for kit in kits:
        assert (kit.version, kit.headers_version, kit.origin) == ((12, 8), (12, 8), "apt")
        assert kit.components == set(ALL.split())
        assert kit.real_root == "/usr/local/cuda-12.8" and kit.why is None
    # One program, asked once.
    assert runner.asked == [("/usr/local/cuda/bin/nvcc", "--version")]


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"CUDA_HOME": "/dev/null"}, "/dev/null is no directory"),
        ({"CUDA_HOME": "/nonexistent"}, "/nonexistent does not exist"),
        ({"CUDA_PATH": "/srv/hollow/"}, "/srv/hollow has no bin/nvcc"),
        ({"CUDA_HOME": "relative/cuda"}, "'relative/cuda' is no absolute path"),
        ({"CUDA_HOME": "/srv/plain"}, "/srv/plain/bin/nvcc is not executable"),
        ({"FLASHINFER_NVCC": "/srv/none/bin/nvcc"}, "/srv/none does not exist"),
        ({"CUDA_HOME": "/srv/led"}, "/srv/led/bin/nvcc leads to /gone/nvcc, which is not there"),
    ],
)
def test_roots_that_the_environment_names_wrongly_are_shown_with_a_reason(env: dict[str, str], why: str) -> None:
    view = MemoryView(
        {"/dev/null": "", "/srv/hollow/lib64/x": "", "/srv/plain/bin/nvcc": ""}, {"/srv/led/bin/nvcc": "/gone/nvcc"}
    )
    (kit,) = finish(view, look_up(view, NoRunner("-"), env, None, None))
    assert kit.why == why and kit.version is None and kit.nvcc is None


def test_every_nvcc_on_the_path_counts_in_its_order() -> None:
    view = MemoryView(programs=("/b/bin/nvcc", "/a/bin/nvcc", "/usr/bin/nvcc"))
    env = {"PATH": "relative/bin:/b/bin:/empty:/a/bin/:/usr/bin", "CUDA_HOME": "/a"}
    kits = finish(view, look_up(view, NoRunner("-"), env, None, None))
    assert [kit.root for kit in kits] == ["/a", "/b", "/usr"]


def test_an_nvcc_that_may_not_run_is_read() -> None:
    view = MemoryView(
        {"/home/x/cuda/bin/nvcc": b"\x7fELF..\0Cuda compilation tools, release 13.0, V13.0.88\0"},
        programs=("/home/x/cuda/bin/nvcc",),
    )
    runner = Answers({("/home/x/cuda/bin/nvcc", "--version"): Result(None, why="it belongs to uid 1001")})
    (kit,) = finish(view, look_up(view, runner, {"CUDA_HOME": "/home/x/cuda"}, None, None))
    assert kit.version == (13, 0) and kit.why == "/home/x/cuda/bin/nvcc --version: it belongs to uid 1001"


def test_an_nvcc_that_was_read_is_read_again_from_a_snapshot() -> None:
    # The words lie across two of the parts that are read.
    words = b"Cuda compilation tools, release 13.0, V13.0.88"
    nvcc = b"\x7fELF" + bytes((2 << 20) - 20) + words + bytes(1 << 20)
    recording = Recording()
    view = RecordingView(MemoryView({"/c/bin/nvcc": nvcc}, programs=("/c/bin/nvcc",)), recording, str)
    env = {"CUDA_HOME": "/c"}
    (live,) = finish(view, look_up(view, NoRunner("-"), env, None, None))
    text = dump(recording)
    replay = ReplayView(load(text, "x"))
    assert live.version == (13, 0) and len(text) < 10_000
    assert finish(replay, look_up(replay, NoRunner("-"), env, None, None)) == (live,)


def test_a_broken_nvcc() -> None:
    view = MemoryView(programs=("/x/bin/nvcc",))
    runner = Answers({("/x/bin/nvcc", "--version"): Result(127, b"", b"", "libfoo.so: cannot open shared object file")})
    (kit,) = finish(view, look_up(view, runner, {"CUDA_HOME": "/x"}, None, None))
    assert kit.version is None and kit.nvcc == "/x/bin/nvcc"
    assert kit.why == "/x/bin/nvcc --version: libfoo.so: cannot open shared object file"


@pytest.mark.parametrize(
    ("answer", "closed"),
    [
        (Result(126, why="/x/bin/nvcc can't be started: Exec format error"), True),
        (Result(-11, why="signal 11 ended it"), True),
        (Result(127, stderr=b"sh: 1: exec: /x/bin/nvcc: not found\n", why="sh: 1: exec: /x/bin/nvcc: not found"), True),
        # A wrapper that misses what the service may have, a slow disk, a program that is not run as root: no claim.
        (Result(127, stderr=b"/x/bin/nvcc: error while loading shared libraries: l", why="l"), False),
        (Result(1, why="CONDA_PREFIX: unbound variable"), False),
        (Result(None, why="no answer within 5 s"), False),
    ],
)
def test_an_nvcc_that_no_build_can_run(answer: Result, closed: bool) -> None:
    view = MemoryView(programs=("/x/bin/nvcc",))
    runner = Answers({("/x/bin/nvcc", "--version"): answer})
    (kit,) = finish(view, look_up(view, runner, {"CUDA_HOME": "/x"}, None, None))
    assert kit.closed is closed and kit.why is not None and kit.why.endswith(answer.why or "-")
    assert kit.why.count("/x/bin/nvcc") == 1


def test_debian_s_own_toolkit() -> None:
    real = "/usr/lib/nvidia-cuda-toolkit/bin"
    view = MemoryView(
        {
            "/usr/include/cuda.h": CUDA_H.format(11080),
            "/usr/include/cuda_runtime.h": "",
            "/usr/lib/x86_64-linux-gnu/libcudart.so": "",
            "/usr/lib/x86_64-linux-gnu/libcuda.so": "",
            f"{real}/nvcc": b"\0Cuda compilation tools, release 11.8, V11.8.89\0",
        },
        programs=("/usr/bin/nvcc", f"{real}/nvcc", f"{real}/cicc", "/usr/bin/ptxas"),
    )
    (kit,) = finish(view, look_up(view, NoRunner("only read"), {"PATH": "/usr/bin"}, None, None))
    assert (kit.root, kit.version, kit.headers_version, kit.origin) == ("/usr", (11, 8), (11, 8), "debian")
    assert kit.components == {"nvcc", "cicc", "ptxas", "cudart-headers", "cudart-library", "stub"}


def test_pip_wheels_have_no_lib64_and_no_stub() -> None:
    site = "/venv/lib/python3.12/site-packages"
    root = f"{site}/nvidia/cu13"
    interpreter = Interpreter("/venv/bin/python", "/venv", (3, 12), (site,), {})
    files = {f"{root}/include/cuda.h": CUDA_H.format(13000), f"{root}/lib/libcudart.so.13": ""}
    view = MemoryView(files, programs=(f"{root}/bin/nvcc", f"{root}/bin/ptxas"))
    (kit,) = finish(view, look_up(view, NoRunner("-"), {}, interpreter, None))
    assert (kit.root, kit.origin, kit.headers_version) == (root, "wheel", (13, 0))
    assert kit.components == {"nvcc", "ptxas"}


@pytest.mark.parametrize(
    ("files", "programs", "root", "origin"),
    [
        ({"/opt/conda/conda-meta/x.json": ""}, ["/opt/conda/bin/nvcc"], "/opt/conda", "conda"),
        ({}, ["/opt/nvidia/hpc_sdk/Linux_x86_64/25.1/cuda/12.6/bin/nvcc"], None, "hpc-sdk"),
        ({}, ["/var/lib/remedy/toolkits/cuda-13.0/bin/nvcc"], "/var/lib/remedy/toolkits/cuda-13.0", "remedy"),
        ({"/usr/local/cuda-12.4/version.json": '{"cuda": {}}'}, ["/usr/local/cuda-12.4/bin/nvcc"], None, "runfile"),
        ({}, ["/opt/cuda/bin/nvcc"], "/opt/cuda", "unknown"),
    ],
)
def test_where_a_toolkit_came_from(files: dict[str, str], programs: list[str], root: str | None, origin: str) -> None:
    interpreter = Interpreter("/opt/conda/bin/python", "/opt/conda", (3, 12), (), {})
    view = MemoryView(files, programs=programs)
    (kit,) = finish(view, look_up(view, NoRunner("-"), {}, interpreter, None))
    assert kit.origin == origin and kit.root == (root or programs[0].removesuffix("/bin/nvcc"))


def test_compiler_and_headers_of_two_releases() -> None:
    files, links, programs = apt_toolkit("13.3", 13000)
    view = MemoryView(files, links, programs)
    answer = NVCC_128.replace(b"12.8", b"13.3")
    runner = Answers({("/usr/local/cuda-13.3/bin/nvcc", "--version"): Result(0, answer)})
    (kit,) = finish(view, look_up(view, runner, {}, None, None))
    assert (kit.version, kit.headers_version) == ((13, 3), (13, 0))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (NVCC_128, (12, 8)),
        (b"Cuda compilation tools, release 13.0, V13.0.88", (13, 0)),
        (b"'release 12.8' without more", None),
        (b"", None),
    ],
)
def test_release(text: bytes, version: tuple[int, int] | None) -> None:
    assert parse_release(text) == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (b"#define CUDA_VERSION 13000\n", (13, 0)),
        (b"x\n#define CUDART_VERSION  12080\n", (12, 8)),
        (b"#define CUDA_VERSION 11080\n", (11, 8)),
        (b"// #define CUDA_VERSION 1\n", None),
    ],
)
def test_cuda_version_of_a_header(text: bytes, version: tuple[int, int] | None) -> None:
    assert parse_cuda_version(text) == version


def test_architectures_are_asked_of_nvcc() -> None:
    kit = Toolkit("/c", "/c/bin/nvcc", (13, 0), None, frozenset(), "apt", "/c")
    hollow = Toolkit("/h", None, None, None, frozenset(), "apt", "/h")
    runner = Answers({("/c/bin/nvcc", "--list-gpu-arch"): Result(0, b"compute_75\ncompute_120\n")})
    asked = with_architectures(runner, (kit, hollow), None)
    assert asked[0].architectures == {"75", "120"} and asked[1] == hollow
    assert with_architectures(NoRunner("-"), (kit,), None) == (kit,)


@pytest.mark.parametrize(
    ("answer", "closed"),
    [(Result(126, b"", b"", "Permission denied"), True), (Result(0, NVCC_128), False)],
    ids=["modes", "acl"],
)
def test_an_nvcc_that_the_service_s_user_may_not_run(answer: Result, closed: bool) -> None:
    """What it does when it is run as that user counts more than the modes on the way to it."""
    view = Closed(
        {"/opt/cuda/bin/nvcc": b"\x7fELF..\0Cuda compilation tools, release 12.8, V12.8.93\0"},
        programs=("/opt/cuda/bin/nvcc",),
    )
    runner = Answers({("/opt/cuda/bin/nvcc", "--version"): answer})
    (kit,) = finish(view, look_up(view, runner, {"CUDA_HOME": "/opt/cuda"}, None, LLM))
    assert (kit.version, kit.closed) == ((12, 8), closed)
    assert (kit.why == "/opt/cuda can't be entered by llm (owner 0, mode 0700)") is closed
