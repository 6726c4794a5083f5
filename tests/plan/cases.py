"""Machines and services for the tables of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from remedy.causes.types import Diagnosis, Evidence, Finding
from remedy.facts.types import (
    AptPackage,
    Dist,
    Driver,
    Gpu,
    Host,
    HostCompiler,
    Interpreter,
    PackageChange,
    Simulation,
    Snapshot,
    Toolkit,
    Version,
)
from remedy.jit import resolve_all
from remedy.jit.types import Context
from remedy.plan.inputs import Inputs
from remedy.plan.types import EditFile, MoveCache, Plan
from remedy.unit.launch import launch
from remedy.unit.load import load
from remedy.unit.types import EditStyle, Manager
from tests.memory import MemoryView

WHOLE = frozenset(
    {
        *("nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cudart-library", "cudadevrt", "cccl", "curand"),
        *("cublas", "cusparse", "cusolver", "nvrtc", "stub", "cuobjdump"),
    }
)
DEBIAN = Host("debian", "12", "Debian GNU/Linux 12 (bookworm)", (2, 36), "x86_64", 252)
# What the packages of a release bring along (NVIDIA's Depends).
DEPENDS = {
    "cuda-nvcc-": ("cuda-crt-", "libnvvm-"),
    "cuda-cudart-dev-": ("cuda-cudart-", "cuda-driver-dev-", "cuda-cccl-"),
}


@dataclass(frozen=True)
class AptTable:
    """An apt whose repository is a table: names to versions; ``broken`` names can't be installed, and why; ``pinned``
    are kept out by preferences."""

    packages: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    pinned: Mapping[str, str] = field(default_factory=dict)

    def available(self, names: Sequence[str]) -> Mapping[str, AptPackage]:
        return {
            name: AptPackage(name, self.packages[name], "amd64", 1000, 4096) for name in names if name in self.packages
        }

    def withheld(self, names: Sequence[str]) -> Mapping[str, str]:
        return {name: self.pinned[name] for name in names if name in self.pinned}

    def simulate(self, requested: Sequence[str]) -> Simulation:
        names = [name.partition("=")[0] for name in requested]
        for name in names:
            if name in self.broken:
                return Simulation(errors=(self.broken[name],))
            if name not in self.packages:
                return Simulation(errors=(f"Unable to locate package {name}",))
        for name in list(names):
            for stem, others in DEPENDS.items():
                if name.startswith(stem):
                    names += [other + name[len(stem) :] for other in others]
        unique = [name for name in dict.fromkeys(names) if name in self.packages]
        return Simulation(tuple(PackageChange(name, self.packages[name], None, 1000, 4096) for name in unique))


def nvidia(*releases: str, without: Sequence[str] = ()) -> AptTable:
    """NVIDIA's repository with these releases (``13-0``), but for some packages."""
    stems = [
        *("cuda-nvcc", "cuda-crt", "libnvvm", "cuda-cudart", "cuda-cudart-dev", "cuda-driver-dev", "cuda-cccl"),
        *("libcurand-dev", "libcublas-dev", "libcusparse-dev", "libcusolver-dev", "cuda-nvrtc-dev", "cuda-cuobjdump"),
    ]
    names = [f"{stem}-{release}" for release in releases for stem in stems]
    return AptTable({name: f"{name[-4:].replace('-', '.')}.88-1" for name in names if name not in without})


def kit(
    root: str,
    version: Version | None,
    *,
    headers: Version | None = None,
    components: frozenset[str] = WHOLE,
    origin: str = "apt",
    real: str | None = None,
) -> Toolkit:
    """A toolkit; without a version one without nvcc."""
    nvcc = f"{root}/bin/nvcc" if version else None
    return Toolkit(root, nvcc, version, headers or version, components, origin, real or root)


OLD = kit("/usr/local/cuda-12.8", (12, 8), origin="runfile")
NEW = kit("/usr/local/cuda-13.0", (13, 0))
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: A unit's environment in which ``NEW`` is what every library finds.
GOOD = (f"Environment=CUDA_HOME={NEW.root}", f"Environment=PATH={NEW.root}/bin:{DEFAULT_PATH}")


def interpreter(torch_cuda: str | None = "13.0", **versions: str) -> Interpreter:
    """The story's interpreter; ``flashinfer_python="0.6.8.post1"`` names installed distributions."""
    dists = {
        name.replace("_", "-"): Dist(name.replace("_", "-"), version, "/x.dist-info")
        for name, version in versions.items()
    }
    return Interpreter(
        path="/root/venv/bin/python3",
        prefix="/root/venv",
        version=(3, 11, 2),
        site_packages=("/root/venv/lib/python3.11/site-packages",),
        dists=dists,
        torch="2.11.0",
        torch_cuda=torch_cuda,
        headers="/usr/include/python3.11",
    )


def machine(
    *toolkits: Toolkit,
    capability: tuple[int, int] | None = (12, 0),
    python: Interpreter | None = None,
    gcc: Version | None = (12, 2, 0),
    glibc: Version = (2, 36),
    driver_cuda: Version | None = (13, 0),
    installed: Mapping[str, str] | None = None,
) -> Snapshot:
    """A machine with these toolkits, one kind of GPU, and a gcc."""
    compilers = (
        tuple(HostCompiler(name, f"/usr/bin/{name}", "gcc", gcc) for name in ("gcc", "g++", "c++")) if gcc else ()
    )
    return Snapshot(
        host=replace(DEBIAN, glibc=glibc),
        gpus=tuple(Gpu(index, "GPU", capability, None, "test") for index in range(2 if capability else 0)),
        driver=Driver("580.95.05", "580.95.05", driver_cuda, "test") if driver_cuda else None,
        toolkits=toolkits,
        interpreter=python or interpreter(flashinfer_python="0.6.8.post1"),
        compilers=compilers,
        installed=installed or {},
    )


UNIT = "sglang-k26.service"
PATH = "/etc/systemd/system/" + UNIT
PROGRAMS = (
    *("/usr/bin/gcc", "/usr/bin/g++", "/usr/bin/c++", "/usr/bin/which", "/usr/bin/env", "/bin/sh", "/usr/bin/ninja"),
    *("/root/venv/bin/python3", "/root/venv/bin/ninja"),
)


def unit_text(*lines: str) -> str:
    """A unit that runs SGLang, with these lines in [Service]."""
    command = "ExecStart=/root/venv/bin/python3 -m sglang.launch_server --model-path /models/k26 --port 30000"
    return "\n".join(["[Unit]", "Description=Kimi K2.6", "", "[Service]", *lines, command, ""])


STORY = unit_text(
    "Environment=CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7",
    f"Environment=PATH=/usr/local/cuda-12.8/bin:/root/venv/bin:{DEFAULT_PATH}",
    "Environment=LD_LIBRARY_PATH=/usr/local/cuda-12.8/lib64:/opt/lib",
    "# NCCL",
    "Environment=NCCL_DEBUG=WARN",
)


@dataclass(frozen=True)
class Scene:
    """A service on a machine, with what is wrong; ``inputs`` looks at it the way ``remedy fix`` does."""

    unit: str = STORY
    snapshot: Snapshot = field(default_factory=lambda: machine(OLD))
    cause: str = "nvcc-too-old"
    apt: AptTable = field(default_factory=lambda: nvidia("12-9", "13-0", "13-2"))
    files: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    programs: Sequence[str] = PROGRAMS
    mendable: bool = True
    says: str = ""
    style: EditStyle | None = None

    def inputs(self) -> Inputs:
        nvccs = [kit.nvcc for kit in self.snapshot.toolkits if kit.nvcc]
        view = MemoryView({PATH: self.unit, **self.files}, self.links, (*self.programs, *nvccs))
        manager = Manager(252, environment={"PATH": DEFAULT_PATH})
        service = load(UNIT, view, manager)
        started = launch(service, view)
        context = Context(started.variables(), self.snapshot, view, "/root", "sglang", argv=started.argv)
        evidence = (Evidence("log", self.says),) if self.says else ()
        found = Finding(self.cause, True, "confirmed", True, "what is wrong", evidence, (), self.mendable, "do this")
        return Inputs(
            service=service,
            launch=started,
            context=context,
            resolutions=resolve_all(context),
            diagnosis=Diagnosis((found,)),
            manager=manager,
            apt=self.apt,
            resolve=resolve_all,
            style=self.style,
            last_start=630.0,
        )

    def after(self, plan: Plan) -> Scene:
        """The same service with a plan carried out, so that it can be looked at again."""
        new = {step.edit.path: step.edit.after.decode() for step in plan.steps if isinstance(step, EditFile)}
        moved = {step.path for step in plan.steps if isinstance(step, MoveCache)}
        toolkits = self.snapshot.toolkits
        if plan.toolkit and not self.snapshot.toolkit_at(plan.toolkit):
            toolkits = (*toolkits, kit(plan.toolkit, plan.toolkit_version))
        caches = tuple(
            replace(cache, entries=tuple(entry for entry in cache.entries if entry.path not in moved))
            for cache in self.snapshot.caches
        )
        files = {**self.files, **{path: text for path, text in new.items() if path != PATH}}
        snapshot = replace(self.snapshot, toolkits=toolkits, caches=caches)
        return replace(self, unit=new.get(PATH, self.unit), files=files, snapshot=snapshot)
