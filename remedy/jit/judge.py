"""What is wrong with the toolkit, the host's compilers and programs that a library would build with.

One rule a function; each gets the same ``Build`` and adds the problems that it finds. A fact that is missing never
makes a problem: the snapshot says that it is missing, and why.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from remedy.facts.types import HostCompiler, Toolkit, Version
from remedy.hints import Final
from remedy.jit import lookup, tables
from remedy.jit.lookup import Found
from remedy.jit.tables import Capability
from remedy.jit.types import Context, Problem, Requirement, Resolution, StaleEntry
from remedy.jit.versions import cuda, dotted
from remedy.value import dataclass
from remedy.view import is_directory, is_executable, which

HEADERS: Final = {
    "cudart-headers": "cuda_runtime.h",
    "crt": "crt/host_config.h",
    "cccl": "cub/cub.cuh",
    "curand": "curand_kernel.h",
    "cublas": "cublas_v2.h",
    "cusparse": "cusparse.h",
    "cusolver": "cusolverDn.h",
    "nvrtc": "nvrtc.h",
}
PROGRAMS: Final = {"cicc": "nvvm/bin/cicc", "ptxas": "bin/ptxas", "cuobjdump": "bin/cuobjdump"}
LIBRARIES: Final = {"cudart-library": "libcudart.so", "stub": "libcuda.so"}

# ld(1) looks here after every -L; the driver's own libcuda.so stands in the first of them on most distributions.
_LINKER_FOLDERS: Final = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/local/lib",
    "/usr/lib64",
    "/usr/lib",
)


@dataclass(frozen=True)
class Build:
    """One library's way to build: who (``FlashInfer 0.6.8.post1``), with what, and what it demands.

    ``ccbin`` says whether nvcc is handed $CC as its host compiler; ``fatal`` whether the service stops when the
    build fails; ``link_folders`` are the -L folders below the root; ``kit`` is what stands at the root.
    """

    who: str
    found: Found
    requires: Requirement
    context: Context
    fatal: bool
    ccbin: bool
    link_folders: tuple[str, ...]
    kit: Toolkit | None
    nvcc_version: Version | None

    def problem(self, cause: str, text: str, *facts: str, fatal: bool | None = None) -> Problem:
        """A problem of this build; it stops the service unless said otherwise."""
        return Problem(cause, text, facts, self.fatal if fatal is None else self.fatal and fatal, self.found.variable)


def build(
    who: str,
    found: Found,
    requires: Requirement,
    context: Context,
    *,
    fatal: bool = True,
    ccbin: bool = True,
    link_folders: tuple[str, ...] = ("lib64", "lib64/stubs"),
) -> Build:
    """A build with the toolkit and its version looked up."""
    kit, version = lookup.toolkit_of(context, found), lookup.version_of(context, found)
    return Build(who, found, requires, context, fatal, ccbin, link_folders, kit, version)


def ceiling(context: Context, capabilities: tuple[Capability, ...]) -> Version | None:
    """The first nvcc that is too new: it has dropped a GPU, or its major is beyond what the driver runs.

    NVIDIA's forward-compatibility libraries (cuda-compat, in a folder ``compat``) lift the driver's limit. Where
    torch itself is beyond it, the driver is what is wrong, and an nvcc of torch's major is not.
    """
    bounds = [found for one in capabilities if (found := tables.nvcc_below(one))]
    driver, interpreter = context.snapshot.driver, context.snapshot.interpreter
    if driver and "compat" not in context.env.get("LD_LIBRARY_PATH", ""):
        major = tables.driver_major(driver.library or driver.kernel_module, driver.cuda)
        torch = cuda(interpreter.torch_cuda) if interpreter else None
        if major and not (torch and torch[0] > major):
            bounds.append((major + 1, 0))
    return min(bounds, default=None)


def fits(context: Context, target: str) -> bool:
    """Whether some GPU runs code of a target (also where no GPU is known)."""
    capabilities = context.snapshot.capabilities
    return not capabilities or any(tables.runs_on(target, one) for one in capabilities)


def gpu_words(context: Context) -> str:
    """``GPU 12.0`` or ``GPUs 9.0 and 12.0``."""
    names = [dotted(capability) for capability in context.snapshot.capabilities]
    return ("GPU " if len(names) < 2 else "GPUs ") + " and ".join(names)


def _where(found: Found) -> str:
    """How the root was found, as a person would say it."""
    if found.variable == "PATH":
        return "from PATH"
    return f"from {found.variable}={found.root}" if found.variable else f"in {found.root}"


def nvcc_is_there(one: Build) -> Iterator[Problem]:
    """A root, and an nvcc in it that can be run."""
    found, view = one.found, one.context.view
    if found.root is None:
        yield one.problem("nvcc-not-found", f"{one.who} finds no nvcc: {found.why}")
        return
    if found.exists:
        if found.nvcc and not is_executable(view, found.nvcc):
            yield one.problem("nvcc-not-found", f"{one.who} takes {found.nvcc}, which is not executable")
        elif one.kit and one.kit.closed:
            yield one.problem("nvcc-not-found", f"{one.who} takes an nvcc that can't be run: {one.kit.why}")
        return
    if found.variable in ("CUDA_HOME", "CUDA_PATH"):
        yield one.problem("cuda-home-invalid", f"{one.who} takes {found.variable}={found.root} unchecked: {_why(one)}")
        return
    yield one.problem("nvcc-not-found", f"{one.who} looks for {found.nvcc}: there is no such file")


def _why(one: Build) -> str:
    """What is wrong with a root that holds no nvcc."""
    root, view = one.found.root or "", one.context.view
    if not root:
        return "it is set, and empty, which ends the search"
    if root.startswith(("~", "$")) or "$" in root:
        return "systemd does not expand variables or ~ there"
    if not root.startswith("/"):
        return "that is no absolute path"
    if view.stat(root) is None:
        return "there is no such folder"
    if not is_directory(view, root):
        return "that is no folder"
    return "it holds no bin/nvcc"


def nvcc_knows_the_gpu(one: Build) -> Iterator[Problem]:
    """The bounds of the version: GPU and library from below, GPU and driver from above."""
    version, requires = one.nvcc_version, one.requires
    if version is None:
        return
    takes = f"{one.who} takes nvcc {dotted(version)} {_where(one.found)}"
    fact = f"{one.found.nvcc} is release {dotted(version)}"
    if requires.nvcc_minimum and version < requires.nvcc_minimum:
        needs = requires.reason or f"{gpu_words(one.context)} needs"
        yield one.problem("nvcc-too-old", f"{takes}; {needs} >= {dotted(requires.nvcc_minimum)}", fact)
        return
    if requires.nvcc_below and version >= requires.nvcc_below:
        yield one.problem("nvcc-too-new", f"{takes}; {_ceiling(one)} < {dotted(requires.nvcc_below)}", fact)
        return
    unknown = sorted(target for target in requires.targets if tables.knows(version, target) is False)
    # One that no GPU here runs is the fault of the list that names it, not of the compiler.
    unknown = [target for target in unknown if fits(one.context, target)]
    if unknown:
        yield one.problem(
            "nvcc-too-old", f"{takes}; it is asked for compute_{unknown[0]}, which that release does not know", fact
        )


def _ceiling(one: Build) -> str:
    """Who sets the upper bound: the GPU or the driver."""
    below = one.requires.nvcc_below
    dropped = [found for found in one.context.snapshot.capabilities if tables.nvcc_below(found) == below]
    return f"GPU {dotted(dropped[0])} needs" if dropped else "this driver can run what is built by nvcc"


def nvcc_matches_torch(one: Build) -> Iterator[Problem]:
    """The same CUDA major as torch's: two libcudart in one process otherwise. Works often enough not to be fatal."""
    version, major = one.nvcc_version, one.requires.torch_major
    if version and major and version[0] != major:
        interpreter = one.context.snapshot.interpreter
        torch = f"torch {interpreter.torch} is built for CUDA {interpreter.torch_cuda}" if interpreter else ""
        text = f"{one.who} takes nvcc {dotted(version)} {_where(one.found)}; {torch}"
        yield one.problem("nvcc-torch-mismatch", text, torch, fatal=False)


def toolkit_is_one(one: Build) -> Iterator[Problem]:
    """Compiler and headers of the same release."""
    kit = one.kit
    if kit and kit.headers_version and one.nvcc_version and kit.headers_version[:2] != one.nvcc_version[:2]:
        compiler, headers = dotted(one.nvcc_version[:2]), dotted(kit.headers_version[:2])
        text = f"{one.found.root} mixes releases: nvcc {compiler}, headers {headers}"
        yield one.problem("toolkit-mixed", text, f"{kit.root}/include/cuda.h is of CUDA {headers}")


def toolkit_is_whole(one: Build) -> Iterator[Problem]:
    """The components that this library's builds need."""
    kit = one.kit
    if kit is None or not one.found.exists or "nvcc" not in kit.components:
        return
    missing = sorted(one.requires.components - kit.components)
    root = one.found.root
    headers = [HEADERS[name] for name in missing if name in HEADERS]
    if headers:
        yield one.problem("cuda-headers-missing", f"{one.who} needs {', '.join(headers)}; {root} has no such header")
    programs = [PROGRAMS[name] for name in missing if name in PROGRAMS]
    if programs:
        yield one.problem("nvcc-not-found", f"{one.who} needs {', '.join(programs)} beside nvcc; {root} has none")
    unlinked = [LIBRARIES[name] for name in missing if name in LIBRARIES and not _linkable(one, LIBRARIES[name])]
    if unlinked:
        folders = " and ".join(f"{root}/{folder}" for folder in one.link_folders)
        yield one.problem("cuda-library-not-linkable", f"the linker finds no {' and no '.join(unlinked)} in {folders}")


def _linkable(one: Build, name: str) -> bool:
    """Whether ld finds the library in another folder: LIBRARY_PATH (gcc(1)), extra -L flags, its own defaults."""
    env = one.context.env
    extra = [word[2:] for word in env.get("FLASHINFER_EXTRA_LDFLAGS", "").split() if word.startswith("-L")]
    folders = [*env.get("LIBRARY_PATH", "").split(":"), *extra, *_LINKER_FOLDERS]
    return any(
        folder.startswith("/") and one.context.view.stat(posixpath.join(folder, name)) is not None for folder in folders
    )


def glibc_is_accepted(one: Build) -> Iterator[Problem]:
    """glibc 2.41 and later against CUDA's headers up to 12.9."""
    glibc = one.context.snapshot.host.glibc
    if one.nvcc_version and glibc and not tables.glibc_accepted(glibc, one.nvcc_version):
        text = f"nvcc {dotted(one.nvcc_version)} can't compile with glibc {dotted(glibc)}; CUDA 13.0 and later can"
        yield one.problem("glibc-too-new", text, f"glibc is {dotted(glibc)}")


def host_compiler_fits(one: Build) -> Iterator[Problem]:
    """A C++ compiler for nvcc, of a version that its headers and the library's sources accept."""
    if not one.requires.host_compiler:
        return
    variable = "CC" if one.ccbin and one.context.env.get("CC") else ""
    name, path = lookup.command(one.context, variable, "gcc")
    if path is None:
        origin = f" ($CC is {name})" if variable else ""
        yield one.problem("host-compiler-missing", f"{one.who} needs {name} for nvcc: none on the unit's PATH{origin}")
        return
    compiler = _compiler(one.context, name, path)
    if compiler is None or compiler.kind != "gcc" or not compiler.version:
        return
    major, fact = compiler.version[0], f"{path} is gcc {dotted(compiler.version)}"
    highest = tables.highest_gcc(one.nvcc_version) if one.nvcc_version else None
    if highest is not None and major > highest:
        text = f"nvcc {dotted(one.nvcc_version or ())} accepts gcc up to {highest}; {path} is {major}"
        yield one.problem("host-compiler-unsupported", text, fact)
    elif major < one.requires.gcc_minimum:
        text = f"{one.who} needs gcc {one.requires.gcc_minimum} or later; {path} is {major}"
        yield one.problem("host-compiler-unsupported", text, fact)


def linker_driver_is_there(one: Build) -> Iterator[Problem]:
    """$CXX or c++: it compiles the host's own sources, and links every module."""
    if not one.requires.host_compiler:
        return
    name, path = lookup.command(one.context, "CXX", "c++")
    if path is None:
        origin = " ($CXX names it)" if one.context.env.get("CXX") else ""
        text = f"{one.who} links with {name}: none on the unit's PATH{origin}"
        yield one.problem("host-compiler-missing", text)


def _compiler(context: Context, name: str, path: str) -> HostCompiler | None:
    """What the snapshot knows of a compiler, by path, real path, or name."""
    real = context.view.realpath(path)
    every = context.snapshot.compilers
    exact = next((one for one in every if one.path in (path, real)), None)
    return exact or next((one for one in every if one.command == name and one.path is not None), None)


def ninja_is_there(one: Build) -> Iterator[Problem]:
    """ninja on the unit's PATH; the package ``ninja`` puts it into the interpreter's bin, which PATH often lacks."""
    context = one.context
    if not one.requires.ninja or which(context.view, "ninja", context.env.get("PATH"), lookup.UNSET_PATH):
        return
    interpreter = context.snapshot.interpreter
    beside = posixpath.join(posixpath.dirname(interpreter.path), "ninja") if interpreter else ""
    hint = f"; there is one in {posixpath.dirname(beside)}" if beside and is_executable(context.view, beside) else ""
    yield one.problem("ninja-missing", f"{one.who} runs ninja from PATH: none on the unit's PATH{hint}")


def python_headers_are_there(one: Build) -> Iterator[Problem]:
    """Python.h of the service's own interpreter."""
    interpreter = one.context.snapshot.interpreter
    if one.requires.python_headers and interpreter and interpreter.headers is None:
        version = dotted(interpreter.version[:2]) if interpreter.version else ""
        yield one.problem("python-headers-missing", f"{one.who} needs Python.h of Python {version}".rstrip())


RULES: Final[tuple[Callable[[Build], Iterator[Problem]], ...]] = (
    nvcc_is_there,
    nvcc_knows_the_gpu,
    nvcc_matches_torch,
    glibc_is_accepted,
    toolkit_is_one,
    toolkit_is_whole,
    host_compiler_fits,
    linker_driver_is_there,
    ninja_is_there,
    python_headers_are_there,
)


def problems(one: Build) -> tuple[Problem, ...]:
    """Every problem of this build, the likeliest root first."""
    return tuple(problem for rule in RULES for problem in rule(one))


def resolution(
    one: Build,
    library: str,
    version: str,
    *,
    problems: tuple[Problem, ...],
    cache: str | None,
    variables: tuple[str, ...],
    stale: tuple[StaleEntry, ...] = (),
) -> Resolution:
    """The library's answer: what its build found and demands, and what comes of that."""
    found = one.found
    return Resolution(
        library=library,
        version=version,
        toolkit=found.root,
        found_by=found.by,
        variable=found.variable,
        nvcc=found.nvcc,
        nvcc_version=one.nvcc_version,
        requires=one.requires,
        problems=problems,
        cache=cache,
        stale=stale,
        variables=variables,
    )
