"""The service's Python interpreter, read from its files: it is never started, and torch never imported."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from remedy.facts.names import listing, text_of
from remedy.facts.types import Dist, Interpreter, Version, numbers
from remedy.value import dataclass
from remedy.view import View, is_directory, is_file

_TORCH_NAMES = ("__version__", "cuda", "hip")


@dataclass(frozen=True)
class _Layout:
    """Where an interpreter finds itself: ``base`` is the prefix of the Python that a venv was made with."""

    prefix: str
    base: str
    version: Version | None
    system_packages: bool
    venv: bool


def read_interpreter(view: View, path: str, env: Mapping[str, str], home: str) -> Interpreter:
    """An interpreter by the path that the service starts, with what it could import. Never raises.

    ``env`` is the process's own environment (PYTHONPATH, PYTHONNOUSERSITE), ``home`` its user's home folder.
    """
    layout = _layout(view, path)
    folders = tuple(dict.fromkeys(_search_path(view, layout, env, home)))
    torch = next((text for text in (text_of(view, f"{folder}/torch/version.py") for folder in folders) if text), "")
    built = parse_torch_version(torch)
    return Interpreter(
        path=path,
        prefix=layout.prefix,
        version=layout.version,
        site_packages=folders,
        dists=read_dists(view, folders),
        torch=built.get("__version__"),
        torch_cuda=built.get("cuda"),
        torch_hip=built.get("hip"),
        headers=_headers(view, layout),
    )


def parse_torch_version(text: str) -> dict[str, str]:
    """``__version__``, ``cuda`` and ``hip`` of torch/version.py, without those that are None."""
    pairs = (line.partition("=") for line in text.splitlines())
    # "cuda: Optional[str] = '13.0'"; a comment may follow.
    values = {name.partition(":")[0].rstrip(): value.strip() for name, _, value in pairs}
    quoted = {name: values[name] for name in _TORCH_NAMES if values.get(name, "")[:1] in ("'", '"')}
    return {name: value[1:].partition(value[0])[0] for name, value in quoted.items() if value[1:2] != value[0]}


def read_dists(view: View, folders: tuple[str, ...]) -> dict[str, Dist]:
    """The installed distributions by normalised name; of two of one name the earlier folder's wins."""
    found: dict[str, Dist] = {}
    for folder in folders:
        for name in listing(view, folder):
            stem, _, ending = name.rpartition(".")
            if ending not in ("dist-info", "egg-info"):
                continue
            words = stem.split("-")
            # A name's later words begin with letters; behind an egg's version stands the Python that it is for.
            at = next((at for at, word in enumerate(words) if at and word[:1].isdecimal()), 0)
            if at:
                key = normalised("-".join(words[:at]))
                found.setdefault(key, Dist(key, words[at], f"{folder}/{name}"))
    return found


def normalised(name: str) -> str:
    """A distribution's name as PyPA's "Names and normalization" compares it."""
    dashed = name.lower().replace("_", "-").replace(".", "-")
    while "--" in dashed:
        dashed = dashed.replace("--", "-")
    return dashed


def parse_pyvenv(text: str) -> dict[str, str]:
    """The ``key = value`` lines of pyvenv.cfg, keys in lower case: Python's site module reads it so."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _layout(view: View, path: str) -> _Layout:
    folder = posixpath.dirname(path)
    for prefix in (posixpath.dirname(folder), folder):
        config = parse_pyvenv(text_of(view, f"{prefix}/pyvenv.cfg"))
        if "home" in config:
            base = posixpath.dirname(config["home"].rstrip("/"))
            version = _version(config.get("version_info") or config.get("version") or "")
            system = config.get("include-system-site-packages", "").lower() == "true"
            return _Layout(prefix, base, version or _version_of(view, path, prefix), system, True)
    prefix = posixpath.dirname(posixpath.dirname(view.realpath(path)))
    return _Layout(prefix, prefix, _version_of(view, path, prefix), True, False)


def _version(text: str) -> Version | None:
    found = numbers(text)[:3]
    return found if len(found) > 1 else None


def _version_of(view: View, path: str, prefix: str) -> Version | None:
    """By the real program's name (``python3.11``), else by the only library folder of the prefix."""
    named = re.search(r"python(\d+\.\d+)", posixpath.basename(view.realpath(path)))
    if named:
        return _version(named[1])
    folders = [name for name in listing(view, f"{prefix}/lib") if re.fullmatch(r"python\d+\.\d+", name)]
    return _version(folders[0][6:]) if len(folders) == 1 else None


def _search_path(view: View, layout: _Layout, env: Mapping[str, str], home: str) -> Iterator[str]:
    """Folders of installed packages in the order of sys.path: PYTHONPATH, user's, the prefix's, the system's."""
    yield from (entry for entry in env.get("PYTHONPATH", "").split(":") if entry.startswith("/"))
    if layout.version is None:
        return
    python = f"python{layout.version[0]}.{layout.version[1]}"
    candidates: list[str] = []
    if layout.system_packages and "PYTHONNOUSERSITE" not in env:
        candidates.append(f"{env.get('PYTHONUSERBASE') or posixpath.join(home, '.local')}/lib/{python}/site-packages")
    prefixes = [layout.prefix] if layout.venv else []
    if layout.system_packages:
        prefixes.append(layout.base)
    for prefix in prefixes:
        # Debian's own interpreter looks into dist-packages, and into /usr/local before /usr.
        debian = (
            [f"/usr/local/lib/{python}/dist-packages", "/usr/lib/python3/dist-packages"] if prefix == "/usr" else []
        )
        candidates += [f"{prefix}/lib/{python}/site-packages", f"{prefix}/lib64/{python}/site-packages", *debian]
    real: set[str] = set()
    for folder in candidates:
        if is_directory(view, folder) and view.realpath(folder) not in real:
            real.add(view.realpath(folder))
            yield folder
            yield from _path_files(view, folder)


def _path_files(view: View, folder: str) -> Iterator[str]:
    """Folders that .pth files add: editable installs. Lines that run code are not followed."""
    for name in listing(view, folder):
        if name.endswith(".pth"):
            for line in text_of(view, f"{folder}/{name}").splitlines():
                entry = posixpath.normpath(posixpath.join(folder, line.strip()))
                if line.strip() and not line.startswith(("#", "import ", "import\t")) and is_directory(view, entry):
                    yield entry


def _headers(view: View, layout: _Layout) -> str | None:
    """The folder with Python.h that sysconfig's ``include`` names: the base Python's, also for a venv."""
    if layout.version is None:
        return None
    python = f"python{layout.version[0]}.{layout.version[1]}"
    bases = dict.fromkeys((layout.base, view.realpath(layout.base), layout.prefix))
    folders = (f"{base}/include/{python}" for base in bases)
    return next((folder for folder in folders if is_file(view, f"{folder}/Python.h")), None)
