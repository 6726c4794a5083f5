"""cuda-pathfinder 1.3 to 1.9: which file it takes for a CUDA library or program, for those that ask it.

Its steps, each one library at a time: wheels in the interpreter, CONDA_PREFIX, the dynamic loader, CUDA_PATH and
CUDA_HOME, and for libNVVM and programs the toolkit of the libcudart that the loader finds
(``_dynamic_libs/load_nvidia_dynamic_lib.py``, ``_binaries/find_nvidia_binary_utility.py``).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from remedy.hints import Final
from remedy.jit import servers
from remedy.jit.types import Context
from remedy.jit.versions import at_least
from remedy.value import dataclass
from remedy.view import is_executable, is_file

# Where the loader looks without being told (ld.so(8)).
_DEFAULT_FOLDERS: Final = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
)
_LOADER_FILES: Final = "/etc/ld.so.conf.d"


@dataclass(frozen=True)
class Library:
    """A library's file names in the order asked for, its folders in wheels, and those below a toolkit's root."""

    names: tuple[str, ...]
    wheels: tuple[str, ...]
    folders: tuple[str, ...]


NVRTC: Final = Library(
    ("libnvrtc.so.13", "libnvrtc.so.12"), ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"), ("lib64", "lib")
)
NVVM: Final = Library(
    ("libnvvm.so.4", "libnvvm.so"), ("nvidia/cu13/lib", "nvidia/cuda_nvcc/nvvm/lib64"), ("nvvm/lib64",)
)
_BESIDE: Final = "the loader's libcudart"
_CUDART: Final = ("libcudart.so.13", "libcudart.so.12")
_PROGRAMS: Final = ("nvidia/cu13/bin", "nvidia/cuda_nvcc/bin")


@dataclass(frozen=True)
class Hit:
    """The file that is taken, and the step and variable that led to it."""

    path: str
    by: str
    variable: str | None = None


def library(context: Context, wanted: Library) -> Hit | None:
    """The file that it loads; None where it finds none."""
    for by, variable, folders, names in _steps(context, wanted):
        found = _first(context, folders, names)
        if found is not None:
            return Hit(found, by, variable)
    return None


def nvcc(context: Context) -> Hit | None:
    """The nvcc that it finds; PATH is none of its steps."""
    for by, name, folder in _program_folders(context):
        path = posixpath.join(folder, "nvcc")
        if is_executable(context.view, path):
            return Hit(path, by, name)
    return None


def _program_folders(context: Context) -> Iterator[tuple[str, str | None, str]]:
    """Step, variable and folder, in order; up to 1.5 neither the wheel of CUDA 13 nor the loader is asked."""
    newer = _is_at_least(context, "1.6")
    for folder in _in_wheels(context, _PROGRAMS if newer else _PROGRAMS[1:]):
        yield "wheel", None, folder
    for name, root in (("CONDA_PREFIX", context.env.get("CONDA_PREFIX", "")), variable(context)):
        if root:
            yield name, name, posixpath.join(root, "bin")
    for root in _beside_cudart(context) if newer else ():
        yield _BESIDE, None, posixpath.join(root, "bin")


def variable(context: Context) -> tuple[str, str]:
    """The variable that names the toolkit, and its value: CUDA_PATH comes before CUDA_HOME from 1.5 on."""
    names = ("CUDA_PATH", "CUDA_HOME") if _is_at_least(context, "1.5") else ("CUDA_HOME", "CUDA_PATH")
    return next(((name, context.env[name]) for name in names if context.env.get(name)), ("", ""))


def _is_at_least(context: Context, release: str) -> bool:
    """A release that is not known counts as new."""
    version = servers.version(context, "cuda-pathfinder")
    return version is None or at_least(version, release)


def _steps(context: Context, wanted: Library) -> Iterator[tuple[str, str | None, tuple[str, ...], tuple[str, ...]]]:
    """Step, variable, folders and names, in order."""
    # Without a version in its name the library is for linkers; releases before 1.5 ask for it in a toolkit's folder.
    plain = (*wanted.names, wanted.names[0].partition(".so")[0] + ".so")
    yield "wheel", None, _in_wheels(context, wanted.wheels), plain
    prefix = context.env.get("CONDA_PREFIX")
    if prefix:
        yield "CONDA_PREFIX", "CONDA_PREFIX", _below(prefix, wanted.folders), plain
    yield "LD_LIBRARY_PATH", "LD_LIBRARY_PATH", _listed(context.env.get("LD_LIBRARY_PATH")), wanted.names
    yield "ld.so.conf", None, (*_configured(context), *_DEFAULT_FOLDERS), wanted.names
    name, root = variable(context)
    if name:
        yield name, name, _below(root, wanted.folders), plain
    if wanted is NVVM:
        for root in _beside_cudart(context):
            yield _BESIDE, None, _below(root, wanted.folders), plain


def _first(context: Context, folders: tuple[str, ...], names: tuple[str, ...]) -> str | None:
    """The first of these names that any folder holds, as dlopen(3) is asked: one name after the other."""
    paths = (posixpath.join(folder, name) for name in names for folder in folders)
    return next((path for path in paths if path.startswith("/") and is_file(context.view, path)), None)


def _in_wheels(context: Context, folders: tuple[str, ...]) -> tuple[str, ...]:
    interpreter = context.snapshot.interpreter
    sites = interpreter.site_packages if interpreter else ()
    return tuple(posixpath.join(site, folder) for folder in folders for site in sites)


def _below(root: str, folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(posixpath.join(root, folder) for folder in folders)


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(folder for folder in (text or "").split(":") if folder)


def _configured(context: Context) -> tuple[str, ...]:
    """The folders that ldconfig(8) is told to look in; NVIDIA's packages put their toolkit's there."""
    view = context.view
    try:
        names = view.list(_LOADER_FILES)
        texts = [view.read(posixpath.join(_LOADER_FILES, name)).decode(errors="replace") for name in names]
    except OSError:
        return ()
    return tuple(line.strip() for text in texts for line in text.splitlines() if line.strip().startswith("/"))


def _beside_cudart(context: Context) -> tuple[str, ...]:
    """The root of the toolkit whose libcudart the loader finds: ``lib``, ``lib64``, or the same below ``targets/*``."""
    folders = (*_listed(context.env.get("LD_LIBRARY_PATH")), *_configured(context), *_DEFAULT_FOLDERS)
    found = _first(context, folders, _CUDART)
    folder = posixpath.dirname(context.view.realpath(found)) if found else ""
    if posixpath.basename(folder) not in ("lib", "lib64"):
        return ()
    root = posixpath.dirname(folder)
    above = posixpath.dirname(root)
    return (posixpath.dirname(above) if posixpath.basename(above) == "targets" else root,)
