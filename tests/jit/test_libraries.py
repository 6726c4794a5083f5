"""The folder's listing, and that no library ever raises or blames where nothing is known."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remedy import jit
from remedy.facts.types import Gpu, JitCache, Snapshot
from remedy.jit import resolve_all
from remedy.jit.types import Context
from remedy.listing import module
from tests.jit.machines import PATH, context, interpreter, toolkit
from tests.memory import MemoryView

CAUSES = frozenset(
    """
    nvcc-not-found nvcc-too-old nvcc-torch-mismatch nvcc-too-new glibc-too-new toolkit-mixed cuda-home-invalid
    cuda-headers-missing cuda-library-not-linkable host-compiler-missing host-compiler-unsupported
    python-headers-missing ninja-missing ptxas-too-old arch-list-wrong rocm-selected jit-cache-stale
    jit-cache-unwritable jit-cache-locked library-version-mismatch driver-too-old
    """.split()  # noqa: SIM905
)
EVERY = {
    "flashinfer_python": ("0.2.5", "0.3.1", "0.4.1", "0.6.4", "0.6.8.post1", "0.7.4"),
    "sglang": ("0.5.3", "0.5.7", "0.5.17", "0.5.23"),
    "vllm": ("0.24.0", "0.34.0"),
    "apache_tvm_ffi": ("0.1.0", "0.1.11", "0.1.15"),
    "triton": ("3.2.0", "3.3.1", "3.6.0", "3.9.0"),
    "sgl_deep_gemm": ("0.1.0", "0.2.0"),
    "tilelang": ("0.1.6", "0.1.15"),
    "cupy_cuda13x": ("14.0",),
    "numba_cuda": ("0.30",),
}
WORDS = """
    12.0 12.0f 9.0a;12.0f 8.9,9.0 12.0+PTX /usr/local/cuda-13.0 /nowhere : / $X ~/cuda relative/path 0 1 hip ² -1 0,1
    GPU-7 /usr/bin::./bin: /usr/local/cuda-12.8/bin:/usr/bin
"""
VALUES = st.sampled_from(["", " ", "9.0a 12.0f", PATH, *WORDS.split()])
NAMES = st.sampled_from(
    """
    CUDA_HOME CUDA_PATH PATH FLASHINFER_CUDA_ARCH_LIST TVM_FFI_CUDA_ARCH_LIST TORCH_CUDA_ARCH_LIST CC CXX HOME
    FLASHINFER_NVCC TRITON_PTXAS_PATH CUDA_VISIBLE_DEVICES DG_JIT_NVCC_COMPILER TVM_FFI_GPU_BACKEND ROCM_HOME
    CONDA_PREFIX FLASHINFER_WORKSPACE_BASE LIBRARY_PATH TMPDIR
    """.split()  # noqa: SIM905
)
KITS = (toolkit("/usr/local/cuda-12.8", (12, 8)), toolkit("/usr/local/cuda-13.0", (13, 0)))


def test_every_library_is_found_by_its_file_and_its_distribution() -> None:
    assert all(hasattr(module(f"remedy.jit.{name}"), "LIBRARY") for name in jit.DISTRIBUTIONS)
    python = interpreter("2.11.0", None, **{name: values[0] for name, values in EVERY.items()})
    found = sorted(library.name for _, library in jit.installed(python))
    assert found == sorted(library.name for library in jit.libraries())
    names = [one.library for one in resolve_all(context({}, python=python))]
    assert names[0] == "flashinfer" and names.index("sglang") < names.index("triton") < names.index("numba-cuda")


def test_only_what_is_installed_is_asked() -> None:
    found = [one.library for one in resolve_all(context({}, python=interpreter(triton="3.6.0")))]
    assert found == ["triton", "torch", "inductor"]
    assert resolve_all(Context({}, Snapshot(), MemoryView())) == ()


@settings(max_examples=300, deadline=None)
@given(
    env=st.dictionaries(NAMES, VALUES, max_size=5),
    versions=st.fixed_dictionaries({name: st.sampled_from(values) for name, values in EVERY.items()}),
    gpu=st.sampled_from([None, (7, 0), (8, 9), (9, 0), (10, 3), (12, 0), (12, 1), (15, 0)]),
    torch=st.sampled_from(["13.0", "12.8", None, "rocm"]),
    server=st.sampled_from(["sglang", "vllm", ""]),
)
def test_odd_values_never_raise(
    env: dict[str, str], versions: dict[str, str], gpu: Any, torch: str | None, server: str
) -> None:
    python = interpreter("2.11.0", torch, **versions)
    where = context(MappingProxyType(env), toolkits=KITS, gpu=gpu, python=python, server=server)
    for found in resolve_all(where):
        for problem in found.problems:
            assert problem.cause in CAUSES
            assert problem.text
            assert "None" not in problem.text


@settings(max_examples=100, deadline=None)
@given(versions=st.fixed_dictionaries({name: st.sampled_from(values) for name, values in EVERY.items()}))
def test_where_little_is_known_nobody_is_blamed_for_versions(versions: dict[str, str]) -> None:
    where = Context(
        {"PATH": "/usr/bin", "CUDA_HOME": "/opt/cuda"},
        Snapshot(interpreter=interpreter("2.11.0", None, **versions), caches=(JitCache("x", "/root/.cache", True, 0),)),
        MemoryView(
            programs=["/opt/cuda/bin/nvcc", *(f"/usr/bin/{name}" for name in ["gcc", "g++", "c++", "ninja", "which"])]
        ),
        server="sglang",
    )
    # Kernel packages apart, what is left could only be guessed at.
    assert [p.cause for found in resolve_all(where) for p in found.problems if p.fatal] == []


def test_visible_devices() -> None:
    from remedy.jit.devices import visible

    cards = tuple(Gpu(index, "GPU", (9, 0) if index else (12, 0), None, "test") for index in range(3))
    for text, order, expected in (
        (None, "", ((9, 0), (12, 0))),
        ("0", "PCI_BUS_ID", ((12, 0),)),
        ("1,2", "PCI_BUS_ID", ((9, 0),)),
        ("0", "", ((9, 0), (12, 0))),
        ("GPU-5f", "PCI_BUS_ID", ((9, 0), (12, 0))),
        ("", "", ()),
        ("-1", "", ()),
        ("0,-1,1", "PCI_BUS_ID", ((12, 0),)),
    ):
        env = {"CUDA_DEVICE_ORDER": order, **({"CUDA_VISIBLE_DEVICES": text} if text is not None else {})}
        assert visible(Context(env, Snapshot(gpus=cards), MemoryView())) == expected, text
