"""The environment in which every library finds the chosen toolkit.

CUDA_HOME, CUDA_PATH where it is set, and PATH are planned together: some libraries read only one of them (TileLang's
and DeepGEMM's CUDA_HOME, vLLM up to 0.31 PATH, cuda-pathfinder CUDA_PATH first), so that all must name one toolkit.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Final

from remedy.facts.types import Toolkit
from remedy.value import dataclass
from remedy.view import View, is_executable, which

_SEARCH_LISTS: Final = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")

# Variables that name one program of a toolkit, with its place below the root.
_PROGRAMS: Final = {
    "FLASHINFER_NVCC": "bin/nvcc",
    "PYTORCH_NVCC": "bin/nvcc",
    "CUDACXX": "bin/nvcc",
    "NVCC": "bin/nvcc",
    "DG_JIT_NVCC_COMPILER": "bin/nvcc",
    "DG_NVCC_COMPILER": "bin/nvcc",
    "FLASHINFER_KDA_PTXAS": "bin/ptxas",
}
# Variables that name a toolkit's root beside CUDA_HOME; they are changed where they are set, never added.
_ROOTS: Final = ("CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_PATH", "CUDA_TOOLKIT_ROOT_DIR")

# Where NVIDIA's packages and runfiles put a toolkit: recognised by name also where nothing stands there any more.
_CUDA_FOLDER: Final = r"/usr/local/cuda(-\d+(\.\d+)?)?(?=/|$)"


@dataclass(frozen=True)
class Move:
    """From every other toolkit to the chosen one, on this file system.

    ``others`` are the roots that were in use or are on this machine, without the chosen one.
    """

    kit: Toolkit
    view: View
    others: tuple[str, ...]

    @property
    def bin(self) -> str:
        """The chosen toolkit's folder of programs."""
        return posixpath.join(self.kit.root, "bin")

    def is_chosen(self, root: str) -> bool:
        """Whether a path as written leads to the chosen toolkit's root."""
        return root.startswith("/") and self.view.realpath(root.rstrip("/") or "/") == self.view.realpath(self.kit.root)

    def other_root(self, path: str) -> str | None:
        """The root of another toolkit that a path lies in or is; None for any other path."""
        named = re.match(_CUDA_FOLDER, path)
        roots: list[str] = sorted((*self.others, *((str(named.group()),) if named else ())), key=len, reverse=True)
        for root in roots:
            if (path == root or path.startswith(root + "/")) and not self.is_chosen(root):
                return root
        return None

    def moved(self, path: str) -> str:
        """A path in another toolkit as the same place in the chosen one; any other path as it is.

        ``lib64`` stands for every spelling of the library folder, as NVIDIA's packages link it.
        """
        root = self.other_root(path)
        if root is None:
            return path
        below = path[len(root) :].strip("/")
        if below in ("lib64", "lib") or re.fullmatch(r"targets/[^/]+/lib", below):
            below = "lib64"
        return posixpath.join(self.kit.root, below) if below else self.kit.root


def move_to(kit: Toolkit, view: View, toolkits: Iterable[Toolkit], used: Iterable[str | None]) -> Move:
    """The move to a toolkit from all others here, and from the roots that libraries use now.

    Folders that hold more than CUDA (Debian's /usr, a conda or virtual environment) are no roots to move from.
    """
    roots = {one.root for one in toolkits if one.origin not in ("debian", "conda")} | {root for root in used if root}
    own = {root.rstrip("/") for root in roots if root.startswith("/") and not _holds_more(view, root.rstrip("/"))}
    return Move(kit, view, tuple(sorted(root for root in own if root and root != kit.root)))


def _holds_more(view: View, root: str) -> bool:
    if root in ("", "/usr", "/usr/local", "/opt") or root.startswith(("/dev", "/proc", "/sys")):
        return True
    return any(is_executable(view, f"{root}/bin/{name}") for name in ("python", "python3", "sh"))


def toolkit_values(env: Mapping[str, str], move: Move) -> dict[str, str]:
    """The variables that must change so that everything finds the chosen toolkit, with their new values.

    A value that leads to the chosen toolkit already keeps its spelling: JIT caches are keyed by it.
    """
    wanted: dict[str, str] = {}
    if not move.is_chosen(env.get("CUDA_HOME", "")):
        wanted["CUDA_HOME"] = move.kit.root
    for name in _ROOTS:
        if env.get(name) and not move.is_chosen(env[name]):
            wanted[name] = move.kit.root
    for name, below in _PROGRAMS.items():
        if env.get(name) and move.other_root(env[name]):
            wanted[name] = posixpath.join(move.kit.root, below)
    path = search_path(env.get("PATH", ""), move)
    if path != env.get("PATH"):
        wanted["PATH"] = path
    for name in _SEARCH_LISTS:
        value = env.get(name)
        if value and (new := moved_list(value, move)) != value:
            wanted[name] = new
    return wanted


def search_path(path: str, move: Move) -> str:
    """PATH with the chosen toolkit's programs first and those of other toolkits gone; unchanged where it finds them.

    Other toolkits' folders that hold more than CUDA (Debian's /usr/bin) stay, behind.
    """
    found = which(move.view, "nvcc", path or None)
    if found and move.is_chosen(posixpath.dirname(posixpath.dirname(found))):
        return path
    kept = [entry for entry in path.split(":") if entry and not _is_other_bin(entry.rstrip("/"), move)]
    kept = [entry for entry in kept if entry.rstrip("/") != move.bin]
    first = 0
    if _holds_more(move.view, move.kit.root):
        # A conda environment's bin in front would decide for python and gcc as well.
        others = (index for index, entry in enumerate(kept) if is_executable(move.view, posixpath.join(entry, "nvcc")))
        first = next(others, len(kept))
    return ":".join([*kept[:first], move.bin, *kept[first:]])


def _is_other_bin(entry: str, move: Move) -> bool:
    if re.fullmatch(r"\$\{?CUDA_?(HOME|PATH|ROOT|DIR)\}?/bin", entry):
        # Meant to be expanded, but systemd.exec(5), Environment=, takes it as it stands: it leads nowhere.
        return True
    root = move.other_root(entry)
    return root is not None and entry[len(root) :].strip("/") in ("bin", "nvvm/bin")


def moved_list(value: str, move: Move) -> str:
    """A search list with other toolkits' folders replaced by the chosen one's, each once; the rest as it is.

    Forward-compatibility folders (cuda-compat's libcuda.so) belong to the driver: they stay.
    """
    entries: list[str] = []
    for entry in value.split(":"):
        stays = entry.rstrip("/").endswith("/compat")
        new = entry if stays else move.moved(entry)
        if new == entry or new not in entries:
            entries.append(new)
    return ":".join(entries)


def with_folder(path: str, folder: str) -> str:
    """PATH with one more folder, behind what is there so that it shadows nothing."""
    entries = [entry for entry in path.split(":") if entry]
    return path if folder in entries else ":".join([*entries, folder])
