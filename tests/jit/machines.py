"""Machines in a few words, for tests of jit/: toolkits, interpreters and environments as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from remedy.facts.types import Dist, Driver, Gpu, Host, HostCompiler, Interpreter, JitCache, Snapshot, Toolkit, Version
from remedy.jit.types import Context, Problem, Resolution
from tests.memory import MemoryView

WHOLE = frozenset(
    {"nvcc", "cicc", "ptxas", "crt", "cudart-headers", "cudart-library", "cudadevrt", "cccl", "curand", "cublas"}
    | {"cusparse", "cusolver", "nvrtc", "stub", "cuobjdump"}
)
VENV = "/root/venv_sglang211"
PATH = f"{VENV}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def toolkit(root: str, version: Version, components: frozenset[str] = WHOLE, headers: Version | None = None) -> Toolkit:
    """A toolkit that is whole unless said otherwise."""
    return Toolkit(root, f"{root}/bin/nvcc", version, headers or version, components, "apt", root)


def interpreter(torch: str = "2.11.0", torch_cuda: str | None = "13.0", **dists: str) -> Interpreter:
    """The service's Python with some distributions (``flashinfer_python="0.6.8.post1"``)."""
    names = {"torch": torch, **{name.replace("_", "-"): version for name, version in dists.items()}}
    site = f"{VENV}/lib/python3.11/site-packages"
    return Interpreter(
        path=f"{VENV}/bin/python3",
        prefix=VENV,
        version=(3, 11, 2),
        site_packages=(site,),
        dists={name: Dist(name, version, site) for name, version in names.items()},
        torch=torch,
        torch_cuda=torch_cuda,
        headers="/usr/include/python3.11",
    )


def context(
    env: Mapping[str, str] | None = None,
    *,
    toolkits: Iterable[Toolkit] = (),
    gpu: tuple[int, int] | None = (12, 0),
    python: Interpreter | None = None,
    programs: Iterable[str] = (),
    links: Mapping[str, str] | None = None,
    files: Iterable[str] | Mapping[str, str] = (),
    server: str = "sglang",
    gcc: Version | None = (12, 2, 0),
    glibc: Version | None = (2, 36),
    driver: str | None = "580.126.09",
    caches: tuple[JitCache, ...] = (),
    without: Iterable[str] = (),
    argv: tuple[str, ...] = (),
) -> Context:
    """A machine with eight equal GPUs, gcc, ninja in the venv and the given toolkits; ``without`` takes away."""
    kits = tuple(toolkits)
    there = {"/usr/bin/which", "/usr/bin/gcc", "/usr/bin/g++", "/usr/bin/c++", f"{VENV}/bin/ninja", *programs}
    there |= {kit.nvcc for kit in kits if kit.nvcc}
    texts = files if isinstance(files, Mapping) else dict.fromkeys(files, "")
    view = MemoryView(texts, links or {}, there - set(without))
    compilers = tuple(HostCompiler(name, f"/usr/bin/{name}", "gcc", gcc) for name in ("gcc", "g++", "c++"))
    snapshot = Snapshot(
        host=Host(glibc=glibc, architecture="x86_64"),
        gpus=tuple(Gpu(index, "GPU", gpu, None, "test") for index in range(8)) if gpu else (),
        driver=Driver(driver, driver, None, "test") if driver else None,
        toolkits=kits,
        interpreter=python or interpreter(flashinfer_python="0.6.8.post1"),
        compilers=compilers if gcc else (),
        caches=caches,
    )
    return Context({"PATH": PATH, "HOME": "/root", **(env or {})}, snapshot, view, server=server, argv=argv)


def with_env(before: Context, **env: str) -> Context:
    """The same machine under another environment."""
    return replace(before, env={**before.env, **env})


def causes(found: Resolution | Iterable[Problem], *, fatal: bool | None = None) -> list[str]:
    """The cause ids of a resolution's problems, all of them or those that are (not) fatal."""
    problems = found.problems if isinstance(found, Resolution) else tuple(found)
    return [problem.cause for problem in problems if fatal is None or problem.fatal == fatal]
