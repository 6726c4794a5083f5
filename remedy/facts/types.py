"""What this machine is, as far as a CUDA toolchain depends on it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from remedy.hints import Literal
from remedy.value import dataclass, field

Version = tuple[int, ...]


def numbers(text: str) -> Version:
    """The leading dotted numbers of a text: ``2.36-9+deb12u10`` as (2, 36); empty where it begins with none."""
    found: list[int] = []
    for part in text.strip().split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            found.append(int(digits))
        if digits != part:
            break
    return tuple(found)


@dataclass(frozen=True)
class Missing:
    """A fact that could not be had: its name (``gpus``, ``journal``, …) and why, in one sentence."""

    fact: str
    why: str


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU; ``capability`` is the compute capability, (12, 0) for 12.0; ``memory`` in bytes."""

    index: int
    name: str
    capability: tuple[int, int] | None
    memory: int | None
    source: str


@dataclass(frozen=True)
class Driver:
    """The NVIDIA driver: user-space library version, loaded kernel module's version, the CUDA it offers."""

    library: str | None
    kernel_module: str | None
    cuda: Version | None
    source: str


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit: its root as it would stand in CUDA_HOME.

    ``version`` is what its nvcc says (None without nvcc), ``headers_version`` CUDA_VERSION of its cuda.h as
    (13, 0). ``components`` names what is complete: nvcc, cicc, ptxas, crt, cudart-headers, cudart-library (an
    unversioned libcudart.so where ``-L<root>/lib64`` finds it), cudadevrt, cccl, curand, cublas, cusparse,
    cusolver, nvrtc, stub (lib64/stubs/libcuda.so), cuobjdump. ``origin`` is apt, runfile, debian, conda, wheel,
    hpc-sdk, remedy or unknown. ``architectures`` what nvcc can target, as nvcc spells it without ``compute_``
    (``120f``), empty where it was not asked. ``closed``: the service's user can't run its nvcc; ``why`` has the reason,
    as for all that can't be told of it.
    """

    root: str
    nvcc: str | None
    version: Version | None
    headers_version: Version | None
    components: frozenset[str]
    origin: str
    real_root: str
    architectures: frozenset[str] = frozenset()
    why: str | None = None
    closed: bool = False


@dataclass(frozen=True)
class Dist:
    """An installed Python distribution, read from its dist-info folder."""

    name: str
    version: str
    location: str


@dataclass(frozen=True)
class Interpreter:
    """The service's Python, read from its files, never started.

    ``torch_cuda`` is ``torch/version.py``'s cuda text ("13.0"), None for a CPU or ROCm build.
    ``headers`` is the folder with Python.h, None where it is not there.
    """

    path: str
    prefix: str
    version: Version | None
    site_packages: tuple[str, ...]
    dists: Mapping[str, Dist]
    torch: str | None = None
    torch_cuda: str | None = None
    torch_hip: str | None = None
    headers: str | None = None

    def dist_version(self, name: str) -> str | None:
        """The version of a distribution by its normalised name (``flashinfer-python``)."""
        found = self.dists.get(name)
        return found.version if found else None


@dataclass(frozen=True)
class HostCompiler:
    """A gcc/g++/clang on the service's PATH or in $CC/$CXX: ``command`` as looked up (``g++``)."""

    command: str
    path: str | None
    kind: Literal["gcc", "clang", "unknown"]
    version: Version | None


@dataclass(frozen=True)
class CacheEntry:
    """One compiled module in a JIT cache.

    ``cuda_home`` and ``nvcc`` are what its build record (build.ninja) names, ``needed`` the CUDA libraries of
    its .so's dynamic section (libcudart.so.12), ``targets`` the gencode targets (``120f``). ``built`` says
    whether a .so exists; ``size`` is in bytes.
    """

    name: str
    path: str
    size: int
    built: bool
    cuda_home: str | None = None
    nvcc: str | None = None
    targets: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
    mtime_ns: int = 0


@dataclass(frozen=True)
class JitCache:
    """The cache folder of one JIT library; ``writable`` by the service's user, None where that is unknown.

    ``size`` is in bytes, that of ``entries`` where modules are read, else that of all files; None where there are too
    many to count. ``owner`` is the folder's user, a number where passwd(5) has no name for it. ``locks`` are files
    whose existence alone some library takes for a build under way; ``why`` says what can't be told or written.
    """

    library: str
    path: str
    exists: bool
    size: int | None
    entries: tuple[CacheEntry, ...] = ()
    writable: bool | None = None
    locks: tuple[str, ...] = ()
    why: str | None = None
    owner: str | None = None


@dataclass(frozen=True)
class LogLine:
    """One journal line; ``realtime`` in microseconds since the epoch (0 where unknown), ``pid`` of its writer."""

    text: str
    realtime: int = 0
    identifier: str = ""
    pid: int = 0
    invocation: str = ""
    from_manager: bool = False

    @property
    def utc(self) -> str:
        """``realtime`` to the second, as ISO 8601 in UTC; empty where it is unknown."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.realtime // 1_000_000)) if self.realtime else ""


@dataclass(frozen=True)
class UnitState:
    """What the manager says of the unit now (systemctl show's property names, in their words).

    ``n_restarts`` is NRestarts; ``exec_main_status`` ExecMainStatus; ``inactive_enter`` when it last became inactive,
    in microseconds since the epoch, 0 where it never did.
    ``active_for`` is how many seconds ago the unit became active, None where it is not active.
    """

    active_state: str = "unknown"
    sub_state: str = ""
    result: str = ""
    exec_main_code: int = 0
    exec_main_status: int = 0
    n_restarts: int = 0
    invocation: str = ""
    need_daemon_reload: bool = False
    inactive_enter: int = 0
    active_for: float | None = None


@dataclass(frozen=True)
class Host:
    """The operating system: os-release's ID and VERSION_ID, glibc, architecture (``x86_64``)."""

    os_id: str = ""
    os_version: str = ""
    os_name: str = ""
    glibc: Version | None = None
    architecture: str = ""
    systemd: int | None = None


@dataclass(frozen=True)
class AptPackage:
    """A binary package as apt knows it: ``size`` is the download, ``installed_size`` both in bytes."""

    name: str
    version: str
    architecture: str
    size: int
    installed_size: int
    depends: str = ""
    origin: str = ""


@dataclass(frozen=True)
class PackageChange:
    """One package that apt would install or upgrade; ``download`` and ``installed`` in bytes."""

    name: str
    version: str
    old_version: str | None
    download: int
    installed: int
    origin: str = ""


@dataclass(frozen=True)
class Simulation:
    """What apt says an installation would do: every change, or the errors (apt's own words) that forbid it."""

    changes: tuple[PackageChange, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """Every fact of one look at the machine. A fact that is missing has an entry in ``missing``."""

    host: Host = field(default_factory=Host)
    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    toolkits: tuple[Toolkit, ...] = ()
    interpreter: Interpreter | None = None
    compilers: tuple[HostCompiler, ...] = ()
    caches: tuple[JitCache, ...] = ()
    journal: tuple[LogLine, ...] = ()
    state: UnitState | None = None
    installed: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)

    def toolkit_of_nvcc(self, nvcc: str) -> Toolkit | None:
        """The toolkit whose nvcc is at this path."""
        return next((kit for kit in self.toolkits if kit.nvcc == nvcc), None)

    def toolkit_at(self, root: str) -> Toolkit | None:
        """The toolkit at a root as written, or through its real path."""
        root = root.rstrip("/") or "/"
        exact = next((kit for kit in self.toolkits if kit.root == root), None)
        return exact or next((kit for kit in self.toolkits if kit.real_root == root), None)

    @property
    def capabilities(self) -> tuple[tuple[int, int], ...]:
        """The distinct compute capabilities of the GPUs, lowest first."""
        return tuple(sorted({gpu.capability for gpu in self.gpus if gpu.capability}))
