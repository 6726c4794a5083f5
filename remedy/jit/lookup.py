"""Where libraries look for a toolkit: the steps that most of them share, in the order that each one gives."""

from __future__ import annotations

import posixpath

from remedy.facts.types import Toolkit, Version
from remedy.hints import Final
from remedy.jit.types import Context
from remedy.value import dataclass, replace
from remedy.view import is_file, which

DEFAULT_ROOT: Final = "/usr/local/cuda"

# The PATH of Python's shutil.which and of execvp(3) where the variable is not set.
UNSET_PATH: Final = "/bin:/usr/bin"


@dataclass(frozen=True)
class Found:
    """A library's toolkit root and the step of its lookup that decided; ``nvcc`` is the program it would run.

    ``exists`` says whether a file stands there, ``why`` what was tried where there is no root.
    """

    root: str | None
    by: str
    variable: str | None = None
    nvcc: str | None = None
    exists: bool = False
    why: str = ""


_UNSET: Final = "CUDA_HOME and CUDA_PATH are not set, no nvcc is on PATH"
NOTHING: Final = Found(None, "nothing", why=f"{_UNSET}, and {DEFAULT_ROOT} does not exist")
NOTHING_ON_PATH: Final = Found(None, "nothing", why=_UNSET)


def at(context: Context, root: str, by: str, variable: str | None = None) -> Found:
    """A root taken as it stands, with the nvcc that belongs to it."""
    nvcc = posixpath.join(root, "bin/nvcc")
    return Found(root, by, variable, nvcc, root.startswith("/") and is_file(context.view, nvcc))


def from_variables(context: Context, *names: str) -> Found | None:
    """The first of these variables with a value.

    ``os.environ.get(A) or os.environ.get(B)`` followed by a test for None is how all of them are written: an empty
    last variable is therefore taken, as the empty root, where the others are empty or unset.
    """
    for name in names:
        value = context.env.get(name)
        if value or (value == "" and name == names[-1] and len(names) > 1):
            return at(context, value, name, name)
    return None


def with_nvcc(context: Context, found: Found, variable: str) -> Found:
    """The same root with the compiler that a variable names in place of its own."""
    value = context.env.get(variable)
    if not value:
        return found
    path = which(context.view, value, context.env.get("PATH"), UNSET_PATH)
    return replace(found, nvcc=path or value, exists=path is not None, variable=variable)


def from_path(context: Context) -> Found | None:
    """The folder above that of the first nvcc on PATH, symlinks not followed."""
    nvcc = which(context.view, "nvcc", context.env.get("PATH"), UNSET_PATH)
    if nvcc is None:
        return None
    return at(context, posixpath.dirname(posixpath.dirname(nvcc)) or "/", "PATH", "PATH")


def from_default(context: Context, *, checked: bool = True) -> Found | None:
    """/usr/local/cuda, where it exists (or, unchecked, in any case)."""
    if checked and context.view.stat(DEFAULT_ROOT) is None:
        return None
    return at(context, DEFAULT_ROOT, DEFAULT_ROOT)


def usual(context: Context) -> Found:
    """CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda: the order of torch, FlashInfer, TVM-FFI and others."""
    return from_variables(context, "CUDA_HOME", "CUDA_PATH") or from_path(context) or from_default(context) or NOTHING


def toolkit_of(context: Context, found: Found) -> Toolkit | None:
    """The toolkit that the snapshot knows at this root, by the root or its nvcc, or either one's real path."""
    snapshot, view = context.snapshot, context.view
    if not found.root:
        return None
    nvcc = posixpath.join(found.root, "bin/nvcc")
    kit = snapshot.toolkit_at(found.root) or snapshot.toolkit_of_nvcc(nvcc)
    return kit or snapshot.toolkit_at(view.realpath(found.root)) or _by_real_nvcc(context, nvcc)


def _by_real_nvcc(context: Context, nvcc: str) -> Toolkit | None:
    """The toolkit whose nvcc is the same file."""
    if not is_file(context.view, nvcc):
        return None
    real = context.view.realpath(nvcc)
    return next(
        (kit for kit in context.snapshot.toolkits if kit.nvcc and context.view.realpath(kit.nvcc) == real), None
    )


def version_of(context: Context, found: Found) -> Version | None:
    """The release of the nvcc that would run, (12, 8); None where there is none, or its version is not known."""
    if not found.exists or not found.nvcc:
        return None
    kit = context.snapshot.toolkit_of_nvcc(found.nvcc)
    if kit is None and found.root and found.nvcc == posixpath.join(found.root, "bin/nvcc"):
        kit = toolkit_of(context, found)
    kit = kit or _by_real_nvcc(context, found.nvcc)
    return kit.version[:2] if kit and kit.version else None


def command(context: Context, variable: str, default: str) -> tuple[str, str | None]:
    """A compiler named by a variable or by default: the name, and the path that it resolves to."""
    name = context.env.get(variable) or default
    program = name.split()[0] if name.split() else default
    return name, which(context.view, program, context.env.get("PATH"), UNSET_PATH)


def home(context: Context) -> str:
    """What ``~`` is to the service: $HOME, else the user's home folder."""
    return context.env.get("HOME") or context.home


def cache_home(context: Context) -> str:
    """$XDG_CACHE_HOME, else ``~/.cache``."""
    return context.env.get("XDG_CACHE_HOME") or posixpath.join(home(context), ".cache")
