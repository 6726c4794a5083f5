"""The NVIDIA driver: its library's version, the loaded kernel module's, and the CUDA release that it offers."""

from __future__ import annotations

from remedy.facts.host import LIB_FOLDERS
from remedy.facts.names import text_of
from remedy.facts.types import Driver, Version
from remedy.view import View

#: The CUDA version of a driver branch: NVIDIA's CUDA release notes, table "CUDA Toolkit and Corresponding Driver".
_CUDA_OF_BRANCH: tuple[tuple[int, Version], ...] = (
    (595, (13, 2)),
    (590, (13, 1)),
    (580, (13, 0)),
    (575, (12, 9)),
    (570, (12, 8)),
    (565, (12, 7)),
    (560, (12, 6)),
    (555, (12, 5)),
    (550, (12, 4)),
    (545, (12, 3)),
    (535, (12, 2)),
    (530, (12, 1)),
    (525, (12, 0)),
    (520, (11, 8)),
    (515, (11, 7)),
    (510, (11, 6)),
    (495, (11, 5)),
    (470, (11, 4)),
    (465, (11, 3)),
    (460, (11, 2)),
    (455, (11, 1)),
    (450, (11, 0)),
)

_PROC = "/proc/driver/nvidia/version"
#: Beside the usual folders: WSL's, and the one that container toolkits and older Ubuntu packages use.
_FOLDERS = (*LIB_FOLDERS, "/usr/lib/wsl/lib", "/usr/lib/nvidia", "/usr/lib/x86_64-linux-gnu/nvidia/current")


def read_driver(view: View, smi_version: str | None = None) -> Driver | None:
    """The driver as the file system shows it, else as nvidia-smi named it; None where neither knows one."""
    module = kernel_module_version(view)
    library = library_version(view) or smi_version
    if module is None and library is None:
        return None
    source = _PROC if module else "libcuda.so.1" if library != smi_version else "nvidia-smi"
    return Driver(library, module, offered_cuda(library or module or ""), source)


def _is_version(word: str) -> bool:
    """``580.95.05``: three digits before the first dot at least."""
    return word[:3].isdecimal() and "." in word and word.replace(".", "").isdecimal()


def kernel_module_version(view: View) -> str | None:
    """The version of the kernel module that is loaded now."""
    text = text_of(view, _PROC)
    words = (word for line in text.splitlines() if line.startswith("NVRM version:") for word in line.split())
    return next(filter(_is_version, words), None) or text_of(view, "/sys/module/nvidia/version").strip() or None


def library_version(view: View) -> str | None:
    """The version in the real name of libcuda.so.1, the library that programs load."""
    for folder in _FOLDERS:
        version = view.realpath(f"{folder}/libcuda.so.1").rpartition("libcuda.so.")[2]
        if _is_version(version):
            return version
    return None


def offered_cuda(driver: str) -> Version | None:
    """The CUDA release of a driver's branch: what nvidia-smi shows as "CUDA Version"."""
    branch = driver.partition(".")[0]
    if not branch.isdecimal():
        return None
    return next((cuda for first, cuda in _CUDA_OF_BRANCH if int(branch) >= first), None)
