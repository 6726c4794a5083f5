"""CUDA toolkits: where they may lie, what each holds, and what its nvcc says."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from remedy.facts.accounts import Account
from remedy.facts.names import head_of, listing, range_of, text_of
from remedy.facts.rights import allowed, barred
from remedy.facts.run import Result, Runner, Running
from remedy.facts.types import Interpreter, Toolkit, Version, numbers
from remedy.value import dataclass, replace
from remedy.view import View, is_directory, is_executable, is_file

REMEDY_PREFIX = "/var/lib/remedy/toolkits"
DEBIAN_ROOT = "/usr/lib/nvidia-cuda-toolkit"
_HPC_SDK = "/opt/nvidia/hpc_sdk"
_TIMEOUT = 5.0
_NVCC_LIMIT = 128 * 1024 * 1024
_CHUNK = 1 << 20
_OVERLAP = 128
_HEADER_SIZE = 64 * 1024
_TARGETS = ("targets/x86_64-linux", "targets/sbsa-linux", "targets/aarch64-linux")
#: Variables whose value is a toolkit's root, and those that name an nvcc.
_ROOT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_PATH")
_NVCC_VARIABLES = ("FLASHINFER_NVCC", "PYTORCH_NVCC", "CUDACXX", "DG_JIT_NVCC_COMPILER", "NVCC")

#: Debian keeps cicc beside its real nvcc.
_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "nvcc": ("bin/nvcc",),
    "cicc": ("nvvm/bin/cicc", "bin/cicc"),
    "ptxas": ("bin/ptxas",),
    "cuobjdump": ("bin/cuobjdump",),
}
_HEADERS: Mapping[str, tuple[str, ...]] = {
    "crt": ("crt/host_config.h",),
    "cudart-headers": ("cuda_runtime.h",),
    "cccl": ("cccl/cub/cub.cuh", "cub/cub.cuh"),
    "curand": ("curand_kernel.h",),
    "cublas": ("cublas_v2.h",),
    "cusparse": ("cusparse.h",),
    "cusolver": ("cusolverDn.h",),
    "nvrtc": ("nvrtc.h",),
}
_LIBRARIES: Mapping[str, str] = {
    "cudart-library": "libcudart.so",
    "cudadevrt": "libcudadevrt.a",
    "stub": "stubs/libcuda.so",
}
_TOOLS = b"Cuda compilation tools, release "


@dataclass(frozen=True)
class Candidate:
    """A root that may be a toolkit; ``asked`` is its ``nvcc --version``, running; ``closed`` as in ``Toolkit``."""

    root: str
    real_root: str
    nvcc: str | None
    asked: Running | None
    closed: str | None = None


@dataclass(frozen=True)
class _Contents:
    """What lies in a toolkit's folder, by whatever name it is reached."""

    headers_version: Version | None
    components: frozenset[str]
    origin: str


def look_up(
    view: View, runner: Runner, env: Mapping[str, str], interpreter: Interpreter | None, user: Account | None
) -> tuple[Candidate, ...]:
    """Find every toolkit, and start asking each nvcc for its version, as the service's user."""
    asked: dict[str, Running] = {}
    found: list[Candidate] = []
    for root in dict.fromkeys(_roots(view, env, interpreter)):
        nvcc = posixpath.join(root, "bin/nvcc")
        if not is_executable(view, nvcc):
            found.append(Candidate(root, view.realpath(root), None, None))
            continue
        real = view.realpath(nvcc)
        if real not in asked:
            asked[real] = runner.start((nvcc, "--version"), timeout=_TIMEOUT, user=user)
        found.append(Candidate(root, view.realpath(root), nvcc, asked[real], _closed(view, nvcc, user)))
    return tuple(found)


def _closed(view: View, nvcc: str, user: Account | None) -> str | None:
    """Why a user may not run an nvcc that others may; the mode of each folder above it counts."""
    real, found = view.realpath(nvcc), view.stat(nvcc)
    if user is None or found is None:
        return None
    why = barred(view, real, user)
    if why is None and not allowed(found, user, 0o1):
        why = f"{real} may not be run by {user.name} (owner {found.uid}, mode {found.mode:04o})"
    return why


def finish(view: View, candidates: tuple[Candidate, ...]) -> tuple[Toolkit, ...]:
    """The toolkits, once each nvcc has answered."""
    versions: dict[str, Version | None] = {}
    for candidate in candidates:
        if candidate.nvcc is not None and candidate.asked is not None:
            real = view.realpath(candidate.nvcc)
            if real not in versions:
                said = parse_release(candidate.asked.result().stdout)
                versions[real] = said or _version_inside(view, candidate.nvcc)
    # cuda and cuda-13 are links to cuda-13.0: one look will do. What counts in /usr does not in a link to it.
    contents: dict[str, _Contents] = {}
    found: list[Toolkit] = []
    for candidate in candidates:
        place = candidate.root if candidate.root == "/usr" else candidate.real_root
        if place not in contents:
            contents[place] = _contents(view, candidate)
        found.append(_toolkit(view, candidate, versions, contents[place]))
    return tuple(found)


def with_architectures(runner: Runner, kits: tuple[Toolkit, ...], user: Account | None) -> tuple[Toolkit, ...]:
    """The toolkits with what their nvcc says it can target; a diagnosis has no need to ask.

    ``nvcc --list-gpu-arch`` (11.0 and later) lists no suffixed architectures: those of ``jit.tables`` hold for them.
    """
    asked = {
        kit.nvcc: runner.start((kit.nvcc, "--list-gpu-arch"), timeout=_TIMEOUT, user=user) for kit in kits if kit.nvcc
    }
    return tuple(
        replace(kit, architectures=parse_architectures(asked[kit.nvcc].result().text)) if kit.nvcc else kit
        for kit in kits
    )


def parse_architectures(text: str) -> frozenset[str]:
    """The lines of ``nvcc --list-gpu-arch`` without ``compute_``."""
    return frozenset(re.findall(r"^compute_(\w+)$", text, re.MULTILINE))


def parse_release(data: bytes) -> Version | None:
    """Major and minor of ``nvcc --version``, or of the same words inside nvcc itself."""
    # bytes.find is ten times as fast as a regular expression over the twenty megabytes of an nvcc.
    start = data.find(_TOOLS)
    if start < 0:
        return None
    release, _, build = data[start + len(_TOOLS) : start + len(_TOOLS) + 32].decode("latin-1").partition(", V")
    found = numbers(release)
    return (found[0], found[1]) if len(found) == 2 and build[:1].isdecimal() else None


def parse_cuda_version(header: bytes) -> Version | None:
    """Major and minor of CUDA_VERSION in cuda.h, CUDART_VERSION in cuda_runtime_api.h."""
    found = re.search(rb"^#define\s+CUD(?:A|ART)_VERSION\s+(\d{4,6})\b", header, re.MULTILINE)
    return divmod(int(found[1]) // 10, 100) if found else None


def _roots(view: View, env: Mapping[str, str], interpreter: Interpreter | None) -> Iterator[str]:
    """The roots that the environment names, whatever they are, then all that lie where toolkits lie."""
    yield from (_trimmed(env[name]) for name in _ROOT_VARIABLES if env.get(name))
    for name in _NVCC_VARIABLES:
        if env.get(name, "").startswith("/"):
            yield posixpath.dirname(posixpath.dirname(env[name]))
    for entry in env.get("PATH", "").split(":"):
        if entry.startswith("/") and is_executable(view, posixpath.join(entry, "nvcc")):
            yield posixpath.dirname(_trimmed(entry))
    yield from (root for root in _usual_roots(view, interpreter) if is_directory(view, root))


def _usual_roots(view: View, interpreter: Interpreter | None) -> Iterator[str]:
    for parent in ("/usr/local", "/opt"):
        # The bare link comes first: libraries fall back to it.
        yield from (f"{parent}/{name}" for name in listing(view, parent) if _is_usual(name))
    if is_executable(view, "/usr/bin/nvcc"):
        yield "/usr"
    yield from (f"{REMEDY_PREFIX}/{name}" for name in listing(view, REMEDY_PREFIX) if not name.startswith("."))
    for system in listing(view, _HPC_SDK):
        for release in listing(view, f"{_HPC_SDK}/{system}"):
            folder = f"{_HPC_SDK}/{system}/{release}/cuda"
            yield from (f"{folder}/{name}" for name in listing(view, folder) if re.fullmatch(r"\d+\.\d+", name))
    if interpreter is not None:
        yield from roots_in(view, interpreter)


def roots_in(view: View, interpreter: Interpreter) -> Iterator[str]:
    """The roots inside an environment of Python's: a conda environment that has nvcc itself, and NVIDIA's wheels."""
    if is_executable(view, f"{interpreter.prefix}/bin/nvcc"):
        yield interpreter.prefix
    for packages in interpreter.site_packages:
        names = listing(view, f"{packages}/nvidia")
        yield from (f"{packages}/nvidia/{name}" for name in names if _is_wheel(name))


def _is_usual(name: str) -> bool:
    """``cuda`` or ``cuda-13.0``, as NVIDIA's packages and installers name a toolkit's folder."""
    return name == "cuda" or (name.startswith("cuda-") and name != "cuda-" and not name[5:].strip("0123456789."))


def _is_wheel(name: str) -> bool:
    """``cu13`` or ``cuda_nvcc``, as NVIDIA's wheels name the folder that holds the compiler."""
    return name == "cuda_nvcc" or (name.startswith("cu") and name[2:].isdecimal())


def _trimmed(path: str) -> str:
    return path.rstrip("/") or "/"


def _contents(view: View, candidate: Candidate) -> _Contents:
    root = candidate.root
    return _Contents(
        _headers_version(view, root), frozenset(components(view, root)), _origin(view, candidate.real_root)
    )


def _toolkit(view: View, candidate: Candidate, versions: Mapping[str, Version | None], contents: _Contents) -> Toolkit:
    version, why, closed = None, _why_not(view, candidate), None
    if candidate.nvcc is not None and candidate.asked is not None:
        version = versions[view.realpath(candidate.nvcc)]
        answer = candidate.asked.result()
        if not answer.ok:
            said = answer.why or "it failed"
            why = said if candidate.nvcc in said else f"{candidate.nvcc} --version: {said}"
            # Where it did run, an ACL or a capability gives what the modes refuse.
            closed = candidate.closed or (why if _does_not_run(candidate.nvcc, answer) else None)
    return Toolkit(
        root=candidate.root,
        nvcc=candidate.nvcc,
        version=version,
        headers_version=contents.headers_version,
        components=contents.components,
        origin=contents.origin,
        real_root=candidate.real_root,
        why=closed or why,
        closed=closed is not None,
    )


def _does_not_run(nvcc: str, answer: Result) -> bool:
    """Whether no build can run an nvcc: it crashed, or the kernel or the shell before it could not execute it. What a
    wrapper says that misses a variable or a library is another matter: the service may have them."""
    code = answer.returncode
    not_found = code == 127 and f"exec: {nvcc}: ".encode() in answer.stderr
    return code == 126 or not_found or (code is not None and code < 0)


def _why_not(view: View, candidate: Candidate) -> str | None:
    if candidate.nvcc is not None:
        return None
    root = candidate.root
    if not root.startswith("/"):
        return f"{root!r} is no absolute path"
    if view.stat(root) is None:
        return f"{root} does not exist"
    if not is_directory(view, root):
        return f"{root} is no directory"
    if is_file(view, f"{root}/bin/nvcc"):
        return f"{root}/bin/nvcc is not executable"
    if view.lstat(f"{root}/bin/nvcc") is not None and view.stat(f"{root}/bin/nvcc") is None:
        return f"{root}/bin/nvcc leads to {view.realpath(f'{root}/bin/nvcc')}, which is not there"
    return f"{root} has no bin/nvcc"


def _version_inside(view: View, nvcc: str) -> Version | None:
    """The version that an nvcc would print, from its own bytes: for one that may not or does not run."""
    # Debian's /usr/bin/nvcc is a script that starts the real one.
    for path in (nvcc, f"{DEBIAN_ROOT}/bin/nvcc") if nvcc == "/usr/bin/nvcc" else (nvcc,):
        found = view.stat(path)
        for offset in range(0, min(found.size, _NVCC_LIMIT) if found else 0, _CHUNK):
            version = parse_release(range_of(view, path, offset, _CHUNK + _OVERLAP))
            if version:
                return version
    return None


def components(view: View, root: str) -> Iterator[str]:
    """The complete components of a toolkit, by the names of ``Toolkit.components``."""
    folders = (root, DEBIAN_ROOT) if root == "/usr" else (root,)
    for name, programs in _PROGRAMS.items():
        if any(is_executable(view, f"{folder}/{program}") for folder in folders for program in programs):
            yield name
    includes = tuple(_include_folders(view, root))
    for name, headers in _HEADERS.items():
        if any(is_file(view, f"{folder}/{header}") for folder in includes for header in headers):
            yield name
    libraries = tuple(_library_folders(view, root))
    for name, library in _LIBRARIES.items():
        # In the linker's own folders Debian's driver packages put libcuda.so itself, not a stub.
        names = (library, "libcuda.so") if root == "/usr" and name == "stub" else (library,)
        if any(is_file(view, f"{folder}/{file}") for folder in libraries for file in names):
            yield name


def _include_folders(view: View, root: str) -> Iterator[str]:
    """Where nvcc itself looks: nvcc.profile names targets/<system>/include, which ``include`` links to."""
    folders = (f"{root}/include", *(f"{root}/{target}/include" for target in _TARGETS))
    return (folder for folder in folders if is_directory(view, folder))


def _library_folders(view: View, root: str) -> Iterator[str]:
    """Where ``-L<root>/lib64`` looks; Debian's libraries lie in the linker's own folders."""
    debian = "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"
    return (folder for folder in (debian if root == "/usr" else (f"{root}/lib64",)) if is_directory(view, folder))


def _headers_version(view: View, root: str) -> Version | None:
    for folder in _include_folders(view, root):
        for header in ("cuda.h", "cuda_runtime_api.h"):
            version = parse_cuda_version(head_of(view, f"{folder}/{header}", _HEADER_SIZE))
            if version:
                return version
    return None


def _origin(view: View, root: str) -> str:
    if root == "/usr" or root.startswith("/usr/lib/"):
        return "debian"
    if root.startswith(REMEDY_PREFIX):
        return "remedy"
    if root.startswith(_HPC_SDK):
        return "hpc-sdk"
    if "-packages/nvidia/" in root:
        return "wheel"
    if is_directory(view, f"{root}/conda-meta"):
        return "conda"
    release = root.rpartition("cuda-")[2].replace(".", "-")
    if any(is_file(view, f"/var/lib/dpkg/info/{name}-{release}.list") for name in ("cuda-nvcc", "cuda-cudart")):
        return "apt"
    return "runfile" if "cuda" in text_of(view, f"{root}/version.json") else "unknown"
